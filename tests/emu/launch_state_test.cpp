// SPDX-License-Identifier: Apache-2.0
// How the groups of one launch are given out, given back and counted.
#include <quarry/emu/launch_state.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

using namespace quarry;
using namespace quarry::emu;

namespace {

/// A launch of so many groups that nobody runs.
struct idle_launch : launch_state {
  explicit idle_launch(std::uint64_t count) {
    groups = extent(count);
    group_count = count;
    scheduler = &nobody;
    unfinished = count;
    kernel = "idle";
  }
  sequential_scheduler nobody;
};

std::uint64_t size_of(group_range r) {
  return r.last - r.first;
}

fault some_fault(std::string report) {
  return {fault::kind::exception, "idle", std::move(report)};
}

} // namespace

TEST_SUITE("emu.launch_state") {
  TEST_CASE("every group is claimed once; ranges shrink from a share of the rest to one group") {
    for (std::uint32_t const sharers : {1U, 2U, 8U, 1000U})
      for (std::uint64_t const count : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{999}}) {
        idle_launch l(count);
        std::uint64_t next = 0;
        std::uint64_t last_size = count;
        while (next < count) {
          std::uint64_t const left = l.unclaimed_count();
          CHECK(left == count - next);
          group_range const r = l.claim(sharers);
          REQUIRE(r.first == next);
          REQUIRE(size_of(r) == std::max<std::uint64_t>(1, left / (2 * sharers)));
          REQUIRE(size_of(r) <= last_size);
          last_size = size_of(r);
          next = r.last;
        }
        CHECK(next == count);
        CHECK(l.claim(sharers).is_empty());
        CHECK(l.unclaimed_count() == 0);
      }
  }

  TEST_CASE("a range is no larger than what there is room for") {
    idle_launch l(100);
    CHECK(size_of(l.claim(1, 8)) == 8);
    CHECK(size_of(l.claim(1, 1)) == 1);
    CHECK(size_of(l.claim(4, 50)) == 11); // of 91
    CHECK(l.unclaimed_count() == 80);
  }

  TEST_CASE("threads that claim at the same time get every group once") {
    constexpr std::uint64_t count = 20'000;
    idle_launch l(count);
    std::vector<std::atomic<int>> claimed(count);
    std::vector<std::thread> units;
    for (int u = 0; u < 3; ++u)
      units.emplace_back([&] {
        for (group_range r = l.claim(1000); !r.is_empty(); r = l.claim(1000)) {
          if (size_of(r) > 2) { // no room for the last ones
            l.give_back({r.last - 2, r.last});
            r.last -= 2;
          }
          for (std::uint64_t g = r.first; g != r.last; ++g)
            ++claimed[g];
        }
      });
    for (std::thread& u : units)
      u.join();
    // A unit may have seen nothing left just before another one gave something back.
    for (group_range r = l.claim(1); !r.is_empty(); r = l.claim(1))
      for (std::uint64_t g = r.first; g != r.last; ++g)
        ++claimed[g];
    for (auto const& c : claimed)
      REQUIRE(c == 1);
  }

  TEST_CASE("what was given back is unclaimed again, and goes out group by group") {
    idle_launch l(10);
    group_range const all = l.claim(1);
    CHECK(size_of(all) == 5);
    l.give_back({2, 5});
    l.give_back({});
    CHECK(l.unclaimed_count() == 8);
    while (l.next < 10)
      static_cast<void>(l.claim(1));
    CHECK(l.unclaimed_count() == 3);
    for (std::uint64_t g = 2; g < 5; ++g) {
      group_range const one = l.claim(1);
      CHECK(one.first == g);
      CHECK(size_of(one) == 1);
    }
    CHECK(l.claim(1).is_empty());
  }

  TEST_CASE("a launch is done when its last group is, and not before") {
    idle_launch l(10);
    l.finish(3);
    l.finish(6);
    CHECK_FALSE(l.is_done());
    l.finish(1);
    CHECK(l.is_done());
    CHECK_FALSE(l.has_failed());
    CHECK_FALSE(l.first_fault);
  }

  TEST_CASE("the first fault is kept; groups not placed yet will not be, those that run must end") {
    idle_launch l(10);
    CHECK(size_of(l.claim(1)) == 5);
    l.give_back({3, 5}); // three run
    l.fail(some_fault("first"));
    CHECK(l.has_failed());
    CHECK(l.unclaimed_count() == 0);
    CHECK(l.claim(1).is_empty());
    l.fail(some_fault("second"));
    CHECK(l.first_fault->report == "first");
    l.finish(2);
    CHECK_FALSE(l.is_done());
    l.finish(1);
    CHECK(l.is_done());
  }

  TEST_CASE("what is given back to a launch that has failed counts as ended") {
    idle_launch l(4);
    CHECK(size_of(l.claim(1)) == 2);
    l.fail(some_fault("it"));
    CHECK_FALSE(l.is_done());
    l.give_back({0, 2});
    CHECK(l.is_done());
    CHECK(l.claim(1).is_empty());
  }

  TEST_CASE("groups are numbered x fastest, and the next one needs no division") {
    idle_launch l(24);
    l.groups = {4, 3, 2};
    extent id{0, 0, 0};
    for (std::uint64_t n = 0; n < 24; ++n, id = l.following(id)) {
      CHECK(l.group_id(n) == id);
      CHECK(id.x + 4 * (id.y + 3 * id.z) == n);
    }
  }

  TEST_CASE("groups at the edges have what is left of the grid in each dimension") {
    idle_launch l(8);
    l.groups = {2, 2, 2};
    l.config.work_items_per_group = {8, 4, 2};
    l.config.work_items = {11, 8, 3};
    std::uint64_t items = 0;
    for (std::uint64_t n = 0; n < 8; ++n) {
      extent const id = l.group_id(n);
      CHECK(l.group_size(id) == extent{id.x == 0 ? 8U : 3U, 4, id.z == 0 ? 2U : 1U});
      items += l.group_size(id).volume();
    }
    CHECK(items == l.config.work_items.volume());
  }

  TEST_CASE("a report says what was launched, how large and where") {
    idle_launch l(6);
    l.config.work_items_per_group = {16, 16};
    l.config.where = std::source_location::current();
    CHECK(l.describe() == "launch of idle, 6 groups of 256 work-items, at launch_state_test.cpp:" +
                              std::to_string(l.config.where.line()));
    l.group_count = 1;
    CHECK(l.describe().starts_with("launch of idle, 1 group of 256 work-items, at "));
  }
}
