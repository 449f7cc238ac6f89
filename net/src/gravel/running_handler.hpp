// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <stdexcept>

namespace quarry::net::gravel {

/// Stands while a handler runs on this thread, which is in its node's network interface: what waits
/// for any node then waits for ever.
class running_handler {
public:
  running_handler() noexcept { ++on_this_thread; }
  running_handler(running_handler const&) = delete;
  running_handler& operator=(running_handler const&) = delete;
  ~running_handler() { --on_this_thread; }

  /// Errors   std::logic_error – `call`, which waits, is made by a handler
  static void refuse(char const* call) {
    if (on_this_thread != 0)
      throw std::logic_error(fmt::format("{} is called by a handler, which must not wait", call));
  }

private:
  static inline thread_local unsigned on_this_thread = 0;
};

} // namespace quarry::net::gravel
