// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace quarry::command {

/// What `run_one(node)`, a result<T>, came to on every node, in the order of the nodes.
/// `run_all(body)` runs a body on all of them, each of which tells the others (`gather_values`).
///
/// Errors   run_all()'s, and run_one()'s
template<class T, class RunAll, class F>
[[nodiscard]] result<std::vector<T>> gather_outcomes_of(RunAll const& run_all, F const& run_one) {
  std::mutex mutex; // nodes of one process are threads
  std::vector<T> everybody;
  auto const body = [&](auto& node) -> result<void> {
    auto const mine = run_one(node);
    if (!mine)
      return mine.error();
    auto all = gather_values(node, *mine);
    if (!all)
      return all.error();
    std::lock_guard const lock(mutex);
    everybody = *std::move(all);
    return {};
  };
  if (auto const done = run_all(body); !done)
    return done.error();
  return everybody;
}

} // namespace quarry::command
