// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry::emu {

/// An order between two actors that is made by something else than device memory: a host's atomic,
/// a mutex, a message. What the giver did until give() comes before what the taker does after
/// take(); at system scope. A later give() stands for the earlier ones of the same actor.
///
/// Stands beside what makes the order, and makes none itself: `explore` alone asks it. Elsewhere
/// both cost a test.
///
/// Errors   std::logic_error – under `explore`, in the predicate of a wait: whoever waits takes it
///          behind the wait
class handover {
public:
  /// Before the store with release, or the like.
  void give();
  /// After the load with acquire that has seen it, or the like.
  void take() const;

private:
  static constexpr std::uint32_t nothing = ~0U;
  std::uint32_t edge_ = nothing; ///< of the execution that runs
};

/// On a host, before it tells others of what it has done: what its own code has stored there, past
/// its core, are its stores from now on, as at a launch. For `explore` alone, as above.
void take_from_host();
/// On a host, after what it has waited for: what has come to memory is what its own code finds
/// there, as after a launch. For `explore` alone, as above.
void bring_to_host();
/// The same after its own stores, which come to memory before.
void bring_own_to_host();

} // namespace quarry::emu
