// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/nursery.hpp>
#include <quarry/when_all.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace quarry {

/// Runs `root` as an actor of `s` to its end, and other actors meanwhile; returns its result. For
/// host threads; a coroutine awaits instead.
///
/// Errors   what `root` throws; stall_error – it does not come to an end.
///          `root` is left behind in `s` then, and what it refers to must live as long as `s`
template<class T>
T sync_wait(strand& s, task<T> root, std::string name = "sync_wait");

// Implementation

/// Shares the ownership of the result, which therefore outlives a host that has given up.
template<class T>
[[nodiscard]] task<> store_shared_result(task<T> from,
                                         std::shared_ptr<std::optional<when_all_value<T>>> into) {
  co_await store_result<T>(std::move(from), *into);
}

template<class T>
T sync_wait(strand& s, task<T> root, std::string name) {
  auto const result = std::make_shared<std::optional<when_all_value<T>>>();
  nursery n;
  n.start(s, store_shared_result<T>(std::move(root), result), std::move(name));
  n.wait(s.owner());
  if constexpr (!std::is_void_v<T>)
    return std::move(**result);
}

} // namespace quarry
