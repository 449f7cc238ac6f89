// SPDX-License-Identifier: Apache-2.0
// Contexts: which of their operations come before which, and when they are done.
#include "engine.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace quarry::net::shmem {

void engine::fence(context_state& c) {
  near_fence(emu::order::release);
  std::lock_guard const lock(mutex_);
  ++c.epoch;
}

bool engine::is_done(context_state& c, ticket const& t) {
  if (t.what == ticket::kind::done)
    return true;
  if (!decides_) {
    touch();
    static_cast<void>(drive());
  }
  bool asks = false;
  {
    std::lock_guard const lock(mutex_);
    if (t.what == ticket::kind::fetch) {
      auto const it = fetches_.lower_bound(t.first);
      if (it != fetches_.end() && it->first <= t.last)
        return false;
    } else {
      auto& to = c.to[t.target];
      if (to.acked < t.last) {
        if (to.asked >= t.last)
          return false;
        to.asked = to.issued;
        asks = true;
      }
    }
  }
  if (asks) {
    message m{.kind = message_kind::ack_request};
    m.id = 1; // is not counted itself
    post(pe{t.target}, m, {}, &c);
    return false;
  }
  return true;
}

bool engine::is_quiet(context_state& c) {
  bool all = true;
  for (std::uint32_t target = 0; target < count_; ++target) {
    if (direct(pe{target}) != nullptr)
      continue;
    std::unique_lock lock(mutex_);
    ticket const t{ticket::kind::put, target, 0, c.to[target].issued};
    lock.unlock();
    all = (t.last == 0 || is_done(c, t)) && all;
  }
  std::lock_guard const lock(mutex_);
  return all && c.open_fetches == 0;
}

result<void> engine::quiet(context_state& c, operation const& what) {
  if (has_failed())
    return failed(what);
  near_fence(emu::order::seq_cst);
  if (is_all_direct_)
    return {};
  is_quiet(c); // asks
  auto const is_over = [&] {
    std::lock_guard const lock(mutex_);
    return c.open_fetches == 0 &&
           std::all_of(c.to.begin(), c.to.end(), [](auto const& t) { return t.acked >= t.asked; });
  };
  if (auto const w = wait(what, is_over); !w)
    return w;
  answers_.take();
  return {};
}

result<void> engine::quiet_all(operation const& what) {
  std::deque<std::shared_ptr<context_state>> all;
  {
    std::lock_guard const lock(mutex_);
    all = contexts_;
  }
  for (auto const& c : all)
    static_cast<void>(is_quiet(*c)); // asks, all at once
  for (auto const& c : all)
    if (auto const q = quiet(*c, what); !q)
      return q;
  return {};
}

void engine::complete_before(emu::operation_kind what, std::source_location where) {
  if (explored_.begins_operation(what, true, where) == emu::order::seq_cst)
    static_cast<void>(quiet_all({"quiet", where})); // if it fails, so does what comes
}

result<void> engine::wait_for(context_state& c, ticket const& t, operation const& what) {
  if (t.what == ticket::kind::done)
    return {};
  static_cast<void>(is_done(c, t)); // asks
  auto const is_over = [&] {
    std::lock_guard const lock(mutex_);
    if (t.what == ticket::kind::put)
      return c.to[t.target].acked >= t.last;
    auto const it = fetches_.lower_bound(t.first);
    return it == fetches_.end() || it->first > t.last;
  };
  if (auto const w = wait(what, is_over); !w)
    return w;
  answers_.take();
  return {};
}

std::shared_ptr<context_state> engine::make_context() {
  ask_for_dropped();
  auto c = std::make_shared<context_state>();
  c->to.resize(count_);
  std::lock_guard const lock(mutex_);
  // One that nobody holds any more, and whose answers have all come, is used again.
  for (auto& old : contexts_)
    if (old.use_count() == 1 && old->open_fetches == 0 &&
        std::all_of(old->to.begin(), old->to.end(),
                    [](auto const& t) { return t.acked == t.issued; }))
      return old;
  c->id = static_cast<std::uint32_t>(contexts_.size());
  contexts_.push_back(c);
  return c;
}

/// Contexts that nobody holds any more, and that went without a quiet(): whether what they have
/// begun has arrived.
void engine::ask_for_dropped() {
  std::vector<std::shared_ptr<context_state>> dropped;
  {
    std::lock_guard const lock(mutex_);
    for (auto const& c : contexts_)
      if (c.use_count() == 1 &&
          std::any_of(c->to.begin(), c->to.end(), [](auto const& t) { return t.asked < t.issued; }))
        dropped.push_back(c);
  }
  for (auto const& c : dropped)
    static_cast<void>(is_quiet(*c));
}

} // namespace quarry::net::shmem
