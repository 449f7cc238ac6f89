// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/fiber.hpp>
#include <quarry/sanitizers.hpp>

#include <cstddef>

namespace quarry {

/// Executions of a world that fails may leave actors that nobody can unwind, each on a stack that
/// nobody gets back: so many, and a process has no room for more.
class stack_allowance {
public:
  [[nodiscard]] bool is_used_up() const noexcept { return is_beyond(most); }
  [[nodiscard]] bool is_half_used() const noexcept { return is_beyond(most / 2); }

private:
  static constexpr std::size_t most = QUARRY_ASAN || QUARRY_TSAN ? 64 : 2'000;
  static constexpr std::size_t most_in_process = 16'000; // two mappings each, of 65 530

  [[nodiscard]] bool is_beyond(std::size_t more) const noexcept {
    std::size_t const now = execution_fiber::mapped_count();
    return now > at_first_ + more || now > most_in_process;
  }

  std::size_t at_first_ = execution_fiber::mapped_count();
};

} // namespace quarry
