// SPDX-License-Identifier: Apache-2.0
// The only file that sees Boost.Context.
#include "kept_for_good.hpp"

#include <quarry/assert.hpp>
#include <quarry/fiber.hpp>
#include <quarry/sanitizers.hpp>

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <atomic>
#include <cstring>
#include <cxxabi.h>
#include <deque>
#include <utility>
#include <vector>

#if QUARRY_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if QUARRY_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace quarry {
namespace {

namespace context = boost::context;

#if QUARRY_ASAN || QUARRY_TSAN || !defined(__OPTIMIZE__)
constexpr std::size_t stack_bytes = 1024 * 1024;
#else
constexpr std::size_t stack_bytes = 256 * 1024;
#endif

/// The two words of exception state that the C++ ABI keeps per thread (__cxa_eh_globals).
struct exception_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

// At a fixed place from the thread's pointer also in a shared library: a switch costs no call.
[[gnu::tls_model("initial-exec")]] constinit thread_local exception_state* of_thread = nullptr;

// Not inlined: a fiber may wake on another thread, where an address that the compiler kept would
// belong to the old one.
[[gnu::noinline]] exception_state* current_exceptions() {
  asm volatile("");
  if (of_thread == nullptr) [[unlikely]]
    of_thread = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
  return of_thread;
}

/// One side of a switch: where to go on, and what belongs to that place.
struct place {
  context::detail::fcontext_t rest = nullptr; ///< valid while nobody runs here
  exception_state exceptions{};
  void const* stack_bottom = nullptr; ///< for ASan; of a thread it is learnt at the first switch
  std::size_t stack_size = 0;
  void* fake_stack = nullptr;
  void* tsan = nullptr;
};

// Always inlined: TSan keeps a shadow of the call stack per fiber, and this function's own return
// would be taken off the new fiber's, which may be empty.
[[gnu::always_inline]] inline void announce_leaving([[maybe_unused]] place& from,
                                                    [[maybe_unused]] place& to) {
#if QUARRY_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_size);
#endif
#if QUARRY_TSAN
  from.tsan =
      __tsan_get_current_fiber(); // of the innermost fiber, which need not be the place's own
  __tsan_switch_to_fiber(to.tsan, 0);
#endif
}

/// `arrived` is where we are, `left` where we came from: of a thread ASan tells its stack then.
void announce_arrival([[maybe_unused]] place& arrived, [[maybe_unused]] place& left) {
#if QUARRY_ASAN
  __sanitizer_finish_switch_fiber(arrived.fake_stack, &left.stack_bottom, &left.stack_size);
#endif
}

#if QUARRY_ASAN
/// The fake stack of a fiber that never goes on. ASan lets go only that of who leaves for good: to
/// it, it looks as if this thread went there once more, and left.
__attribute__((no_sanitize("address"))) void let_go_of_fake_stack(place const& there) {
  void* own = nullptr;
  void const* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_start_switch_fiber(&own, there.stack_bottom, there.stack_size);
  __sanitizer_finish_switch_fiber(there.fake_stack, &bottom, &size);
  __sanitizer_start_switch_fiber(nullptr, bottom, size);
  __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
}
#endif

std::atomic<std::size_t> mapped_stacks{0};

} // namespace

struct execution_fiber::state {
  place inside; ///< the fiber, or the innermost fiber on top of it, while it is suspended
  place* outside = nullptr; ///< whoever called resume(), while the fiber runs
  void (*job)(void*) = nullptr;
  void* argument = nullptr;
  [[maybe_unused]] void* own_tsan = nullptr;
  context::protected_fixedsize_stack stacks{stack_bytes};
  context::stack_context stack = stacks.allocate();

  state() {
    mapped_stacks.fetch_add(1, std::memory_order_relaxed);
#if QUARRY_TSAN
    own_tsan = inside.tsan = __tsan_create_fiber(0);
#endif
    inside.rest = context::detail::make_fcontext(stack.sp, stack.size, &begin);
    inside.stack_bottom = static_cast<std::byte*>(stack.sp) - stack.size;
    inside.stack_size = stack.size;
  }

