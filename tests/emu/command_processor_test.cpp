// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"
#include "in_child.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;
using namespace std::chrono_literals;

namespace {

/// Does as many units of work as it is given, and says in which order.
class counter {
public:
  counter(std::string name, std::vector<char>* log = nullptr) : name_(std::move(name)), log_(log) {}
  std::atomic<int> wanted{0};
  std::atomic<int> done{0};

  template<class Core>
  task<bool> poll(Core&) {
    if (done.load() == wanted.load())
      co_return false;
    if (log_ != nullptr)
      log_->push_back(name_[0]);
    done.fetch_add(1);
    co_return true;
  }
  template<class Core>
  bool has_work(Core&) {
    return done.load() != wanted.load();
  }
  bool may_sleep() const { return true; }
  std::string name() const { return name_; }

private:
  std::string name_;
  std::vector<char>* log_;
};
static_assert(service<counter>);

/// Has work from the beginning, which it can do once it has room.
struct waiting_for_room {
  bool has_room = false;
  bool has_worked = false;

  template<class Core>
  task<bool> poll(Core&) {
    if (has_worked || !has_room)
      co_return false;
    has_worked = true;
    co_return true;
  }
  template<class Core>
  bool has_work(Core&) {
    return !has_worked;
  }
  std::string name() const { return "waiting for room"; }
};

/// Throws when it is first polled.
struct thrower {
  bool throws_misuse;
  bool has_thrown = false;

  /// A coroutine, or not.
  template<class Core>
  task<bool> poll(Core& self) {
    if (throws_misuse)
      return throw_later(self);
    has_thrown = true;
    throw std::runtime_error("no more room");
  }
  template<class Core>
  task<bool> throw_later(Core&) {
    co_await yield();
    has_thrown = true;
    throw kernel_stop{fault::kind::misuse, "element 7 twice", std::source_location::current()};
    co_return true;
  }
  template<class Core>
  bool has_work(Core&) {
    return true;
  }
  std::string name() const { return "thrower"; }
};
static_assert(service<thrower>);

struct count_wavefronts {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> count) const {
    wf.fetch_add(count, 1, order::relaxed, scope::agent);
    co_return;
  }
};

/// Runs a kernel to its end in each of its turns, and starts another one.
struct launcher {
  agent& gpu;
  global<std::uint32_t> count;
  int wanted = 3;
  std::vector<completion> started{};
  std::atomic<int> done{0};

  template<class Core>
  task<bool> poll(Core&) {
    if (!has_work(0))
      co_return false;
    launch_config const two{.work_groups = 2, .work_items_per_group = 64};
    started.push_back(gpu.launch(two, count_wavefronts{}, count));
    gpu.run(two, count_wavefronts{}, count).or_throw();
    started.back().wait().or_throw();
    done.fetch_add(1);
    co_return true;
  }
  bool has_work(auto&&) { return done.load() != wanted; }
  std::string name() const { return "launcher"; }
};
static_assert(service<launcher>);

/// Ends its own serving.
struct leaver {
  std::optional<command_processor::serving> own;
  std::atomic<bool> may_leave = false;
  task<bool> poll(auto&&) {
    if (!may_leave)
      co_return false;
    own.reset();
    co_return true;
  }
  bool has_work(auto&&) { return may_leave; }
  std::string name() const { return "leaver"; }
};
static_assert(service<leaver>);

/// Does not leave its first round before somebody says so.
struct stayer {
  event may_leave;
  std::atomic<bool> is_in = false;
  bool leaves_once_named = false;
  task<bool> poll(auto&&) {
    is_in = true;
    co_await may_leave.wait();
    co_return true;
  }
  bool has_work(auto&&) { return true; }
  std::string name() {
    if (leaves_once_named)
      may_leave.set();
    return "stayer";
  }
};
static_assert(service<stayer>);

