// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/in_process.hpp>
#include <quarry/net/transport_port.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <thread>
#include <vector>

using namespace quarry::net;

TEST_SUITE("net.transport_port") {
  TEST_CASE("one at a time is inside: who comes meanwhile is sent away, who comes later is not") {
    std::unique_ptr<transport_port> const port = std::move(make_in_process(1)[0]);
    for (int round = 0; round < 3; ++round) {
      CHECK(port->try_enter());
      CHECK_FALSE(port->try_enter());
      CHECK_FALSE(port->try_enter());
      port->leave();
    }
  }

  TEST_CASE("ports of one network are entered apart") {
    auto const ends = make_in_process(2);
    CHECK(ends[0]->try_enter());
    CHECK(ends[1]->try_enter());
    ends[0]->leave();
    CHECK_FALSE(ends[1]->try_enter());
    ends[1]->leave();
  }

  TEST_CASE("threads that take turns see what those before them did") {
    std::unique_ptr<transport_port> const port = std::move(make_in_process(1)[0]);
    constexpr int threads = 3, rounds = 2000;
    int count = 0; // plain: entering and leaving must order it
    std::atomic<int> inside{0}, overlaps{0};
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
          for (int done = 0; done < rounds; std::this_thread::yield()) {
            if (!port->try_enter())
              continue;
            overlaps += inside++ == 0 ? 0 : 1;
            std::this_thread::yield(); // the others come to the door
            ++count;
            ++done;
            --inside;
            port->leave();
          }
        });
    }
    CHECK(overlaps == 0);
    CHECK(count == threads * rounds);
  }

  TEST_CASE("any transport is driven through its port") {
    auto ends = make_in_process(2);
    std::vector<std::unique_ptr<transport_port>> const ports(std::make_move_iterator(ends.begin()),
                                                             std::make_move_iterator(ends.end()));
    std::byte const one{7};
    CHECK(ports[1]->self() == pe{1});
    CHECK(ports[0]->try_send(pe{1}, {&one, 1}, {}).value());
    CHECK(ports[1]->has_input());
    int came = 0;
    CHECK(ports[1]
              ->poll([&](pe source, std::span<std::byte const> bytes) {
                came += source == pe{0} && bytes.size() == 1 && bytes[0] == one ? 1 : 100;
              })
              .value() == 1);
    CHECK(came == 1);
  }
}
