// SPDX-License-Identifier: Apache-2.0
// Why a node has failed, and who is asked whether they are there before it does.
#include "engine.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace quarry::net::shmem {
namespace {

using clock = std::chrono::steady_clock;

} // namespace

void engine::fail(error e, told whom) {
  {
    std::lock_guard const lock(error_mutex_);
    if (first_error_)
      return;
    first_error_ = e;
  }
  {
    std::lock_guard const lock(mutex_); // nobody writes into what a caller waits for any more
    failed_.store(true, std::memory_order_release);
  }
  if (whom == told::everybody) {
    message m{.kind = message_kind::failure};
    bool const is_ours = e.code.category() == net_category();
    m.value = static_cast<std::uint64_t>(is_ours ? e.code.value() : int(net_errc::peer_lost));
    auto const text =
        std::as_bytes(std::span(e.what)).first(std::min<std::size_t>(e.what.size(), 4096));
    for (std::uint32_t id = 0; id < count_; ++id)
      if (id != self_.id)
        post(pe{id}, m, text);
  }
  region_->arrivals.ring();
  scheduler_.notify();
}

std::optional<error> engine::failure() const {
  std::lock_guard const lock(error_mutex_);
  bool const is_over = first_error_ && first_error_->code == net_errc::already_finished;
  return is_over ? std::nullopt : first_error_;
}

error engine::failed(operation const& what) const {
  error e = [this] {
    std::lock_guard const lock(error_mutex_);
    return *first_error_;
  }();
  std::string_view cause = e.what;
  if (constexpr std::string_view ours = "shmem: "; cause.starts_with(ours))
    cause.remove_prefix(ours.size());
  e.what = fmt::format("shmem: {}{}: {}", what.name,
                       what.target ? " to " + to_string(*what.target) : "", cause);
  return e;
}

std::string engine::silent_pes() const {
  std::string silent;
  for (std::uint32_t id = 0; id < count_; ++id)
    if (id != self_.id && !peers_[id].is_heard.load(std::memory_order_relaxed))
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", to_string(pe{id}));
  return silent;
}

error engine::timed_out(operation const& what, std::string_view why) {
  std::string const to = what.target ? " to " + to_string(*what.target) : "";
  fail(make_error(net_errc::timeout,
                  fmt::format("{} waits in {}{}: {}", to_string(self_), what.name, to, why)),
       told::everybody);
  return failed(what);
}

/// Several may ask: answers have half of the timeout, whoever it was that asked.
bool engine::watch(std::string_view what, std::optional<pe> on, std::chrono::nanoseconds waited) {
  auto const half = std::chrono::duration_cast<clock::duration>(options_.timeout) / 2;
  if (decides_ || waited < half || has_failed())
    return false;
  auto const give_up = [&](net_errc code, std::string_view why) {
    fail(make_error(code, fmt::format("{} waits in {}: {}", to_string(self_), what, why)),
         told::everybody);
    return true;
  };
  auto const asked =
      clock::now().time_since_epoch() - clock::duration(asked_at_.load(std::memory_order_relaxed));
  if (asked < half)
    return false;
  // What it has sent before has been there for long.
  if (on && peers_[on->id].was_leaving.load(std::memory_order_relaxed))
    return give_up(net_errc::mismatched_collective, "it has called finish()");
  if (auto const why = asked <= 2 * half ? overdue(waited) : std::nullopt)
    return give_up(net_errc::timeout, *why);
  ask_everybody();
  return true;
}

std::optional<std::string> engine::overdue(std::chrono::nanoseconds waited) const {
  if (waited < options_.timeout)
    return {};
  if (std::string const silent = silent_pes(); !silent.empty())
    return fmt::format("not over after {} ms; no word from {}", options_.timeout.count(), silent);
  auto const moved =
      clock::now().time_since_epoch() - clock::duration(moved_at_.load(std::memory_order_relaxed));
  auto const longest = patience * options_.timeout;
  if (std::min<std::chrono::nanoseconds>(waited, moved) < longest)
    return {};
  return fmt::format("every pe answers, but none has begun an operation for {} ms; if one computes "
                     "for so long, the timeout is too short",
                     longest.count());
}

/// Who does not answer is named when the time is up.
void engine::ask_everybody() {
  auto const now = clock::now().time_since_epoch();
  clock::duration const before(asked_at_.exchange(now.count(), std::memory_order_relaxed));
  bool const is_first = now - before > options_.timeout; // what was counted then says nothing
  for (std::uint32_t id = 0; id < count_; ++id) {
    peer& p = peers_[id];
    p.was_leaving.store(p.is_leaving.load(std::memory_order_relaxed), std::memory_order_relaxed);
    if (is_first)
      p.is_counted.store(false, std::memory_order_relaxed);
    auto const* const memory = id == self_.id ? region_.get() : p.memory.get();
    if (memory != nullptr) { // in this process: it cannot go without a word
      bool const is_leaving = memory->is_leaving.load(std::memory_order_acquire);
      take_news(p, memory->operations.load(std::memory_order_relaxed), is_leaving);
      continue;
    }
    p.is_heard.store(false, std::memory_order_relaxed);
    post(pe{id}, {.kind = message_kind::ping}, {});
  }
}

void engine::take_news(peer& p, std::uint64_t operations, bool is_leaving) noexcept {
  p.is_leaving.store(is_leaving, std::memory_order_relaxed);
  std::uint64_t const before = p.operations.exchange(operations, std::memory_order_relaxed);
  if (p.is_counted.exchange(true, std::memory_order_relaxed) && operations != before)
    moved_at_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

} // namespace quarry::net::shmem
