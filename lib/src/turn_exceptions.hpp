// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

namespace quarry {

/// Exceptions that were on their way on the thread before its turn of a strand began: a destructor
/// has run actors. Fibers have their own.
inline thread_local int exceptions_before_turn = 0;

/// Those of whoever runs.
inline int exceptions_on_their_way() noexcept {
  return std::uncaught_exceptions() - exceptions_before_turn;
}

/// A turn.
class turn_exceptions {
public:
  turn_exceptions() noexcept
      : outer_(std::exchange(exceptions_before_turn, std::uncaught_exceptions())) {}
  turn_exceptions(turn_exceptions const&) = delete;
  turn_exceptions& operator=(turn_exceptions const&) = delete;
  ~turn_exceptions() { exceptions_before_turn = outer_; }

private:
  int outer_;
};

} // namespace quarry
