// SPDX-License-Identifier: Apache-2.0
#include "forwarding_port.hpp"
#include "gravel_job.hpp"

#include <quarry/net/job.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace gravel_test;
using namespace std::chrono_literals;

namespace {

/// Work-item i loops i % 5 times: divergent code, wavefronts that end early (thesis Table 5-1a).
struct divergent_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    std::uint32_t const i = wi.global_id();
    for (std::uint32_t k = 0; k < i % 5; ++k) {
      if (i % 3 == 0)
        co_await net.increment(wi, words + i % 50, k % nodes);
      else
        co_await net.add(wi, words + (50 + i % 50), 2, k % nodes);
    }
  }
};

struct divergent_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    std::uint64_t k = 0;
    for (auto loop = wf.loop(); loop.keep(i % 5 > k); ++k) {
      auto const third = i % 3 == 0;
      if (auto const active = wf.where(third)) {
        task<> sent = net.increment(wf, words + i % 50, k % nodes, reconverging);
        co_await std::move(sent);
      }
      if (auto const active = wf.where(!third)) {
        task<> sent =
            net.add(wf, words + (i % 50 + 50), gravel::lanes64<w>(2), k % nodes, reconverging);
        co_await std::move(sent);
      }
    }
  }
};

/// Every third work-item puts, the others send active messages: divergent code.
struct divergent_kinds_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    std::uint64_t const i = wi.global_id();
    auto const node = static_cast<std::uint32_t>(i % nodes);
    if (i % 3 == 0)
      co_await net.put(wi, words + i % 100, i % 100 + 1, node);
    else
      co_await net.active_message(wi, 1, words + (100 + i % 100), i, node);
  }
};
struct divergent_kinds_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    auto const third = i % 3 == 0;
    if (auto const active = wf.where(third)) {
      task<> sent = net.put(wf, words + i % 100, i % 100 + 1, i % nodes, reconverging);
      co_await std::move(sent);
    }
    if (auto const active = wf.where(!third)) {
      task<> sent = net.active_message(wf, 1, words + (i % 100 + 100), i, i % nodes, reconverging);
      co_await std::move(sent);
    }
  }
};

/// Another handler for every second work-item, or wavefront, at one line.
struct two_handlers_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    co_await net.active_message(wi, wi.global_id() % 2, words, 1, 0);
  }
};
struct two_handlers_wave {
  bool diverges;
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    gravel::lanes64<w> const zero(0), one(1);
    auto const handler = static_cast<std::uint32_t>(wf.index_in_group() % 2);
    task<> sent = diverges ? net.active_message(wf, handler, words + zero, one, 0, reconverging)
                           : net.active_message(wf, handler, words + zero, one, 0);
    co_await std::move(sent);
  }
};

struct send_active {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t handler,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    task<> sent = net.active_message(wf, handler, words + i % 4, i, 0);
    co_await std::move(sent);
  }
};

/// Says that there are more nodes than Gravel's messages can name.
class crowded_port final : public quarry_test::forwarding_port {
public:
  using forwarding_port::forwarding_port;
  [[nodiscard]] std::uint32_t pe_count() const override { return 65'537; }
};

constexpr std::uint32_t items = 300; // a partial last wavefront and a partial last group

heaps diverged(std::uint32_t nodes) {
  heaps expected = empty_heaps(nodes);
  for (std::uint32_t i = 0; i < items; ++i)
    for (std::uint32_t k = 0; k < i % 5; ++k)
      expected[k % nodes][i % 3 == 0 ? i % 50 : 50 + i % 50] += nodes * (i % 3 == 0 ? 1U : 2U);
  return expected;
}

} // namespace

