// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/scope.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <source_location>
#include <utility>

namespace quarry::emu {

/// Parks the actor that runs, in mid-function, until `ask(argument)` says yes.
void wait_on_fiber(cache_port const& port, bool (*ask)(void*), void* argument, void const* on,
                   std::source_location where);

/// Waits until a value in memory satisfies a predicate. Made by wait_until().
template<class T, class Predicate>
class [[nodiscard]] memory_wait {
public:
  memory_wait(global<T const> at, Predicate is_met, order o, scope s, std::source_location where,
              cache_port const* port)
      : at_(at), is_met_(std::move(is_met)), order_(o), scope_(s), where_(where), port_(port) {}
  // Awaited at once, where it was made: the actor keeps its address while it polls.
  memory_wait(memory_wait const&) = delete;

  bool await_ready() { return ask(this) && take(this); }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) {
    poll_on(*h.promise().self);
  }
  /// For who waits without a coroutine.
  void poll_on(actor& self) noexcept {
    self.poll_for("wait_until", where_, at_.get(), &ask, this);
    if (port_ != nullptr)
      self.take = &take;
  }
  /// The value that satisfied the predicate; or throws what the predicate has thrown.
  T await_resume() {
    while (!is_taken_ && !take(this)) // since the poll said yes
      wait_on_fiber(*port_, &ask, this, at_.get(), where_);
    if (thrown_) [[unlikely]]
      std::rethrow_exception(thrown_);
    return value_;
  }

private:
  /// Loads the value. False: somebody else has gone on, or it has come to a newer one.
  static bool take(void* w) {
    auto* const self = static_cast<memory_wait*>(w);
    if (self->port_ != nullptr && !self->thrown_)
      self->value_ = self->port_->load_if(self->at_.get(), self->is_met_, self->order_,
                                          self->scope_, self->where_);
    self->is_taken_ = self->port_ == nullptr || self->thrown_ || self->is_met_(self->value_);
    return self->is_taken_;
  }
  /// What the predicate throws ends the wait: whoever polls has nothing to do with it.
  static bool ask(void* w) {
    auto* const self = static_cast<memory_wait*>(w);
    try {
      return self->is_met();
    } catch (...) {
      self->thrown_ = std::current_exception();
      return true;
    }
  }
  bool is_met() {
    if (port_ != nullptr)
      return port_->could_load(at_.get(), is_met_, order_, scope_, where_);
    // Always atomic: a poll may run on the strand's own thread while another strand writes.
    std::atomic_ref<T> const cell(*const_cast<T*>(at_.get()));
    value_ = cell.load(load_order(order_));
    return is_met_(value_);
  }

  global<T const> at_;
  Predicate is_met_;
  T value_{};
  bool is_taken_ = false;
  std::exception_ptr thrown_; ///< by the predicate
  order order_;
  scope scope_;
  std::source_location where_;
  cache_port const* port_;
};

} // namespace quarry::emu
