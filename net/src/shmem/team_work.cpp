// SPDX-License-Identifier: Apache-2.0
#include "team_work.hpp"

#include "refusals.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace quarry::net::shmem {
namespace {

std::uint64_t hash_of(agreement all) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15;
  for (agreed const& one : all)
    h = (h ^ one.value) * 0xff51afd7ed558ccd ^ (h >> 29);
  return h ^ (h >> 32);
}

/// "sum, elements 8"
std::string to_string(agreement all) {
  std::string text;
  for (agreed const& one : all) {
    if (!text.empty())
      text += ", ";
    text += one.is_number ? fmt::format("{} {}", one.what, one.value) : std::string(one.what);
  }
  return text;
}

} // namespace

result<void> team_work::meet_with(collective what, agreement all, std::size_t bytes) {
  if (engine_.has_failed())
    return engine_.failed(what_);
  if (!has_turn_)
    return out_of_turn();
  std::uint64_t const number = ++team_.meetings & 0xffffffff;
  std::uint64_t const word =
      number << 32 | static_cast<std::uint64_t>(what) << 24 | (hash_of(all) & 0xffffff);
  std::uint64_t const gathered = area_.gathered(engine_.options(), team_.meetings);
  auto const has_come = [](std::uint64_t seen, void const* n) {
    return seen >> 32 == *static_cast<std::uint64_t const*>(n);
  };
  for (std::uint32_t round = 0, far = 1; far < team_.count; ++round, far *= 2) {
    auto const slot = area_.meeting(number, round);
    // Place i is that of the member i places before: what is here moves on by `far`.
    std::size_t const blocks = std::min(far, team_.count - far);
    pe const to = team_.at(after(far));
    auto const told =
        bytes == 0 ? engine_.put(*engine_.internal_context, slot,
                                 std::as_bytes(std::span(&word, 1)), to, what_.name, what_.where)
                   : engine_.put_signal(*engine_.internal_context, gathered + far * bytes,
                                        {here(gathered), blocks * bytes}, slot, word,
                                        signal_op::set, to, what_.name, what_.where);
    if (!told)
      return told.error();
    pe const from = team_.at(after(team_.count - far));
    if (auto const w =
            engine_.wait_word(here(slot), 8, has_come, &number, {what_.name, what_.where, from});
        !w)
      return w;
    std::uint64_t const theirs = engine_.read_word(here(slot), 8, what_.where);
    if (theirs == word)
      continue;
    auto const other = static_cast<collective>(theirs >> 24 & 0xff);
    engine_.fail(
        make_error(net_errc::mismatched_collective,
                   other == what
                       ? fmt::format("{} and {} are in {}, and do not agree about it: {} has {}",
                                     to_string(from), to_string(engine_.self()), to_string(what),
                                     to_string(engine_.self()), to_string(all))
                       : fmt::format("{} is in {} while {} is in {}", to_string(from),
                                     to_string(other), to_string(engine_.self()), to_string(what))),
        engine::told::everybody);
    return engine_.failed(what_);
  }
  return {};
}

error team_work::out_of_turn() const {
  return {std::make_error_code(std::errc::device_or_resource_busy),
          fmt::format("shmem: {}: another thread of {} is in a collective of the same team; a "
                      "team's collectives come one after the other",
                      what_.name, to_string(engine_.self()))};
}

void team_work::copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  if (to == from || bytes == 0)
    return;
  if (!engine_.decides()) {
    std::memmove(here(to), here(from), bytes);
    return;
  }
  std::vector<std::byte> between(bytes);
  engine_.load_here(between.data(), here(from), bytes, what_.where);
  engine_.store_here(here(to), between.data(), bytes, what_.where);
}

result<void> team_work::send(std::uint32_t member, std::uint64_t to, std::uint64_t from,
                             std::size_t bytes) {
  engine_.fence(*engine_.internal_context); // who counts arrivals has those before this one
  auto const sent =
      engine_.put_signal(*engine_.internal_context, to, {here(from), bytes}, area_.arrivals(), 1,
                         signal_op::add, team_.at(member), what_.name, what_.where);
  if (!sent)
    return sent.error();
  return {};
}

result<void> team_work::wait_at_least(std::uint64_t offset, std::uint64_t value) {
  auto const is_enough = [](std::uint64_t seen, void const* wanted) {
    return seen >= *static_cast<std::uint64_t const*>(wanted);
  };
  return engine_.wait_word(here(offset), 8, is_enough, &value, what_);
}

result<void> team_work::receive(std::uint64_t count) {
  team_.arrivals += count;
  return wait_at_least(area_.arrivals(), team_.arrivals);
}

