// SPDX-License-Identifier: Apache-2.0
// How messages leave, and what is done with those that come.
#include "../told_failure.hpp"
#include "engine.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <cstring>
#include <string>
#include <utility>

namespace quarry::net::shmem {

// Leaving

void engine::post(pe target, message m, std::span<std::byte const> body, context_state* c,
                  entered inside) {
  std::optional<error> broken;
  bool is_kept = false;
  {
    std::lock_guard const lock(mutex_);
    if (c != nullptr) {
      m.context = c->id;
      m.epoch = c->epoch;
      m.number = m.id == 0 ? ++c->to[target.id].issued : c->to[target.id].issued;
    }
    peer& p = peers_[target.id];
    bool has_left = false;
    if (!decides_ && p.outbox.empty() && !is_broken_ &&
        (inside == entered::yes || transport_->try_enter())) {
      auto const sent = transport_->try_send(target, std::as_bytes(std::span(&m, 1)), body);
      if (inside == entered::no)
        transport_->leave();
      if (!sent && !drop_probe(p, m))
        broken = sent.error();
      has_left = !sent || *sent;
    }
    if (!has_left && !broken && !is_broken_) {
      keep(p, m, body);
      is_kept = true;
    }
    if (broken)
      is_broken_ = true;
  }
  if (broken)
    fail(*broken, told::nobody);
  if (is_kept && !decides_ && inside == entered::no && !drive())
    kick_for_new();
}

/// What only asks whether somebody is there, or answers that, is no loss: its pe has left in order,
/// or whoever listens to it will hear that it is lost. False for other messages.
bool engine::drop_probe(peer& p, message const& m) noexcept {
  if (m.kind != message_kind::ping && m.kind != message_kind::pong)
    return false;
  p.is_heard.store(true, std::memory_order_relaxed);
  return true;
}

void engine::keep(peer& p, message const& m, std::span<std::byte const> body) {
  outgoing& o = p.outbox.emplace_back(outgoing{m, {body.begin(), body.end()}});
  o.order.give();
  p.outbox_bytes += sizeof m + body.size();
  queued_.fetch_add(1, std::memory_order_seq_cst);
}

/// Who is inside sends what has been kept.
void engine::kick_for_new() {
  calls_.fetch_add(1, std::memory_order_relaxed);
  kick();
}

bool engine::try_post(pe target, message m, std::span<std::byte const> body, context_state& c) {
  std::optional<error> broken;
  bool is_kept = false;
  {
    std::lock_guard const lock(mutex_);
    peer& p = peers_[target.id];
    if (is_broken_)
      return true; // the wait ends with the failure
    if (!p.outbox.empty())
      return false;
    auto& to = c.to[target.id];
    m.context = c.id;
    m.epoch = c.epoch;
    m.number = to.issued + 1;
    if (transport_->try_enter()) {
      auto const sent = transport_->try_send(target, std::as_bytes(std::span(&m, 1)), body);
      transport_->leave();
      if (sent && !*sent)
        return false;
      if (!sent)
        broken = sent.error();
    } else { // somebody may sleep inside
      keep(p, m, body);
      is_kept = true;
    }
    if (broken)
      is_broken_ = true;
    else
      ++to.issued;
  }
  if (broken)
    fail(*broken, told::nobody);
  if (is_kept)
    kick_for_new();
  return true;
}

void engine::drop_outboxes() {
  is_broken_ = true;
  for (peer& p : peers_) {
    p.outbox.clear();
    p.outbox_bytes = 0;
  }
  queued_.store(0, std::memory_order_relaxed);
}

bool engine::flush() {
  if (queued_.load(std::memory_order_seq_cst) == 0)
    return false;
  std::optional<error> broken;
  bool any = false;
  {
    std::lock_guard const lock(mutex_);
    for (std::uint32_t id = 0; id < count_ && !broken; ++id) {
      peer& p = peers_[id];
      while (!p.outbox.empty() && !broken) {
        outgoing const& o = p.outbox.front();
        o.order.take();
        auto const sent =
            transport_->try_send(pe{id}, std::as_bytes(std::span(&o.head, 1)), o.body);
        if (!sent && !drop_probe(p, o.head))
          broken = sent.error();
        if (broken || (sent && !*sent))
          break;
        p.outbox_bytes -= sizeof o.head + o.body.size();
        p.outbox.pop_front();
        queued_.fetch_sub(1, std::memory_order_relaxed);
        any = true;
      }
    }
    if (broken)
      drop_outboxes();
  }
  if (broken)
    fail(*broken, told::nobody);
  return any || broken;
}

// Coming

bool engine::receive() {
  auto const got =
      transport_->poll([this](pe from, std::span<std::byte const> bytes) { take(from, bytes); });
  if (got)
    return *got != 0;
  {
    std::lock_guard const lock(mutex_);
    drop_outboxes();
  }
  if (has_failed())
    return false;
  fail(got.error(), told::nobody);
  return true;
}

bool engine::drive() {
  if (!transport_->try_enter())
    return false;
  bool moved = false;
  drives_.store(drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (!is_broken_) {
    moved = flush();
    moved |= receive();
    moved |= flush();
  }
  transport_->leave();
  if (moved)
    region_->arrivals.ring(); // of who waits without driving
  return moved;
}

void engine::take(pe from, std::span<std::byte const> bytes) {
  if (has_failed())
    return;
  message m;
  if (bytes.size() < sizeof m)
    return malformed(from, "a message without a header");
  std::memcpy(&m, bytes.data(), sizeof m);
  auto const body = bytes.subspan(sizeof m);
  if (auto const* const wrong = defect(m, body.size(), region_->heap.size()))
    return malformed(from, wrong);
  peer& p = peers_[from.id];
  p.is_heard.store(true, std::memory_order_relaxed);
  if (p.has_met == (m.kind == message_kind::hello) && m.kind != message_kind::failure)
    return malformed(from, "a first message that is no greeting, or a second greeting");
  switch (m.kind) {
  case message_kind::hello:
    return take_hello(from, m);
  case message_kind::get_reply:
  case message_kind::atomic_reply:
  case message_kind::ack:
    return take_answer(from, m, body);
  case message_kind::ping: {
    message answer{.kind = message_kind::pong};
    answer.value = region_->operations.load(std::memory_order_relaxed);
    answer.second = region_->is_leaving.load(std::memory_order_acquire) ? 1 : 0;
    return post(from, answer, {}, nullptr, entered::yes);
  }
  case message_kind::pong:
    return take_news(p, m.value, m.second != 0);
  case message_kind::failure:
    return take_failure(from, m, printable(body));
  default:
    has_moved_.store(true, std::memory_order_relaxed);
    return apply(from, m, body);
  }
}

} // namespace quarry::net::shmem
