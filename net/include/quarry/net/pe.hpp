// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace quarry::net {

/// A processing element: one participant of a job, numbered 0 … job::pe_count - 1.
///
/// Source   OpenSHMEM 1.5 §4 (PE); dCUDA calls it a rank when it is a work-group
struct pe {
  std::uint32_t id = 0;

  friend auto operator<=>(pe const&, pe const&) = default;

  /// "pe 3": how a pe is named in every report.
  friend std::string to_string(pe who) { return "pe " + std::to_string(who.id); }
  friend std::ostream& operator<<(std::ostream& out, pe who) { return out << to_string(who); }
};

} // namespace quarry::net

template<>
struct std::hash<quarry::net::pe> {
  std::size_t operator()(quarry::net::pe who) const noexcept {
    return std::hash<std::uint32_t>{}(who.id);
  }
};