/// With one core, which takes the packets as well.
void launch_from_a_service(executor& s) {
  agent gpu(s, {.compute_units = 2, .command_processor_cores = 1},
            {.launches = launch_path::packets});
  auto count = gpu.allocate<std::uint32_t>(1, "count");
  launcher own{gpu, count.global()};
  {
    auto const served = gpu.core().processor().serve(own);
    REQUIRE(s.run_until([&] { return own.done == own.wanted; }));
  }
  CHECK(count.host()[0] == 3 * 4);
}

} // namespace

TEST_SUITE("emu.command_processor") {
  TEST_CASE("services come, work, sleep, are woken, and go") {
    with_schedulers([](executor& s) {
      agent gpu(s, {.compute_units = 1});
      command_processor& cp = gpu.core().processor();
      CHECK(cp.core_count() == 2);
      std::vector<std::unique_ptr<counter>> services;
      for (char const* name : {"a", "b", "c"})
        services.push_back(std::make_unique<counter>(name));
      {
        std::vector<command_processor::serving> served;
        for (auto const& c : services)
          served.push_back(cp.serve(*c));
        CHECK(cp.service_count() == 3);
        for (int round = 1; round <= 50; ++round) {
          for (auto const& c : services)
            c->wanted.fetch_add(3);
          cp.wake();
          REQUIRE(s.run_until([&] {
            return std::all_of(services.begin(), services.end(),
                               [&](auto const& c) { return c->done.load() == 3 * round; });
          }));
        }
      }
      CHECK(cp.service_count() == 0);
      services[0]->wanted = 1000; // nobody serves it any more
      cp.wake();
      CHECK(services[0]->done == 150);
    });
  }

  TEST_CASE("a core's services have turns: one with endless work does not starve the others") {
    sequential_scheduler s;
    agent gpu(s, {.compute_units = 1, .command_processor_cores = 1});
    std::vector<char> log;
    counter busy("busy", &log), other("other", &log);
    busy.wanted = 1'000'000;
    other.wanted = 10;
    auto const first = gpu.core().processor().serve(busy);
    auto const second = gpu.core().processor().serve(other);
    REQUIRE(s.run_until([&] { return other.done == 10; }));
    CHECK(busy.done <= 20);
    busy.wanted = busy.done.load();
  }

  TEST_CASE("one that has work which it cannot do yet lets others go on") {
    sequential_scheduler scheduler;
    agent gpu(scheduler, {.compute_units = 1, .command_processor_cores = 1});
    waiting_for_room service;
    auto const serving = gpu.core().processor().serve(service);
    strand other(scheduler, "other");
    auto const makes_room = [&]() -> task<> {
      for (int i = 0; i < 10; ++i)
        co_await yield();
      service.has_room = true;
    };
    nursery n;
    n.start(other, makes_room(), "makes room");
    REQUIRE(scheduler.run_until([&] { return service.has_worked; }));
    n.wait(scheduler);
  }

  TEST_CASE("a turn is as many rounds as the machine says") {
    for (std::uint32_t const rounds : {1U, 3U}) {
      sequential_scheduler s;
      agent gpu(
          s,
          {.compute_units = 1, .command_processor_cores = 1, .command_processor_rounds = rounds});
      std::vector<char> log;
      counter a("a", &log), b("b", &log);
      a.wanted = b.wanted = 6;
      auto const first = gpu.core().processor().serve(a);
      auto const second = gpu.core().processor().serve(b);
      REQUIRE(s.run_until([&] { return a.done == 6 && b.done == 6; }));
      std::string const order(log.begin(), log.end());
      CHECK(order == (rounds == 1 ? "abababababab" : "aaabbbaaabbb"));
    }
  }

  TEST_CASE("a service launches and waits on the core that takes the packets") {
    with_schedulers([](executor& s) { launch_from_a_service(s); });
    verdict const v =
        explore({.executions = 50}, [](world& w) { launch_from_a_service(w.scheduler()); });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("a service that ends its own core's serving would wait for itself: it is told so") {
    aborts(
        [] {
          native_scheduler s({.threads = 1}); // see in_child()
          agent gpu(s, {});
          leaver it;
          it.own.emplace(gpu.core().processor().serve(it));
          it.may_leave = true;
          gpu.core().processor().wake();
          static_cast<void>(s.run_until([] { return false; }));
        },
        "a service ends a serving of its own core");
  }

  TEST_CASE("one that does not leave poll() when its serving ends is waited for, and named") {
    auto const end = in_child([] {
      native_scheduler s({.threads = 1, .stall_timeout = 50ms}); // see in_child()
      agent gpu(s, {});
      stayer it;
      {
        auto const served = gpu.core().processor().serve(it);
        while (!s.run_until([&] { return it.is_in.load(); }))
          continue;
        it.leaves_once_named = true;
      }
    });
    CHECK(end.status == 0);
    CHECK_SAYS(end.said, "quarry: stayer: its serving ends, and it does not leave poll(): nothing "
                         "progressed for the stall timeout\n");
    CHECK_SAYS(end.said, "command processor core 0");
  }

  TEST_CASE("such a one is a deadlock where an exploration decides, unless something else is") {
    auto const explored = [](bool is_host_stuck) {
      return explore({.executions = 10, .diagnoses = false, .keeps_failures = false},
                     [&](world& w) {
                       agent gpu(w.scheduler(), {.compute_units = 1});
                       stayer it;
                       event never;
                       auto const served = gpu.core().processor().serve(it);
                       w.check(w.scheduler().run_until([&] { return it.is_in.load(); }), "polled");
                       if (!is_host_stuck)
                         return;
                       w.start_task("waits", [&](world_core&) -> task<> { co_await never.wait(); });
                       w.join();
                     });
    };
    verdict const v = explored(false);
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "deadlock");
    CHECK_SAYS(v.failure->report, "stayer: its serving ends, and it does not leave poll()");
    verdict const host = explored(true);
    REQUIRE_MESSAGE(host.failure, host.to_string());
    CHECK(host.failure->kind == "deadlock");
    CHECK(host.failure->report.find("its serving ends") == std::string::npos);
  }

  TEST_CASE("impossible machines are refused") {
    sequential_scheduler s;
    CHECK_THROWS_WITH((agent(s, {.command_processor_cores = 0})),
                      "machine: 0 command-processor cores; allowed are 1 to 64");
    CHECK_THROWS_WITH((agent(s, {.command_processor_rounds = 0})),
                      "machine: 0 command-processor rounds a service; allowed are 1 to 65536");
    agent gpu(s, {});
    CHECK_THROWS_WITH((command_processor(gpu.core(), {.cores = 65})),
                      "command processor: 65 cores; allowed are 1 to 64");
    user_queue queue(gpu.core().known(), 4);
    packet_processor takes(gpu.core(), queue);
    CHECK_THROWS_WITH(static_cast<void>(gpu.core().processor().serve(takes, 99)),
                      "command processor: a service for core 99; there are 2");
    CHECK_THROWS_WITH((command_processor(gpu.core(), {.rounds = 0})),
                      "command processor: 0 rounds a service; allowed are 1 to 65536");
  }

  TEST_CASE("what a service throws is what has gone wrong in an execution that is explored") {
    for (bool const throws_misuse : {false, true}) {
      verdict const v =
          explore({.executions = 10, .shrinks = false, .diagnoses = false}, [&](world& w) {
            agent gpu(w.scheduler(), {.compute_units = 1});
            thrower broken{throws_misuse};
            counter well("well");
            auto const one = gpu.core().processor().serve(broken);
            auto const other = gpu.core().processor().serve(well);
            w.check(w.scheduler().run_until([&] { return broken.has_thrown; }), "it is polled");
            well.wanted = 1;
            w.check(w.scheduler().run_until([&] { return well.done == 1; }), "the other goes on");
          });
      REQUIRE(v.failure);
      CHECK(v.failure->execution == 1);
      CHECK(v.failure->kind == (throws_misuse ? "misuse" : "exception"));
      CHECK(v.failure->report.find(throws_misuse
                                       ? "thrower: element 7 twice"
                                       : "thrower threw: no more room") != std::string::npos);
    }
  }
}