TEST_SUITE("net.gravel") {
  TEST_CASE("divergent loops reach the network by reconvergence, wave and item kernels alike") {
    gravel_node::options const tight{.buffer_bytes = 64, .buffers_per_node = 2, .queue_slots = 2};
    for (std::uint32_t const nodes : {1U, 3U})
      for (gravel_node::options const& o :
           {gravel_node::options{}, tight, gravel_node::options{.aggregators = 2}}) {
        CAPTURE(nodes);
        with_every_job([&](auto const& run) {
          check_heaps(run(nodes, o, launching(divergent_wave{}, items)), diverged(nodes));
          check_heaps(run(nodes, o, launching(divergent_item{}, items)), diverged(nodes));
        });
      }
  }

  TEST_CASE("puts and active messages of divergent code arrive, from wave and item kernels alike") {
    for (std::uint32_t const nodes : {1U, 3U})
      with_every_job([&](auto const& run) {
        heaps expected = empty_heaps(nodes);
        for (std::uint64_t i = 0; i < items; ++i)
          if (i % 3 == 0)
            expected[i % nodes][i % 100] = i % 100 + 1;
          else
            expected[i % nodes][100 + i % 100] += nodes * i;
        auto const with_handlers = [](auto kernel) {
          return [kernel](test_node& n) {
            n.net.add_handler([](std::uint64_t&, std::uint64_t) { FAIL_CHECK("not this one"); });
            n.net.add_handler([](std::uint64_t& word, std::uint64_t v) { word += v; });
            CHECK(n.net.barrier().has_value());
            launching(kernel, items)(n);
          };
        };
        check_heaps(run(nodes, {}, with_handlers(divergent_kinds_wave{})), expected);
        check_heaps(run(nodes, {}, with_handlers(divergent_kinds_item{})), expected);
      });
  }

  TEST_CASE("different handlers in one package are a fault, and none runs for another's message") {
    auto const fault_of = [](auto kernel) {
      std::string report;
      static_cast<void>(run_sequential(1, std::nullopt, {}, [&](test_node& n) {
        n.net.add_handler([](std::uint64_t&, std::uint64_t) {});
        n.net.add_handler([](std::uint64_t&, std::uint64_t) {});
        launch_config const config{.work_items = 128, .work_items_per_group = 128};
        auto const o = n.gpu.run(config, kernel, n.at(0), n.count, std::ref(n.net.device()));
        if (!o)
          report = o.get_fault()->report;
      }));
      return report;
    };
    CHECK(fault_of(two_handlers_item{}).find("active messages of different handlers at one line") !=
          std::string::npos);
    for (bool const diverges : {false, true})
      CHECK(fault_of(two_handlers_wave{diverges})
                .find("push() of messages with different tags into one package") !=
            std::string::npos);
  }

  TEST_CASE("active messages run their handler serially on the target") {
    auto const out = run_native(2, 2, {}, [](test_node& n) {
      auto const keep_highest = [](std::uint64_t& word, std::uint64_t v) {
        word = std::max(word, v);
      };
      std::uint32_t const handler = n.net.add_handler(keep_highest);
      CHECK(n.net.barrier().has_value());
      launch_config const config{.work_items = items};
      CHECK(n.gpu.run(config, send_active{}, n.at(0), handler, std::ref(n.net.device())));
    });
    for (std::uint64_t w = 0; w < 4; ++w)
      CHECK(out.heaps[0][w] == items - 4 + w);
  }

  TEST_CASE("sums and gathers see everybody, in order") {
    auto const out = run_native(3, 1, {}, [](test_node& n) {
      auto const sum = n.net.all_sum<std::uint64_t>(n.id + 1);
      REQUIRE(sum.has_value());
      n.heap[0] = *sum;
      std::byte const mine[] = {std::byte(n.id)};
      auto const all = n.net.all_gather(mine);
      REQUIRE(all.has_value());
      for (std::size_t i = 0; i < all->size(); ++i)
        n.heap[1 + i] = static_cast<std::uint64_t>((*all)[i].at(0));
    });
    for (auto const& heap : out.heaps)
      CHECK(std::vector(heap.begin(), heap.begin() + 4) == std::vector<std::uint64_t>{6, 0, 1, 2});
  }

  TEST_CASE("options that cannot be are refused by name") {
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    std::vector<std::uint64_t> heap(8);
    auto const make = [&](gravel_node::options o) {
      gravel_node const net(gpu.core(), std::move(make_in_process(1)[0]), heap, o);
    };
    CHECK_THROWS_WITH(gravel_node(gpu.core(), nullptr, {}, {}),
                      "gravel: no transport; has it been moved from?");
    CHECK_THROWS_WITH(make({.style = "gravle"}),
                      doctest::Contains("allowed are gravel, no_aggregation and simt_direct"));
    CHECK_THROWS_WITH(make({.buffer_bytes = 6}), doctest::Contains("6 bytes"));
    CHECK_THROWS_WITH(make({.buffers_per_node = 1}), doctest::Contains("2 to 1024"));
    CHECK_THROWS_WITH(make({.aggregators = 0}), doctest::Contains("allowed are 1 to 16"));
    CHECK_THROWS_WITH(make({.aggregators = 17}), doctest::Contains("allowed are 1 to 16"));
    CHECK_THROWS_WITH(make({.style = "simt_direct", .aggregators = 2}),
                      doctest::Contains("allowed is 1 with the style simt_direct"));
    CHECK_THROWS_WITH(make({.queue_slots = 3}), doctest::Contains("powers of two"));
    CHECK_THROWS_WITH(make({.package_columns = 0}), doctest::Contains("1 to 1024"));
    CHECK_THROWS_WITH(make({.flush_after = -1us}), doctest::Contains("-1 us; allowed are 0"));
    CHECK_THROWS_WITH(make({.flush_after = std::chrono::microseconds::max()}),
                      doctest::Contains("allowed are 0 to 86400000000"));
    for (auto const timeout : {0ms, -5ms, quarry::net::max_job_timeout + 1ms})
      CHECK_THROWS_WITH(make({.timeout = timeout}), doctest::Contains("1 to 86400000"));
    CHECK_THROWS_WITH(gravel_node(gpu.core(),
                                  std::make_unique<crowded_port>(std::move(make_in_process(1)[0])),
                                  heap, {}),
                      doctest::Contains("65537 nodes; at most 65536"));
    auto const exposed = gpu.expose(heap.data() + 3, 2, "two words");
    CHECK_THROWS_WITH(make({}), doctest::Contains("overlaps 'two words' (16 bytes)"));
  }
}
