// SPDX-License-Identifier: Apache-2.0
#include <quarry/actor.hpp>
#include <quarry/debug_root.hpp>
#include <quarry/task.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

// Conditionally supported for types with virtual functions: g++ and clang both do.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace quarry {

static_assert(sizeof(debug_root) == 160, "raise debug_root::version, and tell quarry-gdb.py");
static_assert(sizeof(std::source_location) == sizeof(void*));
static_assert(sizeof(std::coroutine_handle<>) == sizeof(void*));
static_assert(offsetof(wait_reason, where) == 8 && offsetof(wait_reason, on) == 16);

extern "C" {
// NOLINTNEXTLINE(*-non-const-global-variables)
constinit debug_root quarry_debug_root{
    .executors = {},
    .layout = {.actor_leaf = offsetof(actor, leaf),
               .actor_state = offsetof(actor, state),
               .actor_reason = offsetof(actor, reason),
               .actor_fiber = offsetof(actor, fiber),
               .actor_number = offsetof(actor, number),
               .promise_self = offsetof(promise_base, self),
               .promise_continuation = offsetof(promise_base, continuation),
               .promise_awaits_at = offsetof(promise_base, awaits_at)},
    .filter = {},
};

// Neither inlined nor folded with each other: debuggers put breakpoints here.
[[gnu::noinline, gnu::used]] void quarry_debug_stop() {
  asm volatile("" ::: "memory");
}
[[gnu::noinline, gnu::used]] void quarry_debug_failure() {
  asm volatile("nop" ::: "memory");
}
}

#pragma GCC diagnostic pop

namespace {

constinit std::mutex root_mutex; // NOLINT(*-non-const-global-variables)

void stop(debug_executor& e, actor* who, std::uint64_t decision, debug_reason why) {
  debug_root& root = quarry_debug_root;
  root.why = why;
  root.where = &e;
  root.who = who;
  root.decision = decision;
  quarry_debug_stop();
}

struct access {
  actor const* who;
  std::uint64_t execution;
  std::uint64_t decision;
  bool operator==(access const&) const = default;
};
/// Stopped at.
constinit access last_access{}; // NOLINT(*-non-const-global-variables)

bool is_this_execution(debug_executor const& e) {
  std::uint64_t const asked = quarry_debug_root.filter.execution;
  return asked == 0 || asked == e.executions;
}

} // namespace

void announce(debug_executor& e) {
  std::lock_guard const lock(root_mutex);
  quarry_debug_root.executors.push_back(e);
}

void withdraw(debug_executor& e) noexcept {
  std::lock_guard const lock(root_mutex);
  quarry_debug_root.executors.remove(e);
}

void debug_decision(debug_executor& e, actor* who, std::uint64_t decision) {
  debug_filter& filter = quarry_debug_root.filter;
  if (!is_this_execution(e))
    return;
  bool const is_asked_for =
      (filter.decision != 0 && decision == filter.decision) ||
      (filter.actor != 0 && filter.decision == 0 && who != nullptr && who->number == filter.actor);
  if (is_asked_for)
    stop(e, who, decision, who == nullptr ? debug_reason::choice : debug_reason::decision);
  // After the stop, which may be the one that the noted decision is wanted at.
  if (filter.noted != 0 && who != nullptr && who->number == filter.noted)
    filter.noted_decision = decision;
}

void debug_access(debug_executor& e, actor& who, void const* at, std::size_t bytes) {
  debug_filter const& filter = quarry_debug_root.filter;
  auto const first = reinterpret_cast<std::uintptr_t>(at);
  bool const is_asked_for = bytes != 0 && first < filter.address + filter.bytes &&
                            filter.address < first + bytes && is_this_execution(e);
  std::uint64_t const decision = e.decisions == nullptr ? 0 : *e.decisions + 1;
  access const now{&who, e.executions, decision};
  if (is_asked_for && std::exchange(last_access, now) != now) // of lanes the first one, then all
    stop(e, &who, decision, debug_reason::access);
}

void debug_failure(char const* kind, char const* where) {
  std::lock_guard const lock(root_mutex); // explorations on several threads: one at a time
  quarry_debug_root.failure_kind = kind;
  quarry_debug_root.failure_where = where;
  quarry_debug_failure();
}

void debug_slice_end(debug_executor& e, actor& who, std::uint64_t decision) {
  debug_filter const& filter = quarry_debug_root.filter;
  if (filter.actor == 0 || filter.decision != 0 || who.number != filter.actor ||
      !is_this_execution(e))
    return;
  stop(e, &who, decision,
       who.state == actor_state::done ? debug_reason::ended : debug_reason::waits);
}

} // namespace quarry
