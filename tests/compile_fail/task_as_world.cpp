// SPDX-License-Identifier: Apache-2.0
// A coroutine as a world function would be dropped before it has run.
#include <quarry/emu/explore.hpp>

bool outer() {
#ifdef CONTROL
  return bool(quarry::explore({}, [](quarry::world& w) { w.join(); }));
#else
  return bool(quarry::explore({}, [](quarry::world& w) -> quarry::task<> {
    w.join();
    co_return;
  }));
#endif
}
