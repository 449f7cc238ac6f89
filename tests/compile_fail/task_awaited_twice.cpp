// SPDX-License-Identifier: Apache-2.0
// Awaiting uses a task up, and says so: it takes an rvalue.
#include <quarry/task.hpp>

#include <utility>

quarry::task<int> twice(quarry::task<int> one) {
#ifdef CONTROL
  co_return co_await std::move(one);
#else
  co_return co_await one;
#endif
}
