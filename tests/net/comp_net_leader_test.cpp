// SPDX-License-Identifier: Apache-2.0
// What a work-group's leading wavefront does, against a ring that the test serves.
#include "../emu/queue_traffic.hpp"
#include "agents.hpp"
#include "test_agents.hpp"
#include "unserved_device.hpp"

#include <quarry/net/comp_net/leader.hpp>
#include <quarry/net/error.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry::net::comp_net;
using namespace quarry_test;
using comp_net_test::unserved_device;

namespace {

constexpr std::uint32_t ring = 2;

/// Runs the test, a coroutine, with a wavefront and its leader.
struct with_leader {
  template<any_wavefront W, class Test>
  task<> operator()(W& wf, device& net, global<context_words> at, Test& test) const {
    leader<W> me(wf, net, at, std::source_location::current());
    task<> all = test(wf, me);
    co_await std::move(all);
  }
};

/// A device, a context of its third ring, and somebody who takes what comes there.
struct led {
  explicit led(executor& s) : gpu(s, {.compute_units = 1, .wavefront_size = 64}), d(gpu.core()) {
    words.host()[0].ring = ring;
    words.host()[0].is_open = 1;
  }

  /// Takes so many commands, and replies with three times their operand.
  task<> serve(std::uint32_t count) {
    actor& me = co_await this_actor();
    core self(context_of(me, gpu.core().known()));
    for (; count != 0; --count) {
      static_cast<void>(co_await d.queues.next_posted(self, ring, reader));
      taken.push_back(d.queues.take(self, ring, reader));
      d.queues.complete(self, ring, reader, taken.back().operand * 3);
    }
  }
  /// Gives up the one that comes.
  task<> give_up() {
    actor& me = co_await this_actor();
    core self(context_of(me, gpu.core().known()));
    static_cast<void>(co_await d.queues.next_posted(self, ring, reader));
    taken.push_back(d.queues.take(self, ring, reader));
    d.queues.give_up(self, ring, reader);
  }
  /// Once somebody waits: notes what for, and does what ends it.
  task<> end_wait(std::function<void(core&)> by) {
    actor& me = co_await this_actor();
    core self(context_of(me, gpu.core().known()));
    while (d.waits[ring].number % 2 == 0)
      co_await quarry::yield();
    waited_for = d.waits[ring].what;
    waited_for_pe = d.waits[ring].from;
    by(self);
  }

  outcome run(auto test, std::optional<task<>> beside = {}) {
    traffic jobs(gpu.core().scheduler());
    if (beside)
      jobs.start(std::move(*beside), "beside");
    outcome end = gpu.run({.work_items = 64, .work_items_per_group = 64}, with_leader{},
                          std::ref(d.net), words.global(), std::ref(test));
    jobs.wait();
    return end;
  }

  wide_agent gpu;
  unserved_device d;
  buffer<context_words> words = gpu.allocate<context_words>(1, "context");
  ring_reader reader;
  std::vector<command> taken;
  std::string waited_for;
  std::uint32_t waited_for_pe = 0;
};

/// Natively, and by schedules.
void with_leaders(auto const& test) {
  with_schedulers(
      [&](executor& s) {
        led l(s);
        test(l);
      },
      2, 3);
}

} // namespace

