// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/nursery.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_slots = 8, .wavefront_size = 32};
constexpr agent::options by_packets{.checks_bounds = true, .launches = launch_path::packets};

struct add {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words, std::uint32_t n) const {
    wf.fetch_add(words + wf.global_id(), n, order::relaxed, scope::agent);
  }
};
struct beyond {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    wf.store(words + 1'000'000, 1);
  }
};
struct wait_for {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> word, std::uint32_t value) const {
    auto const is_there = [value](std::uint32_t v) { return v == value; };
    static_cast<void>(co_await wf.wait_until(word, is_there, order::acquire, scope::agent));
  }
};
/// Group 0 waits for the last one.
struct wait_for_last {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> word) const {
    if (wf.linear_group_id() + 1 == wf.group_count().x)
      wf.store(word, 1, order::release, scope::agent);
    auto const is_there = [](std::uint32_t v) { return v == 1; };
    static_cast<void>(co_await wf.wait_until(word, is_there, order::acquire, scope::agent));
  }
};

launch_config const one_wave{.work_items = 32, .work_items_per_group = 32};

/// Whether two actors come to be in their slices at the same time: a worker beside the caller.
bool runs_two_at_a_time(native_scheduler& scheduler) {
  std::latch both(2);
  auto const end = std::chrono::steady_clock::now() + patience;
  auto const meet = [&]() -> task<> {
    both.count_down();
    while (!both.try_wait() && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    co_return;
  };
  strand one(scheduler, "one");
  strand other(scheduler, "other");
  nursery n;
  n.start(one, meet(), "one");
  n.start(other, meet(), "other");
  n.wait(scheduler);
  return std::chrono::steady_clock::now() < end;
}

/// A core of the command processor is in it until it is let go.
class obstacle {
public:
  std::atomic<bool> is_entered{false};
  std::atomic<bool> is_let_go{false};

  template<class Core>
  task<bool> poll(Core&) {
    is_entered = true;
    while (!is_let_go)
      std::this_thread::yield();
    co_return false;
  }
  template<class Core>
  bool has_work(Core&) {
    return !is_let_go;
  }
  std::string name() const { return "obstacle"; }
};

/// An agent whose launch queue is there, and whose only core is in an obstacle.
struct obstructed_agent {
  native_scheduler scheduler{{.threads = 2, .stall_timeout = impatience}};
  agent gpu{scheduler,
            {.compute_units = 2,
             .wavefront_slots = 8,
             .wavefront_size = 32,
             .command_processor_cores = 1},
            by_packets};
  buffer<std::uint32_t> words = gpu.allocate<std::uint32_t>(32, "words");
  obstacle o;
  std::optional<command_processor::serving> serving;

  obstructed_agent() {
    succeed(gpu.run(one_wave, add{}, words.global(), 1U));
    serving.emplace(gpu.core().processor().serve(o));
    while (!o.is_entered) // by the pool's thread, as this one is not in the scheduler
      std::this_thread::yield();
  }
};

/// Tells when so many reports have come to it, before they come to an agent made after it.
class report_listener final : public strand {
public:
  report_listener(executor& s, int reports) : strand(s, "listener"), left_(reports) {}
  ~report_listener() override { retire(); }
  void describe(report&) const override {
    if (--left_ == 0)
      has_come = true;
  }
  mutable std::atomic<bool> has_come{false};

private:
  mutable int left_;
};
/// Keeps its compute unit busy until then.
struct busy_until {
  void operator()(any_wavefront auto&, std::atomic<bool>& begun, std::atomic<bool>& is_over) const {
    begun = true;
    auto const bound = std::chrono::steady_clock::now() + patience;
    while (!is_over && std::chrono::steady_clock::now() < bound)
      std::this_thread::yield();
  }
};

} // namespace

