// SPDX-License-Identifier: Apache-2.0
// Operations become messages, or direct accesses; answers come back.
#include "engine.hpp"

#include "../call_sites.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::net::shmem {
namespace {

error try_again(pe target) {
  return {std::make_error_code(std::errc::resource_unavailable_try_again),
          fmt::format("shmem: too much waits for {} already", to_string(target))};
}

} // namespace

// Checks

result<void> engine::check(pe target, std::uint64_t offset, std::size_t bytes, char const* name) {
  if (has_failed())
    return failed(name, target);
  if (target.id >= count_)
    return make_error(
        net_errc::no_such_pe,
        fmt::format("shmem: {}: {} does not exist; there are {}", name, to_string(target), count_));
  if (offset > region_->user_bytes || bytes > region_->user_bytes - offset)
    return make_error(net_errc::outside_heap,
                      fmt::format("shmem: {} of {} bytes at offset {}; the symmetric heap has {}",
                                  name, bytes, offset, region_->user_bytes));
  return {};
}

result<void> engine::check_aligned(std::uint64_t offset, std::size_t each, char const* operation) {
  if (offset % each == 0)
    return {};
  return make_error(net_errc::misaligned,
                    fmt::format("shmem: {} at offset {}, which is not a multiple of {}", operation,
                                offset, each));
}

result<std::uint64_t> engine::offset_of(void const* local, std::size_t bytes,
                                        char const* name) const {
  auto const begin = reinterpret_cast<std::uintptr_t>(region_->heap.begin());
  auto const at = reinterpret_cast<std::uintptr_t>(local);
  std::uint64_t const end = begin + region_->user_bytes;
  if (at < begin || at > end || (at == end && bytes != 0))
    return make_error(
        net_errc::outside_heap,
        fmt::format("shmem: {} of {} bytes that are not in the symmetric heap: only memory of "
                    "malloc() is",
                    name, bytes));
  if (bytes > end - at)
    return make_error(net_errc::outside_heap,
                      fmt::format("shmem: {} of {} bytes at offset {} of the symmetric heap, which "
                                  "ends {} on",
                                  name, bytes, at - begin, end - at));
  return at - begin;
}

bool engine::is_emulated(void const* local, std::size_t bytes) const noexcept {
  return decides_ && known_.contain(local, bytes);
}

