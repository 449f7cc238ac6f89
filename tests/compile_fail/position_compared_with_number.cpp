// SPDX-License-Identifier: Apache-2.0
// As an extent, 0 is (0, 1, 1): a position never is that.
#include <quarry/emu/grid.hpp>

bool is_first(quarry::emu::extent position) {
#ifdef CONTROL
  return position.x == 0;
#else
  return position == 0;
#endif
}
