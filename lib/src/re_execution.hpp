// SPDX-License-Identifier: Apache-2.0
// What every search by re-execution asks of a program: that it depends on its choices alone.
#pragma once

#include <quarry/choices.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace quarry {

/// Whether an alternative to the boring one is limited by `stale`: something is late then. Lanes
/// and groups that come in another order are neither late, nor pre-emptions.
constexpr bool is_about_lateness(choice_kind kind) noexcept {
  return kind == choice_kind::value || kind == choice_kind::write_back ||
         kind == choice_kind::message;
}

/// Errors   std::logic_error – a choice is now one of `n`, and was one of `before`
inline void check_choice(std::size_t position, std::uint64_t execution, unsigned n,
                         unsigned before) {
  if (n != before)
    throw std::logic_error(
        fmt::format("choice {} of execution {} is one of {}, it was one of {} before: the program "
                    "depends on more than its choices",
                    position, execution, n, before));
}

/// Errors   std::logic_error – the execution has ended after fewer choices than it was to replay
inline void check_replayed(std::size_t choices, std::uint64_t execution, std::size_t replayed) {
  if (choices < replayed)
    throw std::logic_error(fmt::format(
        "execution {} ended after {} choices, of which it was to replay {}: the program "
        "depends on more than its choices",
        execution, choices, replayed));
}

} // namespace quarry