/// Not exactly: only whether it changes counts, and two threads seldom come here at once.
void engine::count_operation() noexcept {
  auto& count = region_->operations;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Puts

bool engine::is_full(pe target) {
  auto const is_now = [&] {
    std::lock_guard const lock(mutex_);
    return peers_[target.id].outbox_bytes >= most_waiting_bytes;
  };
  return is_now() && (decides_ || !drive() || is_now());
}

std::vector<std::byte> engine::seen_here(std::span<std::byte const> source,
                                         std::source_location where) {
  std::vector<std::byte> bytes(source.size());
  if (is_emulated(source.data(), source.size()))
    load_here(bytes.data(), source.data(), source.size(), where);
  else
    std::memcpy(bytes.data(), source.data(), source.size());
  return bytes;
}

/// In an explored job, with the line that has begun it; and behind a fence that is not written
/// there, if it is asked whether that would mend a failure.
message engine::begun(context_state& c, message_kind what, std::source_location where) {
  if (&c != internal_context.get() &&
      explored_.begins_operation(emu::operation_kind::remote, false, where))
    fence(c);
  message m{.kind = what};
  if (knows_sites_)
    site_number(m) = call_site_number(where);
  return m;
}

/// Waits for room, if `waits_in` says where.
result<void> engine::send(context_state& c, message const& m, std::span<std::byte const> body,
                          pe target, char const* waits_in, std::source_location where) {
  if (waits_in != nullptr && !decides_)
    return wait({waits_in, where, target}, [&] { return try_post(target, m, body, c); });
  post(target, m, body, &c);
  return {};
}

/// In messages of a size that transports like.
result<void> engine::put_messages(context_state& c, message m, std::span<std::byte const> source,
                                  pe target, char const* waits_in, std::source_location where) {
  std::vector<std::byte> seen;
  if (decides_ && !source.empty())
    source = seen = seen_here(source, where);
  do {
    auto const part = source.first(std::min(source.size(), most_body_bytes));
    if (auto const sent = send(c, m, part, target, waits_in, where); !sent)
      return sent;
    m.offset += part.size();
    source = source.subspan(part.size());
  } while (!source.empty());
  return {};
}

result<ticket> engine::put(context_state& c, std::uint64_t offset,
                           std::span<std::byte const> source, pe target, char const* waits_in,
                           std::source_location where) {
  region* const r = direct(target);
  if (r == nullptr && waits_in == nullptr && is_full(target))
    return try_again(target);
  count_operation();
  if (r != nullptr) {
    near_put(*r, offset, source);
    r->arrivals.ring();
    return ticket{};
  }
  message m = begun(c, message_kind::put, where);
  m.offset = offset;
  if (auto const sent = put_messages(c, m, source, target, waits_in, where); !sent)
    return sent.error();
  std::lock_guard const lock(mutex_);
  return ticket{ticket::kind::put, target.id, 0, c.to[target.id].issued};
}

result<ticket> engine::put_signal(context_state& c, std::uint64_t offset,
                                  std::span<std::byte const> source, std::uint64_t signal,
                                  std::uint64_t value, signal_op how, pe target,
                                  char const* waits_in, std::source_location where) {
  region* const r = direct(target);
  if (r == nullptr && waits_in == nullptr && is_full(target))
    return try_again(target);
  count_operation();
  if (r != nullptr) {
    near_put(*r, offset, source);
    near_signal(*r, signal, how, value);
    r->arrivals.ring();
    return ticket{};
  }
  std::size_t const last = source.size() <= most_body_bytes
                               ? 0
                               : (source.size() - 1) / most_body_bytes * most_body_bytes;
  if (last != 0) {
    if (auto const first = put(c, offset, source.first(last), target, waits_in, where); !first)
      return first;
    fence(c); // the signal comes after all of it
  }
  message m = begun(c, message_kind::put_signal, where);
  m.offset = offset + last;
  m.what = static_cast<std::uint8_t>(how);
  m.second = signal;
  m.value = value;
  if (auto const sent = put_messages(c, m, source.subspan(last), target, waits_in, where); !sent)
    return sent.error();
  std::lock_guard const lock(mutex_);
  return ticket{ticket::kind::put, target.id, 0, c.to[target.id].issued};
}

// What brings something back

std::uint64_t engine::expect(context_state& c, pe target, std::span<std::byte> dest, bool is_atomic,
                             std::source_location where) {
  std::lock_guard const lock(mutex_);
  fetches_[++last_fetch_] = {&c, target.id, dest.data(), dest.size(), is_atomic, where};
  ++c.open_fetches;
  return last_fetch_;
}

/// For no more at a time than may wait at the target for room to come back.
void engine::ask(context_state& c, pe target, message const& m) {
  {
    std::lock_guard const lock(mutex_);
    peer& p = peers_[target.id];
    if (p.asked_bytes >= most_waiting_bytes) {
      p.unasked.emplace_back(&c, m);
      return;
    }
    p.asked_bytes += m.length;
  }
  post(target, m, {}, &c);
}

/// So much has come: for the next.
void engine::ask_next(pe target, std::size_t came) {
  std::pair<context_state*, message> next;
  {
    std::lock_guard const lock(mutex_);
    peer& p = peers_[target.id];
    p.asked_bytes -= came;
    if (p.unasked.empty())
      return;
    next = p.unasked.front();
    p.unasked.pop_front();
    p.asked_bytes += next.second.length;
  }
  post(target, next.second, {}, next.first, entered::yes);
}

result<ticket> engine::get(context_state& c, std::span<std::byte> dest, std::uint64_t offset,
                           pe target, std::source_location where) {
  count_operation();
  if (region* const r = direct(target)) {
    near_get(*r, dest, offset);
    return ticket{};
  }
  ticket t{ticket::kind::fetch, target.id, 0, 0};
  while (!dest.empty()) {
    auto const part = dest.first(std::min(dest.size(), most_body_bytes));
    message m = begun(c, message_kind::get, where);
    m.offset = offset;
    m.length = part.size();
    m.id = t.last = expect(c, target, part, false, where);
    t.first = t.first == 0 ? m.id : t.first;
    ask(c, target, m);
    offset += part.size();
    dest = dest.subspan(part.size());
  }
  return t.first == 0 ? ticket{} : t;
}

result<ticket> engine::atomic(context_state& c, atomic_request const& r, std::uint64_t* fetched,
                              pe target, char const* waits_in, std::source_location where) {
  region* const there = direct(target);
  if (there == nullptr && fetched == nullptr && waits_in == nullptr && is_full(target))
    return try_again(target);
  count_operation();
  if (there != nullptr) {
    std::uint64_t const old = near_atomic(*there, r, fetched != nullptr);
    if (fetched != nullptr)
      *fetched = old;
    there->arrivals.ring();
    return ticket{};
  }
  message m = begun(c, message_kind::atomic, where);
  m.what = static_cast<std::uint8_t>(r.op);
  m.width = static_cast<std::uint8_t>(r.width);
  m.offset = r.offset;
  m.value = r.operand;
  m.second = r.comparand;
  if (fetched == nullptr) {
    if (auto const sent = send(c, m, {}, target, waits_in, where); !sent)
      return sent.error();
    std::lock_guard const lock(mutex_);
    return ticket{ticket::kind::put, target.id, 0, c.to[target.id].issued};
  }
  m.id = expect(c, target, std::as_writable_bytes(std::span(fetched, 1)), true, where);
  post(target, m, {}, &c);
  return ticket{ticket::kind::fetch, target.id, m.id, m.id};
}

// Answers

void engine::take_answer(pe from, message const& m, std::span<std::byte const> body) {
  bool const is_known = m.kind == message_kind::ack ? take_ack(from, m) : take_value(from, m, body);
  if (!is_known)
    malformed(from, "an answer to nothing");
}

bool engine::take_ack(pe from, message const& m) {
  std::lock_guard const lock(mutex_);
  if (m.context >= contexts_.size() || m.number > contexts_[m.context]->to[from.id].issued)
    return false;
  auto& to = contexts_[m.context]->to[from.id];
  to.acked = std::max(to.acked, m.number);
  answers_.give();
  return true;
}

bool engine::take_value(pe from, message const& m, std::span<std::byte const> body) {
  std::unique_lock lock(mutex_);
  auto const it = fetches_.find(m.id);
  bool const is_atomic = m.kind == message_kind::atomic_reply;
  if (it == fetches_.end() || it->second.target != from.id || it->second.is_atomic != is_atomic ||
      (!is_atomic && it->second.bytes != body.size()))
    return false;
  if (has_failed())
    return true; // whoever waited has been told: the destination may be no more
  fetch const f = it->second;
  if (decides_)
    lock.unlock(); // an access to memory may let others go on
  if (f.is_atomic)
    std::memcpy(f.dest, &m.value, sizeof m.value);
  else if (is_emulated(f.dest, f.bytes))
    store_here(f.dest, body.data(), body.size(), f.where);
  else
    std::memcpy(f.dest, body.data(), body.size());
  if (decides_)
    lock.lock();
  fetches_.erase(m.id);
  --f.context->open_fetches;
  answers_.give();
  lock.unlock();
  if (!f.is_atomic)
    ask_next(from, f.bytes);
  return true;
}

void engine::take_hello(pe from, message const& m) {
  std::string wrong;
  if (m.id != protocol_version)
    wrong =
        fmt::format("{} speaks version {}, this pe {}", to_string(from), m.id, protocol_version);
  else if (m.length != region_->user_bytes)
    wrong = fmt::format("{} has a symmetric heap of {} bytes, {} one of {}", to_string(from),
                        m.length, to_string(self_), region_->user_bytes);
  else if (m.second != shape_of(options_))
    wrong = fmt::format("{} and {} have other numbers or sizes of teams, or ComP-Net's rings and "
                        "reductions",
                        to_string(from), to_string(self_));
  if (!wrong.empty())
    return fail(make_error(net_errc::mismatched_job, fmt::format("shmem: {}", wrong)),
                told::everybody);
  auto shared = m.value == 0 || !shares_memory_ ? nullptr : find_region(m.value);
  std::lock_guard const lock(mutex_);
  peers_[from.id].memory = std::move(shared);
  peers_[from.id].has_met = true;
}

void engine::malformed(pe from, char const* what) {
  fail(make_error(net_errc::bad_frame, fmt::format("shmem: {} from {}", what, to_string(from))),
       told::everybody);
}

} // namespace quarry::net::shmem