  /// Where the fiber begins, at its first resume().
  static void begin(context::detail::transfer_t from) {
    auto* const arrival = static_cast<journey*>(from.data);
    state& self = *arrival->to_state;
    arrive(self.inside, from);
    *current_exceptions() = {};
    self.run_jobs();
  }

  [[noreturn]] void run_jobs() {
    for (;;) {
      job(argument);
      job = nullptr;
      leave();
    }
  }

  /// What whoever goes away hands to whoever goes on.
  struct journey {
    place* from;
    state* to_state;
  };
  /// From another place, where somebody goes on later.
  static void arrive(place& here, context::detail::transfer_t const& from) {
    place& left = *static_cast<journey*>(from.data)->from;
    left.rest = from.fctx;
    announce_arrival(here, left);
  }

  /// Saves this place as `from` and goes on at `to`, of the fiber `to_state` or outside of it;
  /// returns when somebody goes back to `from`.
  [[gnu::always_inline]] static void go(place& from, place& to, state& to_state) {
    from.exceptions = *current_exceptions();
    announce_leaving(from, to);
    journey away{&from, &to_state};
    arrive(from, context::detail::jump_fcontext(std::exchange(to.rest, nullptr), &away));
    *current_exceptions() = from.exceptions;
  }

  void enter() {
    place here;
    outside = &here;
    go(here, inside, *this);
  }
  void leave() { go(inside, *outside, *this); }
  /// Whoever is outside of this fiber is outside of that one from then on.
  void leave_for(state& next) {
    next.outside = outside;
    go(inside, next.inside, next);
  }
};

execution_fiber::execution_fiber() : state_(std::make_unique<state>()) {
  // Debuggers find a suspended fiber's registers so: a fiber points to its state, whose first word
  // points to what make_fcontext() and jump_fcontext() push (quarry-gdb.py).
  static_assert(sizeof(execution_fiber) == sizeof(void*));
  QUARRY_ASSERT(static_cast<void*>(&state_->inside.rest) == state_.get());
}

execution_fiber::~execution_fiber() {
  if (state_ == nullptr)
    return;
  if (!is_idle()) { // its frames are still alive: unmapping them would be worse
#if QUARRY_ASAN
    __lsan_register_root_region(static_cast<std::byte*>(state_->stack.sp) - state_->stack.size,
                                state_->stack.size);
#endif
    keep_for_good(std::move(state_));
    return;
  }
#if QUARRY_ASAN
  let_go_of_fake_stack(state_->inside);
#endif
#if QUARRY_TSAN
  __tsan_destroy_fiber(state_->own_tsan);
#endif
  state_->stacks.deallocate(state_->stack);
  mapped_stacks.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t execution_fiber::mapped_count() noexcept {
  return mapped_stacks.load(std::memory_order_relaxed);
}

void execution_fiber::start(void (*job)(void*), void* argument) noexcept {
  QUARRY_ASSERT(is_idle());
  state_->job = job;
  state_->argument = argument;
}

bool execution_fiber::resume() {
  state& s = *state_;
  s.enter();
  return s.job == nullptr;
}

void execution_fiber::suspend() {
  state_->leave();
}

void execution_fiber::switch_to(execution_fiber& next) {
  QUARRY_ASSERT(&next != this && !next.is_idle());
  state_->leave_for(*next.state_);
}

bool execution_fiber::is_idle() const noexcept {
  return state_->job == nullptr;
}

struct fiber_pool::state {
  std::deque<execution_fiber> all;
  std::vector<execution_fiber*> idle;
};

fiber_pool::fiber_pool() : state_(std::make_unique<state>()) {}
fiber_pool::~fiber_pool() = default;

execution_fiber& fiber_pool::take() {
  if (state_->idle.empty()) {
    // Room for its return is made now: give_back() must not throw.
    state_->idle.reserve(state_->all.size() + 1);
    return state_->all.emplace_back();
  }
  execution_fiber& fiber = *state_->idle.back();
  state_->idle.pop_back();
  return fiber;
}

void fiber_pool::give_back(execution_fiber& fiber) noexcept {
  if (fiber.is_idle())
    state_->idle.push_back(&fiber);
}

bool fiber_pool::has_idle() const noexcept {
  return !state_->idle.empty();
}

std::size_t fiber_pool::created_count() const noexcept {
  return state_->all.size();
}

} // namespace quarry
