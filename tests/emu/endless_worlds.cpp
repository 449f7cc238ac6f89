// SPDX-License-Identifier: Apache-2.0
// endless_worlds_program WORLD: explores a world that does not let its execution end, and prints
// what comes of it. Exit status 1 if that is a failure. With "forked" before it: after
// others, in a child first. "beside": forks while another thread explores; so do the children.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/sanitizers.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace quarry::emu;
using quarry::task;
using quarry::world;
using quarry::world_core;

using word = global<std::uint32_t>;

/// Nobody of Quarry's can set it.
void spin_natively(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  std::atomic<int> flag{0};
  w.start("spinner", [&](world_core& self) {
    self.store(data.global(), 1);
    while (flag.load() == 0) {
    }
  });
  w.start("setter", [&](world_core& self) {
    self.store(data.global(), 2, order::release, scope::system);
    self.load(data.global(), order::acquire, scope::system);
    flag = 1;
  });
  w.join();
}

/// Held across a decision.
void lock_natively(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  std::mutex mutex;
  for (char const* const name : {"one", "other"})
    w.start(name, [&](world_core& self) {
      std::lock_guard const lock(mutex);
      self.fetch_add(data.global(), 1, order::relaxed, scope::system);
    });
  w.join();
}

void catch_all(world_core& self, word at) {
  for (;;)
    try {
      self.fetch_add(at, 1, order::relaxed, scope::system);
    } catch (...) { // NOLINT(bugprone-empty-catch): what is tested
    }
}

/// Of a host thread that a world starts.
void swallow_in_thread(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  w.start("swallower", [&](world_core& self) { catch_all(self, data.global()); });
  w.join();
}

void swallow_in_task(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  w.start_task("swallower", [&](world_core& self) -> task<> {
    catch_all(self, data.global());
    co_return;
  });
  w.join();
}

void swallow_in_world(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  catch_all(w.host(), data.global());
}

struct swallow {
  task<> operator()(any_wavefront auto& wf, word at) const {
    for (;;)
      try {
        wf.fetch_add(at, 1U, order::relaxed, scope::system);
      } catch (...) { // NOLINT(bugprone-empty-catch)
      }
    co_return;
  }
};

void swallow_in_kernel(world& w) {
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto data = gpu.allocate<std::uint32_t>(1, "data");
  static_cast<void>(gpu.run({.work_items = 1}, swallow{}, data.global()));
}

/// A launch that is tried again and again.
void swallow_launches(world& w) {
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto data = gpu.allocate<std::uint32_t>(1, "data");
  auto const add = [](any_wavefront auto& wf, word at) {
    wf.fetch_add(at, 1U, order::relaxed, scope::system);
  };
  std::vector<std::shared_ptr<launch_state>> beside; // so that none is where the last one was
  for (;;)
    try {
      static_cast<void>(gpu.run({.work_items = 1}, add, data.global()));
    } catch (...) {
      beside.push_back(std::make_shared<launch_state>());
    }
}

/// Polls on its way out.
struct guard {
  world_core& self;
  word flag;
  ~guard() {
    while (self.load(flag, order::acquire, scope::system) == 0) {
    }
  }
};

void poll_in_destructor(world& w) {
  auto words = w.allocate<std::uint32_t>(32, "words");
  w.start("guarded", [&](world_core& self) {
    guard const g{self, words.global()};
    for (;;)
      self.fetch_add(words.global() + 16, 1, order::relaxed, scope::system);
  });
  w.join();
}

task<> wait_for_ever(world_core& self, word flag) {
  auto const is_set = [](std::uint32_t v) { return v == 2; };
  co_await self.wait_until(flag, is_set, order::acquire, scope::system);
}

/// The same where a deadlock is what ends the execution.
void deadlock_and_poll(world& w) {
  auto flag = w.allocate<std::uint32_t>(1, "flag");
  w.start_task("waiter", [&](world_core& self) { return wait_for_ever(self, flag.global()); });
  guard const g{w.host(), flag.global()};
  w.join();
}

/// The destructor of a frame, which no fiber can be discarded for.
void poll_in_frame(world& w) {
  auto flag = w.allocate<std::uint32_t>(1, "flag");
  w.start_task("waiter", [&](world_core& self) -> task<> {
    guard const g{self, flag.global()};
    co_await wait_for_ever(self, flag.global());
  });
  w.join();
}