TEST_SUITE("emu.launch_queue") {
  TEST_CASE("launches are packets natively, and where the agent is told so") {
    auto const services = [](executor& s, agent::options o) {
      agent gpu(s, shape, o);
      auto words = gpu.allocate<std::uint32_t>(32);
      CHECK(gpu.core().processor().service_count() == 0);
      succeed(gpu.run(one_wave, add{}, words.global(), 3U));
      CHECK(words.host()[31] == 3);
      return gpu.core().processor().service_count();
    };
    native_scheduler native({.stall_timeout = patience});
    CHECK(services(native, {}) == 1);
    CHECK(services(native, {.launches = launch_path::straight}) == 0);
    CHECK(services(native, {.launches = launch_path::packets}) == 1);
    sequential_scheduler sequential;
    CHECK(services(sequential, {}) == 0);
    CHECK(services(sequential, {.launches = launch_path::packets}) == 1);
  }

  TEST_CASE("the queue's memory is not the agent's") {
    native_scheduler scheduler({.stall_timeout = patience});
    agent gpu(scheduler, shape, by_packets);
    std::uint32_t outside = 0;
    std::string const report = fail_with(
        gpu.run(one_wave, add{}, global<std::uint32_t>(&outside), 1U), fault::kind::out_of_bounds);
    CHECK_SAYS(report, "far from every allocation");
  }

  TEST_CASE("more launches at a time than the queue has slots, from several hosts") {
    native_scheduler scheduler({.threads = 3, .stall_timeout = patience});
    agent gpu(scheduler, shape, by_packets);
    auto words = gpu.allocate<std::uint32_t>(32);
    constexpr std::uint32_t each = 100;
    auto const launch_them = [&] {
      std::deque<completion> those;
      for (std::uint32_t i = 0; i < each; ++i)
        those.push_back(gpu.launch(one_wave, add{}, words.global(), 1U));
      for (completion& c : those)
        succeed(c.wait());
    };
    std::thread other(launch_them);
    launch_them();
    other.join();
    for (std::uint32_t const w : words.host())
      CHECK(w == 2 * each);
  }

  TEST_CASE("so under a deterministic scheduler, where the queue fills") {
    sequential_scheduler scheduler({.seed = 4});
    agent gpu(scheduler, shape, by_packets);
    auto words = gpu.allocate<std::uint32_t>(32);
    std::deque<completion> those;
    for (std::uint32_t i = 0; i < 200; ++i)
      those.push_back(gpu.launch(one_wave, add{}, words.global(), 1U));
    for (completion& c : those) {
      succeed(c.wait());
      CHECK(c.is_done());
    }
    CHECK(words.host()[0] == 200);
  }

  TEST_CASE("a launch that waits for a later one finds it running") {
    with_schedulers([](executor& scheduler) {
      agent gpu(scheduler, shape, by_packets);
      auto words = gpu.allocate<std::uint32_t>(32);
      completion first = gpu.launch(one_wave, wait_for{}, words.global(), 7U);
      CHECK_FALSE(first.is_done());
      succeed(gpu.run(one_wave, add{}, words.global(), 7U));
      succeed(first.wait());
    });
  }

  TEST_CASE("a fault is its own launch's") {
    with_schedulers([](executor& scheduler) {
      agent gpu(scheduler, shape, by_packets);
      auto words = gpu.allocate<std::uint32_t>(32, "words");
      std::string const report =
          fail_with(gpu.run(one_wave, beyond{}, words.global()), fault::kind::out_of_bounds);
      CHECK_SAYS(report, "beyond");
      succeed(gpu.run(one_wave, add{}, words.global(), 1U));
      CHECK(words.host()[5] == 1);
    });
  }

  TEST_CASE("wavefronts that cannot go on are given up, with the fault that says why") {
    for (bool const is_native : {true, false}) {
      CAPTURE(is_native);
      native_scheduler native({.stall_timeout = impatience});
      sequential_scheduler sequential;
      executor& s = is_native ? static_cast<executor&>(native) : sequential;
      agent gpu(s, {.compute_units = 1, .wavefront_slots = 2, .wavefront_size = 32}, by_packets);
      auto words = gpu.allocate<std::uint32_t>(32, "words");
      fail_with(
          gpu.run({.work_groups = 3, .work_items_per_group = 32}, wait_for_last{}, words.global()),
          fault::kind::not_resident);
      fail_with(gpu.run(one_wave, wait_for{}, words.global(), 9U),
                is_native ? fault::kind::stall : fault::kind::deadlock);
      succeed(gpu.run(one_wave, add{}, words.global(), 1U));
      CHECK(words.host()[5] == 1);
    }
  }

  TEST_CASE("a launch that no core comes to is given up, and does not begin afterwards") {
    obstructed_agent obstructed;
    auto& [scheduler, gpu, words, o, serving] = obstructed;
    std::string const report =
        fail_with(gpu.run(one_wave, add{}, words.global(), 10U), fault::kind::stall);
    CHECK_SAYS(report, "no core of the command processor comes to its packet");
    CHECK_SAYS(report, "command processor core 0: running");
    o.is_let_go = true;
    succeed(gpu.run(one_wave, add{}, words.global(), 100U));
    CHECK(words.host()[0] == 101);
  }

  TEST_CASE("a launch that ends while the stall's report is made is no stall") {
    struct way {
      launch_path path;
      int reports; ///< the launch ends during the last
    };
    for (way const w : {way{launch_path::straight, 1}, way{launch_path::packets, 1},
                        way{launch_path::packets, 2}}) {
      CAPTURE(w.reports);
      native_scheduler scheduler({.threads = 2, .stall_timeout = impatience});
      report_listener listener(scheduler, w.reports);
      agent gpu(scheduler, shape, {.launches = w.path});
      std::atomic<bool> begun{false};
      completion busy =
          gpu.launch(one_wave, busy_until{}, std::ref(begun), std::ref(listener.has_come));
      while (!begun) // by the pool's thread, as this one is not in the scheduler
        std::this_thread::yield();
      succeed(busy.wait());
      CHECK(listener.has_come);
    }
  }

  TEST_CASE("arguments are gone when the launch has been waited for") {
    native_scheduler scheduler({.threads = 2, .stall_timeout = patience});
    agent gpu(scheduler, shape, by_packets);
    auto const kernel = [](any_wavefront auto&, std::shared_ptr<int> const&) {};
    auto const argument = std::make_shared<int>(0);
    for (int round = 0; round < 500; ++round) {
      std::deque<completion> those;
      for (int i = 0; i < 8; ++i)
        those.push_back(gpu.launch(one_wave, kernel, argument));
      for (completion& c : those)
        succeed(c.wait());
      REQUIRE(argument.use_count() == 1);
    }
  }

  TEST_CASE("a queue that stays full gives up what finds no room") {
    obstructed_agent obstructed;
    auto& [scheduler, gpu, words, o, serving] = obstructed;
    std::deque<completion> those;
    for (int i = 0; i < 65; ++i) // 64 slots
      those.push_back(gpu.launch(one_wave, add{}, words.global(), 1U));
    CHECK(those.back().is_done());
    CHECK_SAYS(fail_with(those.back().wait(), fault::kind::stall), "wait for room in launch queue");
    o.is_let_go = true;
    those.pop_back();
    for (completion& c : those)
      succeed(c.wait());
    CHECK(words.host()[0] == 65);
  }

  TEST_CASE("explored, packets order what hosts and kernels do") {
    auto const explored = [](scope far) {
      return explore({.executions = 60, .most_shrinking = 50, .diagnoses = false}, [=](world& w) {
        explored_agent gpu(w.scheduler(),
                           {.compute_units = 2, .wavefront_slots = 2, .wavefront_size = 32},
                           {.launches = launch_path::packets});
        auto words = gpu.allocate<std::uint32_t>(32, "words");
        auto const kernel = [far](any_wavefront auto& wf, global<std::uint32_t> at) {
          auto const one_lane = wf.where(wf.local_id() == 0);
          wf.fetch_add(at, 1U, order::relaxed, far);
        };
        w.host().store(words.global(), 5);
        launch_config const two{.work_items = 64, .work_items_per_group = 32};
        for (int i = 0; i < 2; ++i)
          w.check(static_cast<bool>(gpu.run(two, kernel, words.global())), "the kernel failed");
        w.check(w.host().load(words.global()) == 9, "something was lost");
        w.check(words.host()[0] == 9, "something is not in host memory");
      });
    };
    verdict const right = explored(scope::agent);
    CHECK_MESSAGE(right, right.to_string());
    CHECK(right.executions == 60);
    CHECK(right.inconclusive == 0);
    CHECK_FALSE(explored(scope::work_group)); // two compute units
  }

  TEST_CASE("a host that has waited finds what it has stored meanwhile, in memory, too") {
    for (launch_path const path : {launch_path::packets, launch_path::straight})
      for (auto const &between : {+[](world_core&, global<std::uint32_t>) {},
                                  +[](world_core& self, global<std::uint32_t> word) {
                                    self.fetch_add(word, 1, order::relaxed, scope::system);
                                  },
                                  +[](world_core& self, global<std::uint32_t>) {
                                    self.fence(order::acquire, scope::system);
                                  }}) {
        verdict const v = explore({.executions = 200}, [&](world& w) {
          explored_agent gpu(w.scheduler(), shape, {.launches = path});
          auto words = w.allocate<std::uint32_t>(32, "words");
          auto sum = gpu.allocate<std::uint32_t>(32, "sum");
          auto end = gpu.launch(one_wave, add{}, sum.global(), 1U);
          w.host().store(words.global(), 1, order::release, scope::system);
          between(w.host(), words.global() + 16);
          w.check(static_cast<bool>(end.wait()), "it failed");
          w.check(words.host()[0] == 1, "its own store is not there");
        });
        CHECK_MESSAGE(v, v.to_string());
      }
  }

  TEST_CASE("explored hosts that launch at a time leave nothing behind on the thread") {
    verdict const v = explore({.executions = 60}, [](world& w) {
      explored_agent gpu(w.scheduler(), shape, {.launches = launch_path::packets});
      auto const launch = [&] {
        auto words = gpu.allocate<std::uint32_t>(32, "words");
        w.check(static_cast<bool>(gpu.run(one_wave, add{}, words.global(), 1U)), "it failed");
      };
      w.start("another host", [&](world_core&) { launch(); });
      launch();
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());

    native_scheduler scheduler({.threads = 2, .stall_timeout = patience});
    CHECK(runs_two_at_a_time(scheduler));
  }
}
