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

/// A word that says, by some of its bits, that a wait is in vain: the pe that is waited for does
/// something else.
struct contradiction {
  emu::global<std::uint64_t const> at{};
  std::uint64_t mask = 0; ///< 0: there is none
  std::uint64_t value = 0;
};

/// Where a work-group that waits learns that the job has failed, and how it looks there.
struct failure_word {
  emu::global<std::uint32_t const> at;
  emu::access order;
};

/// Waits for a word of the symmetric heap that others put to; or for the job to fail, or for a
/// contradiction: then nobody would ever put there. `co_await` gives the word, and how it ended.
///
/// `order` is shmem_orders::wait: what arrives is written by the network.
template<class A, shmem::atomic_word T>
class [[nodiscard]] heap_wait {
public:
  enum class ending : std::uint8_t { met, failed, contradicted };
  struct outcome {
    T value;
    ending how;
  };

  heap_wait(A& self, emu::global<T const> at, shmem::comparison how, T than, emu::access order,
            failure_word const& failed, contradiction const& against, std::source_location where)
      : self_(self), at_(at), failed_(failed), against_(against), how_(how), than_(than),
        order_(order), where_(where) {}
  // Awaited where it was made: the actor keeps its address while it polls.
  heap_wait(heap_wait const&) = delete;

  bool await_ready() { return ask(this); }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    h.promise().self->poll_for("wait_until", where_, at_.get(), &ask, this);
  }
  [[nodiscard]] outcome await_resume() const noexcept { return got_; }

private:
  static bool ask(void* w) { return static_cast<heap_wait*>(w)->is_over(); }
  bool is_over() {
    got_.value = self_.load(at_, order_, where_);
    got_.how = ending::met;
    if (shmem::holds(got_.value, how_, than_))
      return true;
    got_.how = ending::contradicted;
    if (against_.mask != 0 &&
        (self_.load(against_.at, emu::order::relaxed, emu::scope::system, where_) &
         against_.mask) == against_.value)
      return true;
    got_.how = ending::failed;
    return self_.load(failed_.at, failed_.order, where_) != 0;
  }

  A& self_;
  emu::global<T const> at_;
  failure_word failed_;
  contradiction against_;
  shmem::comparison how_;
  T than_;
  emu::access order_;
  std::source_location where_;
  outcome got_{};
};

} // namespace quarry::net::comp_net
