// SPDX-License-Identifier: Apache-2.0
// Work-groups that are not all resident at once start in either order: who waits for lower ones
// counts on an order that there is not.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;
constexpr word group_items = 32; // one wavefront

/// Each group adds its number to what those before it have come to: a look-back, by the group's
/// number or by a ticket.
struct look_back {
  bool takes_tickets;
  task<> operator()(any_wavefront auto& wf, global<word> tickets, global<word> sums) const {
    word at = static_cast<word>(wf.linear_group_id());
    if (takes_tickets)
      at = wf.fetch_add(tickets, 1U, order::relaxed, scope::agent);
    word before = 1;
    if (at != 0)
      co_await wf.wait_until(
          sums + static_cast<int>(at - 1),
          [&before](word sum) {
            before = sum;
            return sum != 0;
          },
          order::acquire, scope::agent);
    wf.store(sums + static_cast<int>(at), before + at, order::release, scope::agent);
  }
};

/// Which group has come first.
struct first_one {
  task<> operator()(any_wavefront auto& wf, global<word> first) const {
    word nobody = 0;
    static_cast<void>(wf.compare_exchange(
        first, nobody, static_cast<word>(wf.linear_group_id()) + 1, order::relaxed, scope::agent));
    co_return;
  }
};

constexpr int most_groups = 5;

/// On one compute unit with room for two groups.
verdict looks_back(bool takes_tickets, word groups) {
  return explore({.executions = 200, .diagnoses = false, .keeps_failures = false}, [=](world& w) {
    explored_agent gpu(w.scheduler(),
                       {.compute_units = 1, .wavefront_slots = 2, .wavefront_size = group_items});
    auto tickets = w.allocate<word>(1, "tickets");
    auto sums = w.allocate<word>(most_groups, "sums");
    static_cast<void>(
        gpu.run({.work_items = groups * group_items, .work_items_per_group = group_items},
                look_back{takes_tickets}, tickets.global(), sums.global()));
    w.check(sums.host()[groups - 1] == 1 + groups * (groups - 1) / 2, "a wrong sum");
  });
}

std::set<word> who_came_first(word groups) {
  std::set<word> seen;
  verdict const v =
      explore({.executions = 1'000'000, .strategy = "exhaustive", .reduces = true}, [&](world& w) {
        explored_agent gpu(
            w.scheduler(),
            {.compute_units = 1, .wavefront_slots = 1, .wavefront_size = group_items});
        auto first = w.allocate<word>(1, "first");
        static_cast<void>(
            gpu.run({.work_items = groups * group_items, .work_items_per_group = group_items},
                    first_one{}, first.global()));
        seen.insert(first.host()[0] - 1);
      });
  REQUIRE_MESSAGE(v, v.to_string());
  REQUIRE(v.is_complete);
  return seen;
}

} // namespace

TEST_SUITE("emu.explore_group_order") {
  TEST_CASE("a look-back by the group's number ends in a deadlock, by tickets it does not") {
    verdict const v = looks_back(false, most_groups);
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == to_string(fault::kind::not_resident));
    CHECK_MESSAGE(v.failure->report.find("3 of 5 groups are not resident: all places are taken") !=
                      std::string::npos,
                  v.failure->report);
    CHECK_MESSAGE(v.failure->report.find("the last groups have started first") != std::string::npos,
                  v.failure->report);
    verdict const right = looks_back(true, most_groups);
    CHECK_MESSAGE(right, right.to_string());
  }

  TEST_CASE("where all of them are resident at once there is no order to count on, and no choice") {
    verdict const v = looks_back(false, 2);
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("the first ones come first, or the last ones") {
    CHECK(who_came_first(1) == std::set<word>{0});
    CHECK(who_came_first(4) == std::set<word>{0, 3});
  }
}
