// SPDX-License-Identifier: Apache-2.0
// The step of an index is an int: it would be another one.
#include <quarry/emu/affine.hpp>

#include <cstdint>
#include <type_traits>

using index = quarry::emu::affine<std::int64_t, 64, 1, 64>;

auto far(index i) {
#ifdef CONTROL
  return i * std::integral_constant<std::int64_t, (std::int64_t{1} << 31) - 1>{};
#else
  return i * std::integral_constant<std::int64_t, std::int64_t{1} << 31>{};
#endif
}
