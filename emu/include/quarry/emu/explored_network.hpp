// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/operation_site.hpp>
#include <quarry/emu/scope.hpp>

#include <functional>
#include <optional>
#include <source_location>
#include <string>

namespace quarry {
class executor;
}

namespace quarry::emu {

class allocations;
class explored_memory;

/// What a network and the exploration that it runs in say to each other. Where nobody explores,
/// nothing.
class explored_network {
public:
  explicit explored_network(executor const& scheduler) noexcept;
  /// Does the calling thread run an explored execution?
  [[nodiscard]] static bool is_running() noexcept;

  /// Memory that no agent knows is explored, too.
  void explore(allocations& known) const;
  /// `tell()` is asked at a failure for lines of its report: what the network has not delivered,
  /// say. In place of what was to be asked for `who` before; an empty one: nothing.
  void tell_of(void const* who, std::function<std::string()> tell) const;
  /// Somebody begins an operation. What it has before it, where that might mend a failure: nothing,
  /// a fence() of its context (release), or a quiet() of every context (seq_cst: never if it is no
  /// host that may wait).
  [[nodiscard]] std::optional<order> begins_operation(operation_kind what, bool is_hosts,
                                                      std::source_location where) const;

private:
  explored_memory* memory_;
};

} // namespace quarry::emu
