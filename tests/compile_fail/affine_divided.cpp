// SPDX-License-Identifier: Apache-2.0
// A quotient of an index is no index: whoever wants the values says so.
#include <quarry/emu/affine.hpp>
#include <quarry/emu/lanes.hpp>

using index = quarry::emu::affine<int, 64, 1, 64>;

auto half(index i) {
#ifdef CONTROL
  return i.to_lanes() / 2;
#else
  return i / 2;
#endif
}
