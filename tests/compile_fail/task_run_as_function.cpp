// SPDX-License-Identifier: Apache-2.0
// A coroutine as a host function would be dropped before it has run.
#include <quarry/sequential_scheduler.hpp>

quarry::task<> work();

void outer(quarry::sequential_scheduler& s) {
#ifdef CONTROL
  s.run([] { static_cast<void>(work()); });
#else
  s.run([] { return work(); });
#endif
}
