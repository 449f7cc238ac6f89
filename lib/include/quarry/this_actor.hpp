// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>

namespace quarry {

/// `actor& self = co_await this_actor();` – the actor that runs the calling task.
///
/// Suspends never
class [[nodiscard]] this_actor {
public:
  this_actor() noexcept {} // NOLINT(*-equals-default): g++ 12 mistreats aggregates that are awaited

  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) noexcept {
    self_ = caller.promise().self;
    return false;
  }
  actor& await_resume() const noexcept { return *self_; }

private:
  actor* self_ = nullptr;
};

} // namespace quarry
