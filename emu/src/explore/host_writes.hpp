// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_machine.hpp"

namespace quarry::emu {

/// What host code stores in device memory past its core, and finds there: between launches, at
/// joins, and where it says so (handover.hpp).
class host_writes {
public:
  explicit host_writes(cache_machine& machine) noexcept : machine_(machine) {}

  /// There are some, since the last take() or show().
  [[nodiscard]] bool is_any();
  /// They are the actor's, which has released what it did; unless something newer has come to
  /// memory since, as what the actor has stored itself does.
  void take(cache_machine::actor_id by);
  /// Memory's newest values become those that host code finds there.
  void show();

private:
  cache_machine& machine_;
};

} // namespace quarry::emu
