// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstdint>
#include <vector>

namespace quarry {

/// What one or more steps of an execution have done: their effects together.
struct footprint {
  std::vector<std::uint64_t> words; ///< that were accessed; sorted, each once
  bool publishes = false;
  bool acquires = false;
  bool is_any = false;

  void add(effect const& e);
  void clear() noexcept;
  /// Two have to do with each other if they access the same word, if one acquires and the other
  /// publishes, or if one of them may concern everybody.
  [[nodiscard]] bool has_to_do_with(footprint const& other) const noexcept;
};

} // namespace quarry
