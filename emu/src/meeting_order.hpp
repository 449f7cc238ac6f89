// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/work_group.hpp>

#include <compare>
#include <cstring>
#include <source_location>
#include <string_view>
#include <tuple>

namespace quarry::emu {

/// Equal for the same place in the source.
[[nodiscard]] inline std::strong_ordering compare(std::source_location const& a,
                                                  std::source_location const& b) noexcept {
  if (auto const by_line = std::tuple(a.line(), a.column()) <=> std::tuple(b.line(), b.column());
      by_line != 0)
    return by_line;
  return a.file_name() == b.file_name() // the same literal, mostly
             ? std::strong_ordering::equal
             : std::strcmp(a.file_name(), b.file_name()) <=> 0;
}

/// Equal for one meeting at one place. Among several, the order in which they are completed, in
/// which lanes of every wavefront are served: it must be the same for all, and in each execution.
[[nodiscard]] inline std::strong_ordering compare(diverged_place const& a,
                                                  diverged_place const& b) noexcept {
  auto const by_line = std::tuple(a.where.line(), a.where.column(), a.what->what) <=>
                       std::tuple(b.where.line(), b.where.column(), b.what->what);
  if (by_line != 0)
    return by_line;
  if (auto const by_file = compare(a.where, b.where); by_file != 0)
    return by_file;
  return a.what == b.what ? std::strong_ordering::equal
                          : std::string_view(a.what->values->name()) <=> b.what->values->name();
}

} // namespace quarry::emu
