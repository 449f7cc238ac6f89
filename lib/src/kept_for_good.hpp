// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace quarry {

/// What nobody may destroy, since a function stands in the midst of it that will never go on: it
/// lives as long as the process. Thread-safe.
template<class T>
T& keep_for_good(T what) {
  // Never destroyed, and reachable: for a leak checker it is no leak.
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::unique_ptr<T>>;
  std::lock_guard const lock(mutex);
  return *all.emplace_back(std::make_unique<T>(std::move(what)));
}

} // namespace quarry
