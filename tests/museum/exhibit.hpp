// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/kernel.hpp>
#include <quarry/emu/operations.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace quarry_test {

using quarry::task;
using quarry::world;
using quarry::world_core;
using quarry::emu::order;
using quarry::emu::scope;

using case_world = std::function<void(world&)>;

/// One program of a case.
struct twin {
  enum class kind : std::uint8_t {
    wrong, ///< must be found, and by what it does, too: a wrong value or a hang
    right, ///< must never be flagged
  };
  kind what;
  std::string name;
  case_world run;
  std::set<std::string> found_as{}; ///< a wrong one: any of these, with the race detector
  std::string effect{};             ///< and this without it: what the program does wrong
};

/// A bug of GPU-initiated communication as it was published, rebuilt against Quarry.
struct exhibit {
  std::string number; ///< in the list that the museum was built from
  std::string bug;
  std::string source; ///< "by our model": nobody has reported it upstream
  std::vector<twin> twins;
};

inline twin wrong(std::string name, std::set<std::string> found_as, std::string effect,
                  case_world run) {
  return {twin::kind::wrong, std::move(name), std::move(run), std::move(found_as),
          std::move(effect)};
}
inline twin right(std::string name, case_world run) {
  return {twin::kind::right, std::move(name), std::move(run)};
}

[[nodiscard]] std::vector<exhibit> slot_exhibits();
[[nodiscard]] std::vector<exhibit> packet_exhibits();
[[nodiscard]] std::vector<exhibit> counter_exhibits();
[[nodiscard]] std::vector<exhibit> barrier_exhibits();
[[nodiscard]] std::vector<exhibit> network_exhibits();

/// Runs a kernel to its end: so many work-groups of a wavefront each, on compute units of their
/// own.
template<class Kernel>
void run_groups(world& w, std::uint32_t groups, Kernel const& kernel) {
  quarry::emu::explored_agent gpu(
      w.scheduler(), {.compute_units = groups, .wavefront_slots = 1, .wavefront_size = 32});
  auto const end =
      gpu.run({.work_items = 32 * groups, .work_items_per_group = 32, .cooperative = true}, kernel);
  w.check(static_cast<bool>(end), "the kernel did not end well");
}
/// The same of one wavefront.
template<class Kernel>
void run_wavefront(world& w, Kernel const& kernel) {
  run_groups(w, 1, kernel);
}

/// Waits until a word is not 0; gives it.
inline auto nonzero(auto& self, quarry::emu::global<std::uint64_t> at, order o,
                    scope s = scope::system) {
  return self.wait_until(at, [](std::uint64_t v) { return v != 0; }, o, s);
}
/// Waits until a word has come to `n`.
inline auto at_least(auto& self, quarry::emu::global<std::uint64_t> at, std::uint64_t n,
                     scope s = scope::system) {
  return self.wait_until(at, [n](std::uint64_t v) { return v >= n; }, order::acquire, s);
}

} // namespace quarry_test
