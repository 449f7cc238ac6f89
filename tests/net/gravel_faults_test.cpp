// SPDX-License-Identifier: Apache-2.0
// Nodes that go away, say nothing, take nothing or fail: each wait for them ends in a typed error.
#include "forwarding_port.hpp"
#include "gravel_job.hpp"
#include "reluctant_port.hpp"
#include "transport_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace gravel_test;

namespace {

struct send_for_ever {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, gravel::endpoint& net,
                    std::uint32_t to) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    for (;;) {
      task<> sent = net.increment(wf, words + i % 50, to);
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

/// Sends from when somebody sleeps; the night ends when its wavefront is stopped.
struct send_all_night {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, gravel::endpoint& net,
                    night& n) const {
    struct waking {
      night& of;
      ~waking() { of.end(); }
    } const at_end{n};
    auto const has_come = [&n] { return n.has_slept(); };
    poll_until asleep(has_come);
    co_await asleep;
    task<> sent = send_for_ever{}(wf, words, net, 1);
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

/// Of one node, while those that it waits for do nothing.
quarry::error why_quiet_fails(std::unique_ptr<transport_port> end, gravel_node::options const& o,
                              std::chrono::milliseconds stall = std::chrono::seconds(10)) {
  auto out = make_outcome(1);
  native_scheduler scheduler({.threads = 1, .stall_timeout = stall});
  unchecked_agent gpu(scheduler);
  gravel_node net(gpu.core(), std::move(end), out.heaps[0], o);
  auto const over = net.quiet();
  REQUIRE(over.has_error());
  return over.error();
}

} // namespace

TEST_SUITE("net.gravel_faults") {
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
    auto const e = why_quiet_fails(std::move(ends[0]), {.timeout = std::chrono::milliseconds(50)});
    CHECK(e.code == net_errc::timeout);
    CHECK(e.what.find("pe 1, pe 2") != std::string::npos);
  }

  TEST_CASE("it does so when the job says, unless its options say otherwise") {
    auto const jobs = make_local_jobs(2, std::chrono::milliseconds(300)).value();
    std::unique_ptr<loopback> ends[2];
    {
      std::jthread const other([&] { ends[1] = loopback::open(jobs[1]).value(); });
      ends[0] = loopback::open(jobs[0]).value();
    }
    auto const e = why_quiet_fails(std::move(ends[0]), {});
    CHECK_MESSAGE(e.what.find("no word from pe 1 for 300 ms") != std::string::npos, e.what);
  }

  TEST_CASE("nor sooner because nothing progresses at this one") {
    auto ends = make_in_process(2);
    auto const e = why_quiet_fails(std::move(ends[0]), {.timeout = std::chrono::milliseconds(500)},
                                   std::chrono::milliseconds(50));
    CHECK_MESSAGE(e.what.find("no word from pe 1 for 500 ms") != std::string::npos, e.what);
  }

  TEST_CASE("so it does while another node goes on talking") {
    auto ends = make_in_process(3);
    std::jthread const talks([end = std::move(ends[2])](std::stop_token const& stop) {
      constexpr std::uint32_t nothing[] = {1}; // a data frame without messages
      while (!stop.stop_requested()) {
        static_cast<void>(end->poll([](auto...) {}));
        static_cast<void>(end->try_send(pe{0}, std::as_bytes(std::span(nothing)), {}));
        std::this_thread::yield();
      }
      static_cast<void>(end->finish());
    });
    auto const e = why_quiet_fails(std::move(ends[0]), {.timeout = std::chrono::milliseconds(500)});
    CHECK(e.what.find("no word from pe 1 for 500 ms") != std::string::npos);
  }

  TEST_CASE("who waits for somebody tells others in time that it is there itself") {
    auto ends = make_in_process(3);
    auto out = make_outcome(1);
    std::vector<std::uint32_t> kinds; // that node 0 has sent to node 2
    auto const take = [&kinds](pe, std::span<std::byte const> bytes) {
      std::uint32_t kind = 0;
      std::memcpy(&kind, bytes.data(), sizeof(kind));
      kinds.push_back(kind);
    };
    {
      native_scheduler scheduler({.threads = 1});
      unchecked_agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                      {.timeout = std::chrono::milliseconds(100)});
      auto const b = net.barrier();
      REQUIRE(b.has_error());
      CHECK(b.error().what.find("no word from pe 1, pe 2 for 100 ms") != std::string::npos);
    }
    static_cast<void>(ends[2]->poll(take));
    constexpr std::uint32_t failure = 5, waiting = 6;
    CHECK(std::count(kinds.begin(), kinds.end(), waiting) == 1);
    auto const at_failure = std::find(kinds.begin(), kinds.end(), failure);
    CHECK(at_failure != kinds.end());
    CHECK(std::find(kinds.begin(), at_failure, waiting) != at_failure);
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
                               std::ref(net.device()), 1);
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
      std::string const why = "increment in a kernel of pe 1 at ";
      for (std::uint32_t id = 0; id < 3; ++id) {
        CAPTURE(id);
        REQUIRE(out.errors[id]);
        CHECK(out.errors[id]->code == net_errc::outside_heap);
        std::string const said = id == 1 ? why : "pe 1 says: " + why;
        std::string const& what = out.errors[id]->what;
        CHECK_MESSAGE(what.starts_with("gravel: finish: " + said), what);
      }
    });
  }

  TEST_CASE("who has finished sends nothing any more, and is told so") {
    with_every_job([](auto const& run) {
      auto const out = run(2, {}, [](test_node& n) {
        REQUIRE(n.net.finish());
        auto const quiet = n.net.quiet();
        REQUIRE_FALSE(quiet);
        CHECK(quiet.error().code == net_errc::already_finished);
        auto const gathered = n.net.all_gather({});
        REQUIRE_FALSE(gathered.has_value());
        CHECK(gathered.error().code == net_errc::already_finished);
      });
      for (auto const& error : out.errors) { // of a second finish()
        REQUIRE(error);
        CHECK(error->code == net_errc::already_finished);
      }
    });
  }

  TEST_CASE("a kernel that still sends when its node finishes is ended, whatever it waits for") {
    with_every_job([](auto const& run) {
      auto const out =
          run(2, {.buffer_bytes = 64, .buffers_per_node = 2, .queue_slots = 2}, [](test_node& n) {
            auto sends = n.gpu.launch({.work_items = 4 * 64}, send_for_ever{}, n.at(0),
                                      std::ref(n.net.device()), n.id);
            REQUIRE(n.gpu.core().scheduler().run_until([&] { return n.net.operations() > 100; }));
            auto const left = n.net.finish();
            REQUIRE_MESSAGE(left, left.error().what);
            auto const end = sends.wait();
            REQUIRE_FALSE(end);
            CHECK_MESSAGE(end.get_fault()->report.find(
                              "increment was given up: gravel: this node has finished") !=
                              std::string::npos,
                          end.get_fault()->report);
            CHECK(n.net.counts().operations > 100);
          });
      CHECK(out.errors[0]); // of a second finish()
    });
  }

  TEST_CASE("nodes that are in different collectives are told so, all of them") {
    auto const call = [](test_node& n, std::string_view what) -> std::optional<error> {
      auto const error_of = [](auto const& r) {
        return r.has_error() ? std::optional(r.error()) : std::nullopt;
      };
      return what == "barrier"      ? error_of(n.net.barrier())
             : what == "finish"     ? error_of(n.net.finish())
             : what == "all_gather" ? error_of(n.net.all_gather({}))
                                    : error_of(n.net.all_sum(1));
    };
    constexpr std::array<std::string_view, 4> all{"barrier", "finish", "all_gather", "all_sum"};
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::string_view const one = all[i], other = all[(i + 1) % all.size()];
      CAPTURE(one);
      with_every_job([&](auto const& run) {
        std::array<std::optional<error>, 3> said;
        run(3, {.timeout = std::chrono::hours(1)},
            [&](test_node& n) { said[n.id] = call(n, n.id == 1 ? other : one); });
        for (auto const& e : said) {
          REQUIRE(e);
          CHECK(e->code == net_errc::mismatched_collective);
          CHECK_MESSAGE(e->what.find(" is in ") != std::string::npos, e->what);
        }
      });
    }
  }

  TEST_CASE("it does so also to a node that has no room for that at once") {
    auto ends = make_in_process(3);
    auto out = make_outcome(1);
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    {
      gravel_node net(
          gpu.core(),
          std::make_unique<quarry_test::reluctant_port>(std::move(ends[0]), 40, "no word"),
          out.heaps[0], {.timeout = std::chrono::milliseconds(50)});
      CHECK(net.quiet().has_error());
    }
    for (std::uint32_t const id : {1U, 2U}) {
      CAPTURE(id);
      std::string said;
      auto const hear = [&said](pe, std::span<std::byte const> bytes) {
        said.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
      };
      auto const lost = contract::poll_until(*ends[id], hear, [] { return false; });
      CHECK(lost->code == net_errc::peer_lost);
      CHECK(said.find("no word from pe 1, pe 2") != std::string::npos);
    }
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
}