TEST_SUITE("net.comp_net_leader") {
  TEST_CASE("the context's words are its own from when it is made until it stores them") {
    with_leaders([](led& l) {
      l.words.host()[0].barriers = 5;
      succeed(l.run([&](auto&, auto& me) -> task<> {
        CHECK(me.words().barriers == 5);
        CHECK(me.words().ring == ring);
        me.words().barriers = 6;
        CHECK(l.words.host()[0].barriers == 5);
        me.store();
        CHECK(l.words.host()[0].barriers == 6);
        co_return;
      }));
    });
  }

  TEST_CASE("what is posted comes in its order, though there is not room for all of it") {
    with_leaders([](led& l) {
      constexpr std::uint32_t count = 7; // in a ring of two
      succeed(l.run(
          [](auto&, auto& me) -> task<> {
            for (std::uint32_t i = 0; i < count; ++i) {
              task<std::uint32_t> posted = me.post({.operand = i});
              std::uint32_t const index = co_await std::move(posted);
              CHECK(index == i);
            }
          },
          l.serve(count)));
      REQUIRE(l.taken.size() == count);
      for (std::uint32_t i = 0; i < count; ++i) {
        CHECK(l.taken[i].operand == i);
        CHECK_FALSE(l.taken[i].has(command::is_blocking));
      }
    });
  }

  TEST_CASE("what is performed says that it is waited for, and gives what it brought back") {
    with_leaders([](led& l) {
      std::uint64_t got = 0;
      succeed(l.run(
          [&](auto&, auto& me) -> task<> {
            task<std::uint64_t> over =
                me.perform({.operand = 14, .flags = command::is_inline}, "atomic");
            got = co_await std::move(over);
          },
          l.serve(1)));
      CHECK(got == 42);
      REQUIRE(l.taken.size() == 1);
      CHECK(l.taken[0].has(command::is_blocking));
      CHECK(l.taken[0].has(command::is_inline));
    });
  }
  TEST_CASE("what is given up stops the work-group, with the operation's name and why") {
    with_leaders([](led& l) {
      l.d.network.fail(make_error(net_errc::peer_lost, "pe 9 has left"));
      auto const end = l.run(
          [](auto&, auto& me) -> task<> {
            task<std::uint64_t> over = me.perform({}, "get");
            static_cast<void>(co_await std::move(over));
          },
          l.give_up());
      CHECK_SAYS(fail_with(end, fault::kind::exception), "get was given up: pe 9 has left");
    });
  }

  TEST_CASE("quiet waits for all that was asked for, and for its own command after it") {
    with_leaders([](led& l) {
      succeed(l.run(
          [](auto&, auto& me) -> task<> {
            for (std::uint32_t i = 0; i < 2; ++i) {
              task<std::uint32_t> posted = me.post({.operand = i});
              static_cast<void>(co_await std::move(posted));
            }
            task<> over = me.quiet("quiet");
            co_await std::move(over);
            CHECK(me.words().indices.read == me.words().indices.write);
            CHECK(me.words().indices.write == 3);
          },
          l.serve(3)));
      REQUIRE(l.taken.size() == 3);
      CHECK(l.taken[1].what == operation::put);
      CHECK(l.taken[2].what == operation::quiet);
      CHECK(l.taken[2].has(command::is_blocking));
    });
  }
  TEST_CASE("entries are read out where one was given up, and that stops the work-group") {
    with_leaders([](led& l) {
      auto const end = l.run(
          [](auto&, auto& me) -> task<> {
            task<std::uint32_t> posted = me.post({});
            static_cast<void>(co_await std::move(posted));
            task<> all = me.read_out("reduce");
            co_await std::move(all);
          },
          l.give_up());
      CHECK_SAYS(fail_with(end, fault::kind::exception), "reduce was given up: the job has failed");
    });
  }

  TEST_CASE("up to 8 bytes go into an entry as they lie in memory, wherever they begin") {
    with_leaders([](led& l) {
      auto source = l.gpu.allocate<std::uint8_t>(16, "source");
      std::iota(source.host().begin(), source.host().end(), std::uint8_t{1});
      succeed(l.run([&](auto&, auto& me) -> task<> {
        for (std::size_t first = 0; first < 8; ++first)
          for (std::size_t bytes = 1; bytes <= command::most_inline_bytes; ++bytes) {
            CAPTURE(first);
            CAPTURE(bytes);
            auto const* const at = source.host().data() + first;
            std::uint64_t expected = 0;
            std::memcpy(&expected, at, bytes);
            CHECK(me.inline_payload(reinterpret_cast<std::byte const*>(at), bytes) == expected);
          }
        co_return;
      }));
    });
  }

  TEST_CASE("a wait for the heap is on record while it lasts, and ends with the word") {
    with_leaders([](led& l) {
      std::uint64_t got = 0;
      global<std::uint64_t> const word(l.d.words.data());
      succeed(l.run(
          [&](auto&, auto& me) -> task<> {
            awaited_words<std::uint64_t> const more_than_4{word, shmem::comparison::greater, 4};
            auto wait = me.await_word(more_than_4, "reduce", pe{7});
            auto const seen = co_await std::move(wait);
            got = seen.value;
          },
          l.end_wait([&](core& self) { self.store(word, 5, order::release, scope::system); })));
      CHECK(got == 5);
      CHECK(l.waited_for == "reduce");
      CHECK(l.waited_for_pe == 7);
      CHECK(l.d.waits[ring].number % 2 == 0);
    });
  }
  TEST_CASE("what is there already is no wait") {
    with_leaders([](led& l) {
      l.d.words[0] = 5;
      succeed(l.run([&](auto&, auto& me) -> task<> {
        awaited_words<std::uint64_t> const five{global<std::uint64_t const>(l.d.words.data()),
                                                shmem::comparison::equal, 5};
        auto wait = me.await_word(five, "wait_until");
        auto const seen = co_await std::move(wait);
        CHECK(seen.value == 5);
      }));
      CHECK(l.d.waits[ring].number == 0);
    });
  }
  TEST_CASE("a job that fails ends the wait in a fault, and so does who does something else") {
    with_leaders([](led& l) {
      auto const waiting = [&](contradiction const& against, auto by) {
        global<std::uint64_t const> const word(l.d.words.data());
        return l.run(
            [word, against](auto&, auto& me) -> task<> {
              awaited_words<std::uint64_t> const one{word, shmem::comparison::equal, 1};
              auto wait = me.await_word(one, "barrier_all", pe{1}, against, "reduce");
              static_cast<void>(co_await std::move(wait));
            },
            l.end_wait(by));
      };
      auto const failed = waiting(
          {}, [&](core& self) { self.store(l.d.failed.global(), 1, ring_orders{}.tell_failure); });
      CHECK_SAYS(fail_with(failed, fault::kind::exception),
                 "barrier_all was given up: the job has failed");
      CHECK(l.d.waits[ring].number % 2 == 0);
      l.d.failed.host()[0] = 0;
      global<std::uint64_t> const mark(l.d.words.data() + 8);
      auto const differs = waiting({mark, 0xff, 3}, [&](core& self) {
        self.store(mark, 0xa03, order::release, scope::system);
      });
      CHECK_SAYS(fail_with(differs, fault::kind::wrong_shape),
                 "work-group 2 of pe 0 is in barrier_all, that of pe 1 in reduce");
      CHECK(l.d.waits[ring].number % 2 == 0);
    });
  }
}
