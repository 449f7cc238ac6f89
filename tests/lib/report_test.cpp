// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"

#include <quarry/report.hpp>

#include <doctest/doctest.h>

#include <atomic>

using namespace quarry;
using quarry_test::lone_actor;

TEST_SUITE("lib.report") {
  TEST_CASE("a table has a line an actor, with what only its crate knows, and the busy strands") {
    report table;
    lone_actor waiting;
    int object = 0;
    auto const here = std::source_location::current();
    waiting.wait_for("barrier", here, &object);
    lone_actor ready;
    table.add("a long strand name", waiting, "absent: wavefront 2");
    table.add("b", ready);
    table.busy.emplace_back("c");
    std::string const text = table.to_string();
    CAPTURE(text);
    CHECK(text.starts_with("strand              actor  waits for\n"
                           "a long strand name  lone   barrier at report_test.cpp:" +
                           std::to_string(here.line()) + " on barrier 1; absent"));
    CHECK(text.ends_with("; absent: wavefront 2\n"
                         "b                   lone   ready\n"
                         "c: running, did not come to a suspension point\n"));
    CHECK(text.find("cycle") == std::string::npos);
    table.rows[0].place = "flags[1]";
    CHECK(table.to_string().find(" on flags[1]; absent") != std::string::npos);
  }

  TEST_CASE("what is waited on has a number instead of an address, and its holder a name") {
    lone_actor actors[3];
    std::atomic<actor const*> owner{&actors[2]};
    int one = 0, other = 0;
    auto const here = std::source_location::current();
    actors[0].wait_for("mutex", here, &one, &owner);
    actors[1].wait_for("mutex", here, &other);
    actors[2].wait_for("mutex", here, &one);
    report table;
    for (lone_actor const& a : actors)
      table.add("strand", a);
    std::string const text = table.to_string();
    CAPTURE(text);
    CHECK(text.find("0x") == std::string::npos);
    CHECK(text.find(" on mutex 1, which lone has\n") != std::string::npos);
    CHECK(text.find(" on mutex 2\n") != std::string::npos);
    CHECK(text.ends_with(" on mutex 1\n"));
  }

  TEST_CASE("every ring of owners is found once, and a chain into it is no part of it") {
    // 0 -> 1 -> 2 -> 1,  3 -> 3,  4 -> nobody known
    lone_actor actors[5];
    std::atomic<actor const*> owners[5] = {};
    owners[0] = &actors[1];
    owners[1] = &actors[2];
    owners[2] = &actors[1];
    owners[3] = &actors[3];
    report table;
    for (int i = 0; i < 5; ++i) {
      actors[i].wait_for("mutex", std::source_location::current(), nullptr, &owners[i]);
      table.add("s", actors[i]);
    }
    auto const cycles = table.cycles();
    REQUIRE(cycles.size() == 2);
    CHECK(cycles[0] == std::vector<std::size_t>{1, 2});
    CHECK(cycles[1] == std::vector<std::size_t>{3});
  }

  TEST_CASE("the owner of an actor that waits no more is not followed") {
    report table;
    lone_actor a;
    {
      std::atomic<actor const*> owner{&a};
      a.wait_for("mutex", std::source_location::current(), nullptr, &owner);
    }
    a.state = actor_state::ready;
    table.add("s", a); // would read a dead atomic
    CHECK(table.cycles().empty());
  }
}
