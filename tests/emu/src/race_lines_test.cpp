// SPDX-License-Identifier: Apache-2.0
#include "race_accesses.hpp"
#include "repetitions.hpp"

#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;
using detector = race_detector;
using kind = detector::access::kind;

constexpr std::uintptr_t data = 0x1000, flag = 0x2000;
constexpr std::uint32_t a = 0, b = 1, other_group = 2, host = 3;

/// Told of consecutive lanes by whole lines where it takes them, or of each lane.
struct line_detector {
  explicit line_detector(bool takes_lines, bool lint = false) : takes_lines_(takes_lines) {
    constexpr detector::place places[] = {{0, 1, 1, 1}, {0, 1, 1, 2}, {0, 1, 2, 3}, {0, 0, 9, 9}};
    for (std::uint32_t i = 0; i < 4; ++i)
      races.add_actor(i, places[i]);
    if (lint)
      races.lint_direct(true);
  }

  /// Lanes from `first` on, of the instruction that runs.
  void row(std::uint32_t who, kind what, std::uintptr_t at, unsigned element, unsigned count,
           int first) {
    std::source_location const where{};
    for (unsigned lane = 0; lane < count;) {
      std::uintptr_t const one = at + std::uintptr_t{lane} * element;
      auto const number = static_cast<std::int16_t>(first + static_cast<int>(lane));
      unsigned const lanes = 64 / element;
      if (takes_lines_ && one % 64 == 0 && count - lane >= lanes &&
          races.access_line(who, what, one, element, {where, number})) {
        ++lines;
        lane += lanes;
        continue;
      }
      word(who, what, one, element, number);
      ++lane;
    }
  }
  void word(std::uint32_t who, kind what, std::uintptr_t at, unsigned bytes, std::int16_t lane) {
    detector::write_id id = 0;
    note(what == kind::store ? races.store(plain(who, at, bytes, lane), id)
                             : races.load(plain(who, at, bytes, lane), 0));
  }
  void note(std::optional<detector::race> const& r) {
    if (r)
      found.push_back(to_string(*r, [](std::uint32_t i) { return std::to_string(i); }) +
                      std::to_string(r->first.step) + " " + std::to_string(r->second.step));
  }

  bool takes_lines_;
  unsigned lines = 0;
  detector races;
  std::vector<std::string> found;
};

/// The same on both.
void take_step(random_bits& bits, std::array<line_detector*, 2> const& both) {
  auto const draw = [&](unsigned n) { return bits.below(n); };
  std::uint32_t const who = draw(4), far = draw(3);
  auto const what = draw(2) == 0 ? kind::store : kind::load;
  unsigned const element = 1U << draw(4), offset = draw(2) * draw(128), how = draw(12);
  unsigned const count = draw(3) == 0 ? 1 + draw(40) : 128 / element;
  unsigned const wide = 1U << draw(4);
  constexpr scope scopes[] = {scope::work_group, scope::agent, scope::system};
  for (line_detector* const d : both) {
    if (how < 5) {
      d->races.begin_instruction(who);
      d->row(who, what, data + offset / element * element, element, count, 0);
      if (how == 0) // rows that meet
        d->row(who, what, data + 64, element, 64 / element, static_cast<int>(count));
    } else if (how < 7) {
      d->word(who, what, data + offset / wide * wide, wide, -1);
    } else if (how == 7 && offset % 16 == 0) {
      d->races.forget(data + offset, 64);
    } else if (how == 8) {
      constexpr std::array<std::uint32_t, 2> those{a, b};
      d->races.meet(those);
    } else if (how < 11) {
      auto const e = d->races.signal(who);
      d->races.receive((who + 1 + draw(1)) % 4, e);
    } else {
      detector::write_id id = 0;
      d->note(d->races.store(atomic(who, flag, 4, order::release, scopes[far]), id));
      d->note(d->races.load(atomic(other_group, flag, 4, order::acquire, scopes[far]), id));
    }
  }
}

} // namespace

TEST_SUITE("emu.race_lines") {
  TEST_CASE("marks of whole lines find what marks of words find, lane by lane and step by step") {
    for (bool const lint : {false, true}) {
      line_detector by_line(true, lint), by_lane(false, lint);
      std::uint64_t const seeds = quarry_test::fewer(std::uint64_t{4000});
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        random_bits bits(random_bits::mixed(seed));
        for (int i = 0; i < 12; ++i)
          take_step(bits, {&by_line, &by_lane});
        REQUIRE(by_line.found == by_lane.found);
        for (line_detector* const d : {&by_line, &by_lane}) {
          d->races.reset();
          d->found.clear();
        }
      }
      CHECK(by_line.lines > 5 * seeds / 2);
    }
  }

  TEST_CASE("a race with a whole line names the lane, its bytes, and no others") {
    line_detector d(true);
    d.races.begin_instruction(a);
    d.row(a, kind::store, data, 4, 64, 0);
    CHECK(d.lines == 4);
    detector::write_id id = 0;
    auto const race = d.races.store(plain(other_group, data + 64 + 12, 2), id);
    REQUIRE(race);
    CHECK(race->first.at.lane == 19);
    CHECK(race->first.address == data + 64 + 12);
    CHECK(race->first.bytes == 4);
    CHECK(race->first.step == 20);
    CHECK(race->second.bytes == 2);
    auto const wider = d.races.load(plain(host, data + 128, 8), 0);
    REQUIRE(wider); // two lanes: the later one's
    CHECK(wider->first.at.lane == 33);
    CHECK(wider->first.address == data + 132);
  }

  TEST_CASE("lanes of different sizes race where their bytes overlap") {
    line_detector d(true);
    d.races.begin_instruction(a);
    d.row(a, kind::store, data, 4, 64, 0);
    d.races.begin_instruction(b);
    CHECK(!d.races.access_line(b, kind::load, data + 128, 8, {{}, 0}));
    auto const race = d.races.load(plain(b, data + 136, 8, 1), 0);
    REQUIRE(race);
    CHECK(race->first.at.lane == 35);
    CHECK(race->first.bytes == 4);
    CHECK(race->second.at.lane == 1);
    CHECK(race->second.bytes == 8);
  }

  TEST_CASE("lanes of one instruction race with each other in a line that they both take whole") {
    for (auto const what : {kind::load, kind::store}) {
      line_detector d(true);
      d.races.begin_instruction(a);
      d.row(a, what, data, 4, 16, 0);
      d.row(a, what, data, 4, 16, 16);
      CHECK(d.found.size() == (what == kind::store ? 16 : 0));
    }
  }
}
