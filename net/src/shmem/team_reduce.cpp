// SPDX-License-Identifier: Apache-2.0
// How everybody's elements are combined. All members end with the same bits: each element is
// combined in one place, or in the same order everywhere.
#include "team_work.hpp"

#include <algorithm>

namespace quarry::net::shmem {
namespace {

constexpr std::size_t at_once_bytes = 2048;     ///< in one address space: up to here without parts
constexpr std::size_t cached_bytes = 16 * 1024; ///< what is combined before anything else is read
constexpr std::uint64_t slots = 4;              ///< of the ring: messages on their way to a member

} // namespace

result<void> team_work::reduce(vectors const& v, agreement all) {
  if (!has_turn_)
    return out_of_turn();
  bool const at_once = is_at_once(v), is_small = !at_once && is_gathered(v);
  if (at_once)
    copy(offered(team_.meetings + 1), v.source, v.bytes());
  if (is_small)
    copy(area_.gathered(engine_.options(), team_.meetings + 1), v.source, v.bytes());
  if (auto const met = meet_with(collective::reduce, all, is_small ? v.bytes() : 0); !met)
    return met;
  if (at_once)
    reduce_at_once(v);
  else if (is_small)
    combine_gathered(v);
  else if (v.count == 0 || team_.count == 1)
    copy(v.dest, v.source, v.bytes());
  else if (is_shared())
    return reduce_by_parts(v);
  else
    return fits_exchange(v) ? reduce_by_exchange(v) : reduce_by_ring(v);
  return {};
}

void team_work::combine(vectors const& v, std::uint64_t into, std::uint64_t from,
                        std::size_t bytes) {
  if (!engine_.decides())
    return v.combine(here(into), here(from), bytes / v.each);
  std::vector<std::byte> a(bytes), b(bytes); // from operator new: aligned for all elements
  engine_.load_here(a.data(), here(into), bytes, what_.where);
  engine_.load_here(b.data(), here(from), bytes, what_.where);
  v.combine(a.data(), b.data(), bytes / v.each);
  engine_.store_here(here(into), a.data(), bytes, what_.where);
}

bool team_work::is_gathered(vectors const& v) const {
  return team_.count > 1 && v.count != 0 && v.bytes() <= team_area::gathered_bytes / team_.count &&
         !is_shared();
}

/// In the order of the members, so that all find the same bits. Member m's are as many places on as
/// it is before this one.
void team_work::combine_gathered(vectors const& v) {
  std::uint64_t const first = area_.gathered(engine_.options(), team_.meetings);
  auto const place = [&](std::uint32_t m) { return first + after(team_.count - m) * v.bytes(); };
  copy(v.dest, place(0), v.bytes());
  for (std::uint32_t m = 1; m < team_.count; ++m)
    combine(v, v.dest, place(m), v.bytes());
}

bool team_work::fits_exchange(vectors const& v) const {
  std::size_t const part = (v.count + team_.count - 1) / team_.count * v.each;
  return part <= engine_.options().team_bytes / team_.count;
}

/// Two rounds, however many members there are: where they share cores, every round is a wait for
/// somebody who does not run.
result<void> team_work::reduce_by_exchange(vectors const& v) {
  auto const n = team_.count;
  auto const begin_of = [&](std::uint64_t part) { return v.count * part / n * v.each; };
  auto const bytes_of = [&](std::uint64_t part) { return begin_of(part + 1) - begin_of(part); };
  std::size_t const mine = bytes_of(team_.index);
  auto const slot = [&](std::uint32_t m, std::size_t bytes) {
    return area_.messages() + m * bytes;
  };
  for (std::uint32_t i = 1; i < n; ++i) {
    std::uint32_t const m = after(i);
    if (auto const sent =
            send(m, slot(team_.index, bytes_of(m)), v.source + begin_of(m), bytes_of(m));
        !sent)
      return sent;
  }
  copy(slot(team_.index, mine), v.source + begin_of(team_.index), mine);
  if (auto const came = receive(n - 1); !came)
    return came;
  std::uint64_t const part = v.dest + begin_of(team_.index);
  copy(part, slot(0, mine), mine);
  for (std::uint32_t m = 1; m < n && mine != 0; ++m)
    combine(v, part, slot(m, mine), mine);
  // Another counter: somebody's sum may come before somebody else's elements.
  for (std::uint32_t i = 1; i < n; ++i)
    if (auto const sent =
            engine_.put_signal(*engine_.internal_context, part, {here(part), mine}, area_.credits(),
                               1, signal_op::add, team_.at(after(i)), what_.name, what_.where);
        !sent)
      return sent.error();
  team_.credits += n - 1;
  return wait_at_least(area_.credits(), team_.credits);
}

/// Part k is combined on its way from member k + 1 round to member k - 1, in pieces as large as a
/// slot; then it goes round again, into everybody's destination. A piece waits in a slot of the
/// next member, who gives a credit back when the slot is free.
result<void> team_work::reduce_by_ring(vectors const& v) {
  std::uint64_t const slot_bytes = engine_.options().team_bytes / slots / 64 * 64;
  std::uint64_t const per_slot = slot_bytes / v.each;
  auto const n = team_.count;
  struct piece {
    std::uint64_t offset;
    std::size_t bytes;
  };
  std::uint64_t const pieces = ((v.count + n - 1) / n + per_slot - 1) / per_slot; // of each part
  auto const piece_of = [&](std::uint64_t part, std::uint64_t i) {
    std::uint64_t const begin = v.count * (part % n) / n, end = v.count * (part % n + 1) / n;
    std::uint64_t const first = std::min(end, begin + i * per_slot);
    return piece{first * v.each, (std::min(end, first + per_slot) - first) * v.each};
  };
  copy(v.dest, v.source, v.bytes());
  std::uint64_t const items = (n - 1) * pieces;
  std::uint64_t const lag = std::min(slots - 1, pieces - 1); // pieces sent ahead of those received
  auto const next = after(1);
  auto const slot = [&](std::uint64_t i) { return area_.messages() + i % slots * slot_bytes; };

  auto const send_to_combine = [&](std::uint64_t i) -> result<void> {
    if (i >= slots)
      if (auto const free = wait_at_least(area_.credits(), team_.credits + i - slots + 1); !free)
        return free;
    piece const p = piece_of(team_.index + n - i / pieces, i % pieces);
    return send(next, slot(i), v.dest + p.offset, p.bytes);
  };
  auto const take_and_combine = [&](std::uint64_t i) -> result<void> {
    if (auto const came = receive(1); !came)
      return came;
    piece const p = piece_of(team_.index + 2 * n - i / pieces - 1, i % pieces);
    if (p.bytes != 0)
      combine(v, v.dest + p.offset, slot(i), p.bytes);
    auto const credit =
        engine_.atomic(*engine_.internal_context, {atomic_op::add, 8, area_.credits(), 1, 0},
                       nullptr, team_.at(after(n - 1)), what_.name, what_.where);
    return credit ? result<void>{} : credit.error();
  };
  auto const spread = [&](std::uint64_t i) {
    piece const p = piece_of(team_.index + 1 + n - i / pieces, i % pieces);
    return send(next, v.dest + p.offset, v.dest + p.offset, p.bytes);
  };
  auto const take = [&](std::uint64_t) { return receive(1); };
  auto const round_the_ring = [&](auto const& give, auto const& get) -> result<void> {
    for (std::uint64_t i = 0; i < items + lag; ++i) {
      if (i < items)
        if (auto const given = give(i); !given)
          return given;
      if (i >= lag)
        if (auto const got = get(i - lag); !got)
          return got;
    }
    return {};
  };
  if (auto const combined = round_the_ring(send_to_combine, take_and_combine); !combined)
    return combined;
  team_.credits += items;
  return round_the_ring(spread, take);
}

bool team_work::is_at_once(vectors const& v) const {
  std::size_t const room = engine_.options().team_bytes / 2 / 64 * 64;
  return team_.count > 1 && v.bytes() <= std::min(at_once_bytes, room) && is_shared();
}

/// There are two places, in turns: who writes into one again has met all since, and so they have
/// read it.
std::uint64_t team_work::offered(std::uint64_t meeting) const {
  return area_.messages() + meeting % 2 * (engine_.options().team_bytes / 2 / 64 * 64);
}

void team_work::reduce_at_once(vectors const& v) {
  std::uint64_t const at = offered(team_.meetings);
  for (std::uint32_t i = 0; i < team_.count; ++i) {
    auto const* const theirs = engine_.direct(team_.at(i))->at(at);
    if (i == 0)
      std::memcpy(here(v.dest), theirs, v.bytes());
    else
      v.combine(here(v.dest), theirs, v.count);
  }
}

result<void> team_work::reduce_by_parts(vectors const& v) {
  auto const n = team_.count;
  auto const begin_of = [&](std::uint64_t part) { return v.count * part / n; };
  std::uint64_t const cached = std::max<std::uint64_t>(cached_bytes / v.each, 1);
  std::uint64_t const end = begin_of(team_.index + 1);
  for (std::uint64_t i = begin_of(team_.index); i < end; i += cached) {
    std::size_t const count = std::min(cached, end - i);
    std::uint64_t const at = i * v.each;
    copy(v.dest + at, v.source + at, count * v.each);
    for (std::uint32_t other = 1; other < n; ++other)
      v.combine(here(v.dest + at), engine_.direct(team_.at(after(other)))->at(v.source + at),
                count);
  }
  if (auto const met = meet(collective::reduce, {{"phase", 2}}); !met)
    return met;
  for (std::uint32_t other = 1; other < n; ++other) {
    std::uint64_t const at = begin_of(after(other)) * v.each;
    std::memcpy(here(v.dest + at), engine_.direct(team_.at(after(other)))->at(v.dest + at),
                begin_of(after(other) + 1) * v.each - at);
  }
  return meet(collective::reduce, {{"phase", 3}}); // nobody changes what others still copy
}

} // namespace quarry::net::shmem
