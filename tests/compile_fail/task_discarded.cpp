// SPDX-License-Identifier: Apache-2.0
// A task that nobody awaits never runs: dropping one is a mistake.
#include <quarry/task.hpp>

quarry::task<> work();

quarry::task<> outer() {
#ifdef CONTROL
  co_await work();
#else
  work();
  co_return;
#endif
}
