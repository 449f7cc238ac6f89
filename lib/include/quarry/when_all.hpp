// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/nursery.hpp>
#include <quarry/this_actor.hpp>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace quarry {

/// What stands for a task's result in a tuple: std::monostate for void.
template<class T>
using when_all_value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Runs the tasks side by side, as actors on the caller's strand, and returns all results:
/// `auto [a, b] = co_await when_all(first(), second());`. They are started in order, and named
/// after the caller with an index: "wavefront 3/0".
///
/// Suspends until all have ended
/// Errors   the first exception that one of them threw, after all have ended
template<class... T>
[[nodiscard]] task<std::tuple<when_all_value<T>...>> when_all(task<T>... tasks);

/// The same for any number of tasks of one type.
template<class T>
[[nodiscard]] task<std::vector<when_all_value<T>>> when_all(std::vector<task<T>> tasks);

// Implementation

/// `into` outlives the task: it is in the frame of when_all(), which joins.
template<class T>
[[nodiscard]] task<> store_result(task<T> from, std::optional<when_all_value<T>>& into) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(from);
    into.emplace();
  } else {
    into.emplace(co_await std::move(from));
  }
}

template<class... T>
task<std::tuple<when_all_value<T>...>> when_all(task<T>... tasks) {
  actor& self = co_await this_actor();
  std::tuple<std::optional<when_all_value<T>>...> results;
  nursery children;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (children.start(*self.home, store_result<T>(std::move(tasks), std::get<I>(results)),
                    self.name() + "/" + std::to_string(I)),
     ...);
  }(std::index_sequence_for<T...>());
  co_await children.join();
  co_return std::apply(
      [](auto&... value) { return std::tuple<when_all_value<T>...>(std::move(*value)...); },
      results);
}

template<class T>
task<std::vector<when_all_value<T>>> when_all(std::vector<task<T>> tasks) {
  actor& self = co_await this_actor();
  std::vector<std::optional<when_all_value<T>>> results(tasks.size());
  nursery children;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    children.start(*self.home, store_result<T>(std::move(tasks[i]), results[i]),
                   self.name() + "/" + std::to_string(i));
  co_await children.join();
  std::vector<when_all_value<T>> values;
  values.reserve(results.size());
  for (auto& value : results)
    values.push_back(std::move(*value));
  co_return values;
}

} // namespace quarry
