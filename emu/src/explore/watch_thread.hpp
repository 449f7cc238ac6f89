// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace quarry {

/// What wants to be looked at now and then while it is listed.
class watched_regularly {
public:
  /// On the thread of the process that does so; at most once in `between`, of the time that this
  /// thread has waited: that in which a debugger holds the process does not count.
  virtual void look() = 0;
  watched_regularly(watched_regularly const&) = delete;
  watched_regularly& operator=(watched_regularly const&) = delete;

protected:
  watched_regularly() = default;
  ~watched_regularly() = default;
};

/// The one thread of the process that looks at what is listed. It stays when nothing is: a thread
/// costs four times as much as a short exploration. While a fork() is under way there is none. The
/// child begins with an empty list.
///
/// Errors   without threads, or where a debugger has started the process, nobody looks
namespace watch_thread {

/// Borrowed, until it is removed.
void add(watched_regularly& what, std::chrono::microseconds between);
/// Nobody looks at it any more when this returns.
void remove(watched_regularly const& what) noexcept;

} // namespace watch_thread
} // namespace quarry