bool team_work::is_shared() const {
  for (std::uint32_t i = 0; i < team_.count; ++i)
    if (engine_.direct(team_.at(i)) == nullptr)
      return false;
  return true;
}

/// A binomial tree with the root at its top.
result<void> team_work::broadcast(std::uint64_t dest, std::uint64_t source, std::size_t bytes,
                                  std::uint32_t root) {
  std::uint32_t const place = (team_.index + team_.count - root) % team_.count;
  std::uint32_t below = 1;
  while (below < team_.count && (place & below) == 0)
    below *= 2;
  if (place != 0)
    if (auto const came = receive(1); !came)
      return came;
  for (below /= 2; below != 0; below /= 2)
    if (place + below < team_.count)
      if (auto const sent = send(after(below), dest, place == 0 ? source : dest, bytes); !sent)
        return sent;
  if (place == 0)
    copy(dest, source, bytes);
  return {};
}

result<void> team_work::fcollect(std::uint64_t dest, std::uint64_t source, std::size_t bytes) {
  std::uint64_t const mine = dest + team_.index * bytes;
  for (std::uint32_t i = 1; i < team_.count; ++i)
    if (auto const sent = send(after(i), mine, source, bytes); !sent)
      return sent;
  copy(mine, source, bytes);
  return receive(team_.count - 1);
}

result<void> team_work::alltoall(std::uint64_t dest, std::uint64_t source, std::size_t bytes) {
  std::uint64_t const mine = dest + team_.index * bytes;
  for (std::uint32_t i = 1; i < team_.count; ++i)
    if (auto const sent = send(after(i), mine, source + after(i) * bytes, bytes); !sent)
      return sent;
  copy(mine, source + team_.index * bytes, bytes);
  return receive(team_.count - 1);
}

result<void> team_work::collect(std::uint64_t dest, std::uint64_t source, std::size_t bytes) {
  std::uint64_t const own[] = {bytes, source};
  auto const all = all_words(own);
  if (!all)
    return all.error();
  std::vector<std::uint64_t> places{dest}; // each member's, and their end; none is more than a heap
  for (std::size_t i = 0; i < team_.count; ++i)
    places.push_back(places.back() + (*all)[2 * i]);
  std::uint64_t const total = places.back() - dest, mine = places[team_.index];
  if (dest + total > engine_.memory().user_bytes)
    return make_error(net_errc::outside_heap,
                      fmt::format("shmem: collect of {} bytes of all members at offset {}; the "
                                  "heap has {}",
                                  total, dest, engine_.memory().user_bytes));
  for (std::size_t i = 0; i < team_.count; ++i)
    if (overlaps_collected((*all)[2 * i + 1], (*all)[2 * i], dest, total, places[i]))
      return error{std::make_error_code(std::errc::invalid_argument),
                   fmt::format("shmem: collect: dest and source of {} overlap; {}",
                               to_string(team_.at(static_cast<std::uint32_t>(i))),
                               collected_overlap)};
  // Both are counted as arrivals: nobody sends elements while another one waits for words.
  if (auto const met = meet(collective::collect, {{"dest at", dest}, {"bytes of all", total}});
      !met)
    return met;
  for (std::uint32_t i = 1; i < team_.count; ++i)
    if (auto const sent = send(after(i), mine, source, bytes); !sent)
      return sent;
  copy(mine, source, bytes);
  return receive(team_.count - 1);
}

result<std::vector<std::uint64_t>> team_work::all_words(std::span<std::uint64_t const> mine) {
  std::uint64_t const slot = area_.messages() + team_.index * mine.size_bytes();
  engine_.store_here(here(slot), std::as_bytes(mine).data(), mine.size_bytes(), what_.where);
  for (std::uint32_t i = 1; i < team_.count; ++i)
    if (auto const sent = send(after(i), slot, slot, mine.size_bytes()); !sent)
      return sent.error();
  if (auto const came = receive(team_.count - 1); !came)
    return came.error();
  std::vector<std::uint64_t> all(team_.count * mine.size());
  engine_.load_here(reinterpret_cast<std::byte*>(all.data()), here(area_.messages()),
                    all.size() * sizeof(std::uint64_t), what_.where);
  return all;
}

void team_work::clear(std::uint32_t id) {
  std::vector<std::byte> const nothing(team_area::header_bytes);
  engine_.store_here(here(engine_.memory().user_bytes + id * team_area::bytes(engine_.options())),
                     nothing.data(), nothing.size(), what_.where);
}

} // namespace quarry::net::shmem
