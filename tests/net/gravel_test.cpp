// SPDX-License-Identifier: Apache-2.0
#include "forwarding_port.hpp"
#include "gravel_job.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gravel_test;

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

struct send_for_ever {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    for (;;) {
      task<> sent = net.increment(wf, words + i % 50, 1);
      co_await std::move(sent);
    }
  }
};

/// Whoever sleeps in a transport sleeps until this is over.
class night {
public:
  void end() {
    std::lock_guard const lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  void sleep() {
    std::unique_lock lock(mutex_);
    has_slept_ = true;
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return is_over_; });
  }
  [[nodiscard]] bool has_slept() {
    std::lock_guard const lock(mutex_);
    return has_slept_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  bool has_slept_ = false;
};

class sleepy_port final : public quarry_test::forwarding_port {
public:
  sleepy_port(std::unique_ptr<transport_port> real, night& n)
      : forwarding_port(std::move(real)), night_(n) {}
  void wait(std::chrono::nanoseconds) override { night_.sleep(); }

private:
  night& night_;
};

/// The night ends when its wavefront is stopped.
struct send_all_night {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, gravel::endpoint& net,
                    night& n) const {
    struct waking {
      night& of;
      ~waking() { of.end(); }
    } const at_end{n};
    task<> sent = send_for_ever{}(wf, words, net);
    co_await std::move(sent);
  }
};

