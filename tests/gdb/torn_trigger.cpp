// SPDX-License-Identifier: Apache-2.0
// The program of apps/quarry/debugging.md: case 1 of the museum, on a GPU. MSCCL++ writes a trigger
// of two words; a proxy on the host polls the first one and reads both. Source   PR#213, PR#232
//
// Explores, and keeps a failing execution; --quarry-replay=FILE repeats it.
#include <quarry/emu.hpp>

#include <cstdint>
#include <cstdio>
#include <string_view>

using namespace quarry::emu;
// With all names of quarry in sight gdb must find the symbols of the debugger nonetheless, which it
// would take for some of that namespace.
using namespace quarry;

namespace {

using word = global<std::uint64_t>;

/// The second word, then the first: the proxy waits for the first.
struct send_trigger {
  task<> operator()(any_wavefront auto& wf, word trigger) const {
    std::uint64_t const destination = 5;
    std::uint64_t const size = 7;
    wf.store(trigger + 1, size, order::relaxed, scope::system);
    wf.store(trigger, destination, order::relaxed, scope::system); // must be a release
    co_return;
  }
};

task<> proxy(world& w, world_core& self, word trigger) {
  auto const is_set = [](std::uint64_t v) { return v != 0; };
  auto poll = self.wait_until(trigger, is_set, order::acquire, scope::system);
  std::uint64_t const destination = co_await poll;
  std::uint64_t const size = self.load(trigger + 1, order::relaxed, scope::system);
  w.check(destination == 5 && size == 7, "a torn trigger");
}

void trigger_world(world& w) {
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto trigger = gpu.allocate<std::uint64_t>(2, "trigger");
  w.start_task("proxy", [&](world_core& self) { return proxy(w, self, trigger.global()); });
  static_cast<void>(gpu.run({.work_items = 1}, send_trigger{}, trigger.global()));
  w.join();
}

/// A trigger of one word too many: a fault of the kernel's.
struct send_too_much {
  void operator()(any_wavefront auto& wf, word trigger) const {
    for (int i = 0; i <= 2; ++i)
      wf.store(trigger + i, 1, order::relaxed, scope::system);
  }
};

void bounds_world(world& w) {
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto trigger = gpu.allocate<std::uint64_t>(2, "trigger");
  gpu.run({.work_items = 1}, send_too_much{}, trigger.global()).or_throw();
}

} // namespace

int main(int argc, char** argv) {
  bool const is_of_bounds = argc > 1 && std::string_view(argv[1]) == "bounds";
  auto const verdict = quarry::explore({.detects_races = false, .name = "torn_trigger"},
                                       is_of_bounds ? bounds_world : trigger_world);
  std::fputs(verdict.to_string().c_str(), stdout);
  return verdict ? 0 : 1;
}
