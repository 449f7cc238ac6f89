// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>

#include <concepts>
#include <cstdint>
#include <string>

namespace quarry::net {

/// "pe 1, pe 2": those of so many for which `are_meant(number)`.
template<std::predicate<std::uint32_t> F>
[[nodiscard]] std::string named_pes(std::uint32_t count, F const& are_meant) {
  std::string names;
  for (std::uint32_t id = 0; id < count; ++id)
    if (are_meant(id)) {
      if (!names.empty())
        names += ", ";
      names += to_string(pe{id});
    }
  return names;
}

} // namespace quarry::net
