// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/global.hpp>
#include <quarry/emu/queue_orders.hpp>
#include <quarry/emu/scope.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/task.hpp>

#include <coroutine>
#include <cstdint>
#include <source_location>

namespace quarry::net::comp_net {

/// Waits for a word of the symmetric heap that others put to, or for the job to fail: then nobody
/// would ever put there. `co_await` gives the word, or no_word().
///
/// `order` is shmem_orders::wait: what arrives is written by the network.
template<class A, shmem::atomic_word T>
class [[nodiscard]] heap_wait {
public:
  struct outcome {
    T value;
    bool is_met; ///< false: the job has failed
  };

  heap_wait(A& self, emu::global<T const> at, shmem::comparison how, T than, emu::access order,
            emu::global<std::uint32_t> failed, std::source_location where)
      : self_(self), at_(at), failed_(failed), how_(how), than_(than), order_(order),
        where_(where) {}
  // Awaited where it was made: the actor keeps its address while it polls.
  heap_wait(heap_wait const&) = delete;

  bool await_ready() { return ask(this); }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    h.promise().self->poll_for("wait_until", where_, at_.get(), &ask, this);
  }
  [[nodiscard]] outcome await_resume() const noexcept { return got_; }

private:
  static bool ask(void* w) {
    auto* const self = static_cast<heap_wait*>(w);
    self->got_.value = self->self_.load(self->at_, self->order_, self->where_);
    self->got_.is_met = shmem::holds(self->got_.value, self->how_, self->than_);
    if (self->got_.is_met)
      return true;
    std::uint32_t const failed =
        self->self_.load(self->failed_, emu::order::acquire, emu::scope::system, self->where_);
    return failed != 0;
  }

  A& self_;
  emu::global<T const> at_;
  emu::global<std::uint32_t> failed_;
  shmem::comparison how_;
  T than_;
  emu::access order_;
  std::source_location where_;
  outcome got_{};
};

} // namespace quarry::net::comp_net