/// Adds 1 to a word of node 0 that it has not.
struct increment_beyond {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    task<> sent = net.increment(wf, words + gravel::lanes64<w>(heap_words), 0);
    co_await std::move(sent);
  }
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

  TEST_CASE("a node that goes away ends every wait of the others within the timeout") {
    auto ends = make_in_process(2);
    auto out = make_outcome(2);
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0], {});
    ends[1].reset();
    auto const b = net.barrier();
    REQUIRE(b.has_error());
    CHECK(b.error().code == net_errc::peer_lost);
    CHECK(b.error().what.find("pe 1") != std::string::npos);
    auto const g = net.all_sum(1);
    CHECK(g.has_error());
  }

  TEST_CASE("a node that says nothing ends in a timeout that names it") {
    auto ends = make_in_process(3);
    auto out = make_outcome(1);
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                    {.timeout = std::chrono::milliseconds(50)});
    auto const b = net.quiet();
    REQUIRE(b.has_error());
    CHECK(b.error().code == net_errc::timeout);
    CHECK(b.error().what.find("pe 1, pe 2") != std::string::npos);
  }

  TEST_CASE("a kernel that sends to a node that takes nothing ends in the timeout, as waits do") {
    for (std::string_view const style : {gravel::aggregated::name, gravel::simt_direct::name}) {
      CAPTURE(style);
      auto ends = make_in_process(2, 4);
      auto out = make_outcome(1);
      native_scheduler scheduler({.threads = 2});
      unchecked_agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                      {.style = style,
                       .buffer_bytes = 64,
                       .buffers_per_node = 2,
                       .queue_slots = 2,
                       .timeout = std::chrono::milliseconds(50)});
      launch_config const config{.work_items = 4096};
      auto const run = gpu.run(config, send_for_ever{}, global<std::uint64_t>(out.heaps[0].data()),
                               std::ref(net.device()));
      REQUIRE(!run);
      INFO(run.get_fault()->report);
      CHECK(run.get_fault()->report.find("increment was given up: gravel: no word from pe 1") !=
            std::string::npos);
      auto const q = net.quiet();
      REQUIRE(q.has_error());
      CHECK(q.error().code == net_errc::timeout);
      CHECK(q.error().what.starts_with("gravel: quiet: no word from pe 1"));
      auto const gathered = net.all_gather({});
      REQUIRE(gathered.has_error());
      CHECK(gathered.error().what.starts_with("gravel: all_gather: no word from pe 1"));
    }
  }

  TEST_CASE("so it does while an idle thread sleeps in the transport, which nobody wakes") {
    auto ends = make_in_process(2, 4);
    auto out = make_outcome(1);
    night asleep;
    native_scheduler scheduler({.threads = 2});
    unchecked_agent gpu(scheduler);
    gravel_node net(gpu.core(), std::make_unique<sleepy_port>(std::move(ends[0]), asleep),
                    out.heaps[0],
                    {.buffer_bytes = 64,
                     .buffers_per_node = 2,
                     .queue_slots = 2,
                     .timeout = std::chrono::milliseconds(500)});
    auto const run =
        gpu.run({.work_items = 64}, send_all_night{}, global<std::uint64_t>(out.heaps[0].data()),
                std::ref(net.device()), std::ref(asleep));
    CHECK(asleep.has_slept());
    REQUIRE(!run);
    CHECK_MESSAGE(run.get_fault()->report.find("no word from pe 1") != std::string::npos,
                  run.get_fault()->report);
  }

  TEST_CASE("a node that fails tells the others why, before it leaves") {
    with_every_job([](auto const& run) {
      auto const out = run(3, {.timeout = std::chrono::hours(1)}, [](test_node& n) {
        if (n.id == 1)
          launching_in_vain(increment_beyond{}, 1)(n);
      });
      std::string const why = "pe 1 addresses a word outside the heap of pe 0";
      for (std::uint32_t id = 0; id < 3; ++id) {
        CAPTURE(id);
        REQUIRE(out.errors[id]);
        CHECK(out.errors[id]->code == net_errc::outside_heap);
        std::string const said = id == 0 ? why : "pe 0 says: " + why;
        std::string const& what = out.errors[id]->what; // whichever it waits in
        CHECK_MESSAGE((what.find("gravel: quiet: " + said) == 0 ||
                       what.find("gravel: all_gather: " + said) == 0),
                      what);
      }
    });
  }

  TEST_CASE("a failure that a node is told of is taken for what it can be") {
    struct told {
      std::uint32_t code, origin; // 7: bad_frame
      std::string_view text;
      net_errc expected;
      std::string_view said;
    };
    for (told const& t :
         {told{7, 1, "a bad\x1b[1m frame", net_errc::bad_frame, "pe 1 says: a bad?[1m frame"},
          told{7, 0, "nothing", net_errc::bad_frame, "a failure of nobody from pe 1"},
          told{7, 2, "nothing", net_errc::bad_frame, "a failure of nobody from pe 1"},
          told{0, 1, "nothing", net_errc::bad_frame, "a failure of nobody from pe 1"},
          told{1000, 1, "nothing", net_errc::bad_frame, "a failure of nobody from pe 1"}}) {
      auto ends = make_in_process(2);
      auto out = make_outcome(1);
      native_scheduler scheduler({.threads = 1});
      unchecked_agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0], {});
      std::uint32_t const head[]{5, t.code, t.origin};
      REQUIRE(
          ends[1]
              ->try_send(pe{0}, std::as_bytes(std::span(head)), std::as_bytes(std::span(t.text)))
              .has_value());
      auto const q = net.all_sum(1);
      REQUIRE(q.has_error());
      CHECK(q.error().code == t.expected);
      CHECK_MESSAGE(q.error().what.find(t.said) != std::string::npos, q.error().what);
    }
  }

  TEST_CASE("a frame that is none ends the job with bad_frame, and touches nothing") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      auto ends = make_in_process(2);
      auto out = make_outcome(1);
      native_scheduler scheduler({.threads = 1});
      unchecked_agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                      {.timeout = std::chrono::milliseconds(50)});
      std::vector<std::uint32_t> frame(1 + random() % 12);
      std::generate(frame.begin(), frame.end(),
                    [&] { return static_cast<std::uint32_t>(random() % 6); });
      frame[0] = random() % 2 == 0 ? 1 : static_cast<std::uint32_t>(random() % 8 + 6);
      if (frame[0] == 1 && frame.size() > 2)
        frame[2] = 1000; // a run longer than its frame
      auto const bytes = std::as_bytes(std::span(frame));
      REQUIRE(ends[1]->try_send(pe{0}, bytes, {}).has_value());
      auto const q = net.all_sum(1);
      bool const is_empty_frame = frame[0] == 1 && frame.size() == 1;
      REQUIRE(q.has_error());
      CHECK(q.error().code == (is_empty_frame ? net_errc::timeout : net_errc::bad_frame));
      CHECK(std::all_of(out.heaps[0].begin(), out.heaps[0].end(), [](auto w) { return w == 0; }));
    }
  }

  TEST_CASE("options that cannot be are refused by name") {
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    std::vector<std::uint64_t> heap(8);
    auto const make = [&](gravel_node::options o) {
      gravel_node const net(gpu.core(), std::move(make_in_process(1)[0]), heap, o);
    };
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
    auto const exposed = gpu.expose(heap.data() + 3, 2, "two words");
    CHECK_THROWS_WITH(make({}), doctest::Contains("overlaps 'two words' (16 bytes)"));
  }
}
