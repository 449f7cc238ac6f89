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

/// Words of the symmetric heap, one after the other, any of which is to compare so.
template<shmem::atomic_word T>
struct awaited_words {
  emu::global<T const> at;
  shmem::comparison how;
  T than;
  std::uint32_t count = 1;
  std::uint32_t first = 0; ///< looked at before the others: the one that counts, if several do
};

/// Waits for words of the symmetric heap that others put to; or for the job to fail, or for a
/// contradiction: then nobody would ever put there. `co_await` gives the word, and how it ended.
///
/// `order` is shmem_orders::wait: what arrives is written by the network.
template<class A, shmem::atomic_word T>
class [[nodiscard]] heap_wait {
public:
  enum class ending : std::uint8_t { met, failed, contradicted };
  struct outcome {
    T value;
    std::uint32_t index; ///< of the word
    ending how;
  };

  heap_wait(A& self, awaited_words<T> const& words, emu::access order, failure_word const& failed,
            contradiction const& against, std::source_location where)
      : self_(self), words_(words), failed_(failed), against_(against), order_(order),
        where_(where) {}
  // Awaited where it was made: the actor keeps its address while it polls.
  heap_wait(heap_wait const&) = delete;

  bool await_ready() { return ask(this); }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    void const* const on = words_.count == 1 ? words_.at.get() : nullptr; // one of many has no name
    h.promise().self->poll_for("wait_until", where_, on, &ask, this);
  }
  [[nodiscard]] outcome await_resume() const noexcept { return got_; }

private:
  static bool ask(void* w) { return static_cast<heap_wait*>(w)->is_over(); }
  bool is_over() {
    got_.how = ending::met;
    for (std::uint32_t i = 0; i < words_.count; ++i) {
      got_.index = static_cast<std::uint32_t>((std::uint64_t{words_.first} + i) % words_.count);
      got_.value = self_.load(words_.at + got_.index, order_, where_);
      if (shmem::holds(got_.value, words_.how, words_.than))
        return true;
    }
    got_.how = ending::contradicted;
    if (against_.mask != 0 &&
        (self_.load(against_.at, emu::order::relaxed, emu::scope::system, where_) &
         against_.mask) == against_.value)
      return true;
    got_.how = ending::failed;
    return self_.load(failed_.at, failed_.order, where_) != 0;
  }

  A& self_;
  awaited_words<T> words_;
  failure_word failed_;
  contradiction against_;
  emu::access order_;
  std::source_location where_;
  outcome got_{};
};

} // namespace quarry::net::comp_net
