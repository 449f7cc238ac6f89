// SPDX-License-Identifier: Apache-2.0
// A coroutine as an actor's plain function would be dropped before it has run.
#include <quarry/emu/explore.hpp>

void outer(quarry::world& w) {
  auto const body = [](quarry::world_core& self) -> quarry::task<> {
    static_cast<void>(self);
    co_return;
  };
#ifdef CONTROL
  w.start_task("reader", body);
#else
  w.start("reader", body);
#endif
}
