// SPDX-License-Identifier: Apache-2.0
// A guard without a name is given back before the block that it is for.
#include <quarry/mutex.hpp>

int block(quarry::mutex& m) {
#ifdef CONTROL
  if (auto const held = m.try_lock())
#else
  if (m.try_lock())
#endif
    return 1;
  return 0;
}
