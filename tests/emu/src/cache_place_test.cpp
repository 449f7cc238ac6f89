// SPDX-License-Identifier: Apache-2.0
#include "cache_place.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

using namespace quarry::emu;

namespace {

/// A write that was performed here at a time, or a copy of one that came later.
struct value {
  std::uint32_t id;
  cache_place::time written;
  cache_place::time from;
  cache_place::index above = cache_place::unknown;
  std::uint32_t update = 0;
  bool came_through = false;
};

void hold(cache_place& p, value v) {
  p[p.count++] = {.value = v.id,
                  .by = 0,
                  .written = v.written,
                  .from = v.from,
                  .until = cache_place::always,
                  .above = v.above,
                  .id = v.id,
                  .came_through = v.came_through ? 1U : 0U,
                  .update = v.update};
}

/// The caches above a leaf: of a compute unit, of an agent, and memory, which holds its first
/// value.
class caches {
public:
  caches() { hold(memory, {.id = 0, .written = 0, .from = 0}); }
  /// Whether the word may have come to the last of them before its newest version.
  bool may_be_late(late_word w, std::size_t at) const {
    cache_place const* const all[] = {&l1, &l2, &memory};
    return w.may_precede({all, 1}, at, all[at]->count - 1);
  }
  cache_place l1{}, l2{}, memory{};
};

constexpr std::size_t at_l1 = 0, at_l2 = 1, at_memory = 2;
constexpr std::uint8_t plain = 0, in_group = 1, in_agent = 2, in_system = 3;

} // namespace

TEST_SUITE("emu.cache_place") {
  TEST_CASE("the last eight versions are remembered, and where a copy of a write first came") {
    cache_place p{};
    for (std::uint32_t id = 1; id <= 10; ++id)
      hold(p, {.id = id, .written = 10 * id, .from = 10 * id});
    hold(p, {.id = 7, .written = 70, .from = 200});
    CHECK(p.oldest() == 3);
    CHECK_FALSE(p.remembers(2));
    CHECK(p.remembers(10));
    CHECK_FALSE(p.remembers(11));
    CHECK(std::uint32_t{p.newest().id} == 7);
    CHECK(p.find_copy(7) == 6);
    CHECK(p.find_copy(3) == cache_place::unknown);
    CHECK(p.fetched_since() == 70); // the newest is a copy
    hold(p, {.id = 11, .written = 210, .from = 210});
    CHECK(p.fetched_since() == 0);
  }

  TEST_CASE("a late word comes before what was written since, but not before what it came after") {
    caches c;
    hold(c.memory, {.id = 5, .written = 50, .from = 50});
    CHECK(c.may_be_late({.since = 40, .due = in_system, .after = 0}, at_memory));
    CHECK_FALSE(c.may_be_late({.since = 60, .due = in_system, .after = 0}, at_memory));
    CHECK_FALSE(c.may_be_late({.since = 40, .due = in_system, .after = 5}, at_memory));
    // It went up from a cache on the word's way, and had been there before.
    hold(c.l2, {.id = 5, .written = 30, .from = 30, .above = 1});
    CHECK_FALSE(c.may_be_late({.since = 40, .due = in_system, .after = 0}, at_memory));
  }

  TEST_CASE(
      "nothing comes between what an update has read and what it wrote, if its scope reaches") {
    caches c;
    hold(c.l2, {.id = 5, .written = 50, .from = 50, .update = in_agent});
    CHECK_FALSE(c.may_be_late({.since = 40, .due = in_agent, .after = 0}, at_l2));
    CHECK(c.may_be_late({.since = 40, .due = in_group, .after = 0}, at_l2)); // of another one
    CHECK(c.may_be_late({.since = 40, .due = plain, .after = 0}, at_l2));
    hold(c.l1, {.id = 5,
                .written = 50,
                .from = 55,
                .above = 0,
                .update = in_agent,
                .came_through = true}); // of this one
    CHECK_FALSE(c.may_be_late({.since = 40, .due = in_group, .after = 0}, at_l2));
  }

  TEST_CASE("it may come before what an update has read") {
    caches c;
    hold(c.l2, {.id = 4, .written = 45, .from = 45});
    hold(c.l2, {.id = 5, .written = 50, .from = 50, .update = in_agent});
    CHECK(c.may_be_late({.since = 40, .due = in_agent, .after = 0}, at_l2));
    CHECK_FALSE(c.may_be_late({.since = 47, .due = in_agent, .after = 0}, at_l2));
    // Also where there is a copy of the update alone.
    hold(c.l1, {.id = 5, .written = 50, .from = 60, .above = 1, .update = in_agent});
    CHECK(c.may_be_late({.since = 40, .due = in_agent, .after = 0}, at_l1));
    CHECK_FALSE(c.may_be_late({.since = 47, .due = in_agent, .after = 0}, at_l1));
  }

  TEST_CASE("an update of a cache on its way has read what stood before it there") {
    caches c;
    hold(c.l1, {.id = 3, .written = 30, .from = 30});
    hold(c.l1, {.id = 5, .written = 50, .from = 50, .update = in_group});
    hold(c.l2, {.id = 5, .written = 60, .from = 60, .update = in_group});
    CHECK_FALSE(c.may_be_late({.since = 40, .due = in_agent, .after = 0}, at_l2));
    CHECK(c.may_be_late({.since = 20, .due = in_agent, .after = 0}, at_l2)); // before 3
  }
}
