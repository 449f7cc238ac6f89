// SPDX-License-Identifier: Apache-2.0
// The step of an index is part of its type: a number that is known only at run time makes values.
#include <quarry/emu/affine.hpp>
#include <quarry/emu/lanes.hpp>

using index = quarry::emu::affine<int, 64, 1, 64>;

auto strided(index i, int step) {
#ifdef CONTROL
  return i.to_lanes() * step;
#else
  return i * step;
#endif
}
