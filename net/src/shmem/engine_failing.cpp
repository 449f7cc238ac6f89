// SPDX-License-Identifier: Apache-2.0
// Why a node has failed, and who is asked whether they are there before it does.
#include "../named_pes.hpp"
#include "../told_failure.hpp"
#include "engine.hpp"

#include <quarry/net/error.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace quarry::net::shmem {
namespace {

using clock = std::chrono::steady_clock;

} // namespace

void engine::fail(error const& e, told whom) {
  if (!keep_failure(e))
    return;
  if (whom == told::everybody)
    announce(self_, told_code(e), e.what);
  wake_all();
}

/// What a pe has told: this one tells the others before it goes, so that nobody takes it for the
/// cause.
void engine::take_failure(pe from, message const& m, std::string_view text) {
  pe const origin = m.id < count_ ? pe{static_cast<std::uint32_t>(m.id)} : from;
  auto const code = static_cast<int>(m.value);
  if (!keep_failure({std::error_code(code, net_category()),
                     fmt::format("{} says: {}", to_string(origin), text)}))
    return;
  announce(origin, code, text);
  wake_all();
}

/// False if there is one already.
bool engine::keep_failure(error const& e) {
  {
    std::lock_guard const lock(error_mutex_);
    if (first_error_)
      return false;
    first_error_ = e;
  }
  std::lock_guard const lock(mutex_); // nobody writes into what a caller waits for any more
  failed_.store(true, std::memory_order_release);
  return true;
}

void engine::announce(pe origin, int code, std::string_view text) {
  message m{.kind = message_kind::failure};
  m.id = origin.id;
  m.value = static_cast<std::uint64_t>(code);
  auto const body = std::as_bytes(std::span(text)).first(std::min<std::size_t>(text.size(), 4096));
  for (std::uint32_t id = 0; id < count_; ++id)
    if (id != self_.id && id != origin.id)
      post(pe{id}, m, body);
}

void engine::wake_all() {
  region_->arrivals.ring();
  scheduler_.notify();
}

std::optional<error> engine::failure() const {
  std::lock_guard const lock(error_mutex_);
  bool const is_over = first_error_ && first_error_->code == net_errc::already_finished;
  return is_over ? std::nullopt : first_error_;
}

error engine::failed(char const* name, std::optional<pe> target) const {
  error e = [this] {
    std::lock_guard const lock(error_mutex_);
    return *first_error_;
  }();
  std::string_view cause = e.what;
  if (constexpr std::string_view ours = "shmem: "; cause.starts_with(ours))
    cause.remove_prefix(ours.size());
  e.what = fmt::format("shmem: {}{}: {}", name, target ? " to " + to_string(*target) : "", cause);
  return e;
}

template<class Predicate>
std::string engine::pes_that(Predicate const& are_meant) const {
  return named_pes(count_,
                   [&](std::uint32_t id) { return id != self_.id && are_meant(peers_[id]); });
}

error engine::timed_out(operation const& what, std::string_view why) {
  std::string const to = what.target ? " to " + to_string(*what.target) : "";
  fail(
      make_error(net_errc::timeout, fmt::format("{} waits in {} ({}){}: {}", to_string(self_),
                                                what.name, quarry::to_string(what.where), to, why)),
      told::everybody);
  return failed(what);
}

std::uint64_t engine::watch(std::string_view what, std::optional<pe> on,
                            std::chrono::nanoseconds waited) {
  if (decides_ || has_failed())
    return 0;
  auto const give_up = [&](net_errc code, std::string_view why) {
    fail(make_error(code, fmt::format("{} waits in {}: {}", to_string(self_), what, why)),
         told::everybody);
  };
  if (auto const why = ask_about(waited))
    give_up(net_errc::timeout, *why);
  else if (on && waited >= timeout_ && peers_[on->id].has_left())
    give_up(net_errc::mismatched_collective, "it has called finish()");
  return questions_.load(std::memory_order_relaxed);
}

std::optional<std::string> engine::ask_about(std::chrono::nanoseconds waited) {
  if (waited < timeout_ / 2)
    return {};
  auto const now = clock::now().time_since_epoch();
  // An answer may come late, behind many operations.
  if (has_moved_.exchange(false, std::memory_order_relaxed))
    moved_at_.store(now.count(), std::memory_order_relaxed);
  auto before = asked_at_.load(std::memory_order_relaxed);
  auto const since = now - clock::duration(before);
  // First what became of this wait's last question, after a time for this pe, too, which may have
  // been stopped, to hear the answers.
  std::optional<std::string> why;
  if (since >= timeout_ / 8 && since < waited)
    why = overdue(waited, since);
  if (why && asked_at_.load(std::memory_order_relaxed) == before)
    return why;
  // Several threads may wait: one of them asks.
  if (since >= timeout_ / 3 &&
      asked_at_.compare_exchange_strong(before, now.count(), std::memory_order_relaxed))
    ask_everybody();
  return {};
}

std::optional<std::string> engine::overdue(std::chrono::nanoseconds waited,
                                           std::chrono::nanoseconds since_question) const {
  if (waited < timeout_)
    return {};
  if (auto const silent = pes_that([](peer const& p) { return p.is_silent(); }); !silent.empty())
    return fmt::format("not over after {} ms; no word from {}", timeout_.count(), silent);
  auto const longest = patience * timeout_;
  auto const still =
      clock::now().time_since_epoch() - clock::duration(moved_at_.load(std::memory_order_relaxed));
  // It was not asked in the first half of a timeout. News are as old as the question.
  if (waited < longest || still < longest - timeout_ / 2 || since_question >= timeout_)
    return {};
  std::string const left = pes_that([](peer const& p) { return p.has_left(); });
  return fmt::format(
      "every pe answers, but none has begun an operation for {} ms{}; if one computes "
      "for so long, the timeout is too short",
      longest.count(), left.empty() ? "" : fmt::format(" ({}: in finish())", left));
}

/// Who does not answer is named when the time is up.
void engine::ask_everybody() {
  questions_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t id = 0; id < count_; ++id) {
    peer& p = peers_[id];
    auto const* const memory = id == self_.id ? region_.get() : p.memory.get();
    p.begin_question();
    if (memory != nullptr) { // in this process: it cannot go without a word
      bool const is_leaving = memory->is_leaving.load(std::memory_order_acquire);
      take_news(p, memory->operations.load(std::memory_order_relaxed), is_leaving);
      p.is_heard.store(true, std::memory_order_relaxed);
    } else {
      post(pe{id}, {.kind = message_kind::ping}, {});
    }
  }
}

void engine::take_news(peer& p, std::uint64_t operations, bool is_leaving) noexcept {
  p.is_leaving.store(is_leaving, std::memory_order_relaxed);
  if (p.operations.exchange(operations, std::memory_order_relaxed) != operations)
    moved_at_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

} // namespace quarry::net::shmem
