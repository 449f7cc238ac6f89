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

error engine::timed_out(operation const& what) {
  std::string const name =
      fmt::format("{}{}", what.name, what.target ? " to " + to_string(*what.target) : "");
  fail(decides_ ? make_error(net_errc::timeout,
                             fmt::format("{} waits in {}: nothing progresses\n{}", to_string(self_),
                                         name, scheduler_.report_now().to_string()))
                : overdue(name, patience),
       told::everybody);
  return failed(what);
}

/// Several may ask: answers have half of the timeout, whoever it was that asked.
void engine::watch(std::string_view what, std::chrono::nanoseconds waited) {
  auto const half = std::chrono::duration_cast<clock::duration>(options_.timeout) / 2;
  if (decides_ || waited < half || has_failed())
    return;
  auto const asked =
      clock::now().time_since_epoch() - clock::duration(asked_at_.load(std::memory_order_relaxed));
  if (asked < half)
    return;
  if (waited < options_.timeout || asked > 2 * half)
    return ask_everybody();
  fail(overdue(what, 1), told::everybody);
}

/// `timeouts`: for so many a wait lasts if everybody answers.
error engine::overdue(std::string_view what, int timeouts) const {
  std::string const silent = silent_pes();
  auto const after = silent.empty() ? timeouts * options_.timeout : options_.timeout;
  return make_error(net_errc::timeout,
                    fmt::format("{} waits in {}: not over after {} ms; {}", to_string(self_), what,
                                after.count(),
                                silent.empty() ? "every pe answers" : "no word from " + silent));
}

/// Who does not answer is named when the time is up.
void engine::ask_everybody() {
  asked_at_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  for (std::uint32_t id = 0; id < count_; ++id) {
    if (id == self_.id)
      continue;
    peers_[id].is_heard.store(false, std::memory_order_relaxed);
    post(pe{id}, {.kind = message_kind::ping}, {});
  }
}

} // namespace quarry::net::shmem
