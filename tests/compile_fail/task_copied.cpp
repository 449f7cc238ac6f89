// SPDX-License-Identifier: Apache-2.0
// A task has one owner.
#include <quarry/task.hpp>

#include <utility>

quarry::task<int> pass(quarry::task<int>& one) {
#ifdef CONTROL
  return std::move(one);
#else
  return one;
#endif
}
