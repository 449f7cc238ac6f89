// SPDX-License-Identifier: Apache-2.0
// A mask without a name is restored before the block that it is for.
#include <quarry/emu/where.hpp>

quarry::emu::mask_scope narrow();

int block() {
#ifdef CONTROL
  if (auto const active = narrow())
#else
  if (narrow())
#endif
    return 1;
  return 0;
}
