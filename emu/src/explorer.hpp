// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world_threads.hpp"

#include <quarry/emu/explore.hpp>
#include <quarry/emu/explored_memory.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quarry {

/// Runs one execution of a world after the other.
class explorer {
public:
  struct result {
    std::optional<emu::explored_memory::finding> finding;
    bool is_cut = false; ///< by the limit of decisions
    std::string history{};
  };

  explorer(explore_options const& o, std::function<void(world&)> const& f);

  result run(chooser& choices, bool keeps_history = false);

  /// Executions from now on perform operations as these say.
  void adjust(std::vector<emu::adjustment> those) { memory_.adjust(std::move(those)); }
  /// Which operations there were, in executions from now on; null: not to be kept.
  void collect(std::vector<emu::operation_site>* into) { memory_.collect(into); }

private:
  std::function<void(world&)> const& function_;
  sequential_scheduler scheduler_;
  emu::explored_memory memory_;
  world_threads threads_;
};

/// What a world stands on.
class world::implementation {
public:
  implementation(sequential_scheduler& s, emu::explored_memory& m, world_threads& t)
      : scheduler_(s), memory_(m), threads_(t), host_({s.current(), &s}) {
    known_.tell(&m);
  }
  ~implementation() { threads_.end(); }
  implementation(implementation const&) = delete;

  sequential_scheduler& scheduler_;
  emu::explored_memory& memory_;
  world_threads& threads_;
  emu::allocations known_;
  world_core host_;
};

} // namespace quarry