/// Of a wavefront: its agent goes with the world's other locals.
void poll_in_kernel_frame(world& w) {
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto flag = w.allocate<std::uint32_t>(1, "flag");
  auto const kernel = [](any_wavefront auto& wf, word at) -> task<> {
    struct wave_guard {
      decltype(wf) wave;
      word flag;
      ~wave_guard() {
        while (wave.load(flag, order::acquire, scope::system) == 0) {
        }
      }
    };
    wave_guard const g{wf, at};
    auto set =
        wf.wait_until(at, [](std::uint32_t v) { return v == 2; }, order::acquire, scope::system);
    co_await set;
  };
  static_cast<void>(gpu.run({.work_items = 1}, kernel, flag.global()));
}

void operate_in_noexcept(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  w.start("sworn", [&](world_core& self) {
    auto const add = [&]() noexcept {
      self.fetch_add(data.global(), 1, order::relaxed, scope::system);
    };
    for (;;)
      add();
  });
  w.join();
}

/// Nobody is stuck: a decision takes long, but not for ever.
void compute(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < end) {
  }
  w.host().store(data.global(), 1);
}

std::map<std::string, std::function<void(world&)>> const worlds{
    {"spin_natively", spin_natively},
    {"lock_natively", lock_natively},
    {"swallow_in_thread", swallow_in_thread},
    {"swallow_in_task", swallow_in_task},
    {"swallow_in_world", swallow_in_world},
    {"swallow_in_kernel", swallow_in_kernel},
    {"swallow_launches", swallow_launches},
    {"poll_in_destructor", poll_in_destructor},
    {"deadlock_and_poll", deadlock_and_poll},
    {"poll_in_frame", poll_in_frame},
    {"poll_in_kernel_frame", poll_in_kernel_frame},
    {"operate_in_noexcept", operate_in_noexcept},
    {"compute", compute},
};

/// Before the watchdog ends it. Ten thousand launches without a decision take their time under a
/// sanitizer.
std::chrono::milliseconds patience_with(std::string const& name) {
  return std::chrono::milliseconds(name == "swallow_launches" ? 30'000 : 500);
}

/// Explores, and forks. In the child true; in the parent whether the child was ended as stuck.
bool is_child_watched() {
  static_cast<void>(quarry::explore({.executions = 20, .name = "compute"}, compute));
  pid_t const child = ::fork();
  if (child <= 0)
    return child == 0;
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == quarry::explore_options::stuck_status;
}

/// Neither does a fork wait for ever, nor a child look after what the parent's thread explores.
bool are_children_well() {
  std::atomic<bool> is_over{false};
  std::thread other([&is_over] {
    while (!is_over)
      static_cast<void>(quarry::explore({.executions = 1, .name = "short"}, [](world&) {}));
  });
  bool are_well = true;
  for (int i = 0; i < 20 && are_well; ++i) {
    pid_t const child = ::fork();
    if (child == 0) {
#if QUARRY_TSAN // no thread may begin there
      ::_exit(0);
#else
      auto const v = quarry::explore({.executions = 1,
                                      .patience = std::chrono::milliseconds(500),
                                      .name = "compute",
                                      .keeps_failures = false},
                                     compute);
      ::_exit(v ? 0 : 1);
#endif
    }
    int status = 0;
    are_well = ::waitpid(child, &status, 0) == child && status == 0;
  }
  is_over = true;
  other.join();
  return are_well;
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "beside") {
    std::puts(are_children_well() ? "all are well" : "one is not");
    return 0;
  }
  if (argc > 2 && std::string(argv[1]) == "forked") {
    if (!is_child_watched())
      return 3;
    ++argv;
    --argc;
  }
  auto const found = worlds.find(argc > 1 ? argv[1] : "");
  if (found == worlds.end())
    return 2;
  auto const v = quarry::explore({.executions = 20,
                                  .most_decisions = 500,
                                  .patience = patience_with(found->first),
                                  .detects_races = false,
                                  .name = found->first},
                                 found->second);
  std::fputs(v.to_string().c_str(), stdout);
  return v ? 0 : 1;
}
