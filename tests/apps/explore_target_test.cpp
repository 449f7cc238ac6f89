// SPDX-License-Identifier: Apache-2.0
#include "repetitions.hpp"

#include <quarry/explore/target.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::exploration;

explore_options quick(std::uint64_t executions) {
  return {.executions = executions, .shrinks = false, .diagnoses = false};
}

/// The weakenings of a target that nobody notices in so many executions.
std::set<std::string> unnoticed(std::string const& name, std::uint64_t executions) {
  target const& t = find_target(name);
  std::set<std::string> names;
  for (weakening const& w : t.weakenings)
    if (explore_target(t, &w, quick(executions)))
      names.insert(w.name());
  return names;
}

} // namespace

TEST_SUITE("apps.explore_target") {
  TEST_CASE("every target is clean, with two worlds of it at the same time") {
    for (target const& t : targets()) {
      if (t.is_program)
        continue; // apps.explore_configurations
      constexpr std::uint64_t executions = quarry_test::fewer(300U);
      verdict const v = explore_target(t, nullptr, {.executions = executions, .jobs = 2});
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
      CHECK(v.executions == executions);
    }
  }

  TEST_CASE("every weakening of the spsc_queue, queues in user mode, channels and Cilk on them, "
            "shmem and SIMT-direct's buffers is noticed") {
    CHECK(unnoticed("spsc-queue", 100) == std::set<std::string>{});
    CHECK(unnoticed("aql-queue", 100) == std::set<std::string>{});
    CHECK(unnoticed("channel", 300) == std::set<std::string>{});
    CHECK(unnoticed("flow-graph", 300) == std::set<std::string>{});
    CHECK(unnoticed("channel-yield", 3'000) == std::set<std::string>{});
    CHECK(unnoticed("cilk", 100) == std::set<std::string>{});
    CHECK(unnoticed("cilk-hybrid", 100) == std::set<std::string>{});
    CHECK(unnoticed("shmem-barrier", 100) == std::set<std::string>{});
    CHECK(unnoticed("gravel-direct", 300) == std::set<std::string>{});
  }

  TEST_CASE("an aggregator that reads what is not there yet is found, explained, and mended") {
    for (char const* const name : {"cilk", "cilk-hybrid", "channel-yield"})
      for (char const* const entry :
           {"publish_control_tail=relaxed", "aggregator_reads_tail=relaxed"})
        for (bool const detects_races : {true, false}) {
          CAPTURE(name);
          CAPTURE(entry);
          target const& t = find_target(name);
          weakening const w = find_weakenings(t, entry).front();
          verdict const v =
              explore_target(t, &w, {.executions = 100, .detects_races = detects_races});
          REQUIRE(v.failure);
          CHECK((detects_races || v.failure->kind != "race"));
          REQUIRE(v.failure->mended);
          CHECK(v.failure->mended->is_possible);
        }
  }

  TEST_CASE("in the queues with tickets, a turn and the full bit order the same twice") {
    // Whoever has waited for its turn (acquire) has seen what the full bit would tell, and the
    // other way round: one of the two may be weaker as long as the other one is not.
    std::set<std::string> const twice{
        "producer_awaits_turn=relaxed", "producer_awaits_empty=relaxed",
        "producer_awaits_empty=agent",  "consumer_awaits_turn=relaxed",
        "clear_full=relaxed",           "clear_full=agent"};
    for (char const* const name : {"mpmc-queue", "work-group-queue"}) {
      CAPTURE(name);
      CHECK(unnoticed(name, 100) == twice);
      target const& t = find_target(name);
      for (std::string const& alone : twice) {
        if (alone == t.indistinguishable.front())
          continue;
        std::string const other = alone == "producer_awaits_turn=relaxed"
                                      ? "producer_awaits_empty=relaxed"
                                      : "producer_awaits_turn=relaxed";
        auto const together = find_together(t, alone + "+" + other);
        auto const& both = together.front();
        CAPTURE(both.front().name());
        CHECK(both.front().name() == alone + "+" + other);
        CHECK(!explore_target(t, &both.front(), quick(100)));
      }
    }
  }

  TEST_CASE("entries that are weakened together are so by each of their steps") {
    target const& t = find_target("mpmc-queue");
    std::vector<std::string> names;
    for (auto const& those : find_together(t, "set_full=agent+clear_full"))
      names.push_back(those.front().name());
    CHECK(names == std::vector<std::string>{"set_full=agent+clear_full=relaxed",
                                            "set_full=agent+clear_full=agent"});
    CHECK(find_together(t, "clear_full").size() == 2);
    CHECK(find_together(t, "clear_full=agent+set_full+count_served").size() == 4);
    CHECK_THROWS_WITH_AS(static_cast<void>(find_together(t, "set_full+clear_full+set_full")),
                         "mpmc-queue: set_full is weakened twice", std::invalid_argument);
  }

  TEST_CASE("a verdict's name says what was explored") {
    auto const plain = find_explored("mpmc-queue");
    CHECK(plain.of.name == "mpmc-queue");
    CHECK(plain.weakened.empty());
    auto const weak = find_explored("mpmc-queue with set_full=agent+clear_full=relaxed");
    REQUIRE(weak.weakened.size() == 2); // two entries, together
    CHECK(weak.weakened.front().name() == "set_full=agent+clear_full=relaxed");
    CHECK_THROWS_WITH_AS(static_cast<void>(find_explored("mpmc-queue with x=relaxed")),
                         doctest::Contains("no entry 'x=relaxed'"), std::invalid_argument);
  }

  TEST_CASE(
      "every order of ComP-Net's rings, and of what they use of shmem, is found alone, as are "
      "those of shmem's collectives and waits, or others order the same") {
    for (char const* const name :
         {"shmem-collectives", "shmem-waits", "comp-net-ring", "comp-net-host-ring", "comp-net",
          "comp-net-dgpu", "comp-net-three"}) {
      CAPTURE(name);
      auto const& nobody_can = find_target(name).indistinguishable;
      CHECK(unnoticed(name, 100) == std::set<std::string>(nobody_can.begin(), nobody_can.end()));
    }
  }

  TEST_CASE("a weakened queue's failure is short, and repeats") {
    target const& t = find_target("spsc-queue");
    weakening const w = find_weakenings(t, "publish_write_index=relaxed").front();
    verdict const v = explore_target(t, &w, {.executions = 100, .detects_races = false});
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "check");
    CHECK(v.failure->is_repeatable);
    CHECK(v.failure->shrunk.preemption_count() <= 3);
    verdict const again =
        explore_target(t, &w, {.detects_races = false, .replays = v.failure->shrunk});
    REQUIRE(again.failure);
    CHECK(again.failure->where == v.failure->where);
  }

  TEST_CASE("queues of hosts and kernels, by state, within a bound") {
    for (auto const& [name, most] : {std::pair<std::string, std::uint32_t>{"spsc-queue", 2},
                                     {"mpmc-queue", 2},
                                     {"work-group-queue", 1}}) {
      CAPTURE(name);
      explore_options options{
          .executions = 20'000, .strategy = "exhaustive", .bounds = {.deviations = most}};
      verdict const full = explore_target(find_target(name), nullptr, options);
      options.hashes_states = true;
      verdict const hashed = explore_target(find_target(name), nullptr, options);
      CHECK_MESSAGE(hashed, hashed.to_string());
      CHECK(full.is_complete_up_to == options.bounds);
      CHECK(hashed.is_complete_up_to == options.bounds);
      CHECK(hashed.executions <= full.executions);
      CHECK(hashed.redundant != 0);
    }
  }

  TEST_CASE("what does not exist is refused, with what does") {
    CHECK_THROWS_WITH_AS(static_cast<void>(find_target("stack")), doctest::Contains("spsc-queue"),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(static_cast<void>(find_weakenings(find_target("spsc-queue"), "x")),
                         doctest::Contains("publish_write_index=relaxed"), std::invalid_argument);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(explore_target(find_target("gravel"), nullptr,
                                         {.strategy = "exhaustive", .reduces = true})),
        doctest::Contains("what can be reduced: spsc-queue, mpmc-queue, work-group-queue"),
        std::invalid_argument);
  }
}
