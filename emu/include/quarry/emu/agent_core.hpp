// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace quarry::emu {

/// The part of an agent that is no template: its compute units, its launches, its memory's bounds.
class agent_core {
public:
  /// Errors   std::invalid_argument – a machine that cannot exist, naming the number and the limits
  agent_core(executor& scheduler, machine const& m, bool checks_bounds);
  agent_core(agent_core const&) = delete;
  agent_core& operator=(agent_core const&) = delete;
  /// No launch may be running.
  ~agent_core();

  /// Completes and checks a launch's shape. Errors   std::invalid_argument
  void prepare(launch_state& l) const;
  /// Starts a prepared launch; it must be waited for before it is destroyed.
  void start(launch_state& l, native_scheduler::wake_workers wake);
  /// Runs compute units until the launch has ended, faults included.
  outcome wait(launch_state& l);

  [[nodiscard]] executor& scheduler() const noexcept { return scheduler_; }
  [[nodiscard]] machine const& shape() const noexcept { return machine_; }
  [[nodiscard]] bool checks_bounds() const noexcept { return checks_bounds_; }
  [[nodiscard]] allocations& known() noexcept { return known_; }
  [[nodiscard]] std::uint32_t compute_unit_count() const noexcept { return machine_.compute_units; }

private:
  friend class compute_unit;
  compute_unit::placed for_each_launch(compute_unit& by);
  [[nodiscard]] bool has_unclaimed();
  void wake_units();
  void place_everywhere();
  void evict_everywhere(launch_state& l);
  void let_go(wave_slot& w);
  void give_up(launch_state& l);

  executor& scheduler_;
  native_scheduler* native_;         ///< scheduler_, if it is native
  sequential_scheduler* sequential_; ///< scheduler_, if it is sequential
  machine machine_;
  bool checks_bounds_;
  allocations known_;
  std::mutex mutex_; ///< guards launches_ and debug_
  debug_agent debug_;
  std::vector<launch_state*> launches_;
  /// Last, so first to go: a unit may still look for launches while another one is destroyed.
  std::vector<std::unique_ptr<compute_unit>> units_;
};

} // namespace quarry::emu
