// SPDX-License-Identifier: Apache-2.0
// What reports of an explored execution say of words and actors: a part of explored_memory.hpp.
#include "agents.hpp"
#include "explored_hosts.hpp"
#include "explored_memory.hpp"

#include <quarry/emu/agent_core.hpp>
#include <quarry/report.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <source_location>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

TEST_SUITE("emu.explored_names") {
  TEST_CASE("words have the name of their allocation, and a place in words or in bytes") {
    named_row m;
    m.begin();
    CHECK(m.memory.name_of(&m.words[0]) == "row[0]");
    CHECK(m.memory.name_of(&m.words[2]) == "row, byte 8"); // nobody knows yet how large a word is
    put(m.port(0), &m.words[0], 1);
    CHECK(m.memory.name_of(&m.words[2]) == "row[2]"); // as large as the first one
    auto const* const bytes = reinterpret_cast<std::byte const*>(m.words.data());
    CHECK(m.memory.name_of(bytes + 9) == "row, byte 9");
    CHECK(m.memory.name_of(bytes + sizeof m.words) == "");
    m.known.remove(m.words.data());
    CHECK(m.memory.name_of(&m.words[0]) == "");
  }
  TEST_CASE("addresses beside an allocation are told by it, and far ones by nothing") {
    explored_hosts m;
    static std::array<std::byte, 3 << 20> space; // nothing else is near its second half
    m.known.add(space.data(), 100, "first");
    m.known.add(&space[200], 8, "second");
    m.begin();
    CHECK(m.memory.offset_of(&space[0]) == "'first' + 0");
    CHECK(m.memory.offset_of(&space[104]) == "'first' + 104");
    CHECK(m.memory.offset_of(&space[196]) == "'second' - 4");
    CHECK(m.memory.offset_of(&space[2 << 20]) == "an address");
    CHECK(m.memory.offset_of(reinterpret_cast<void const*>(8)) == "null + 8"); // NOLINT
    CHECK_SAYS(m.memory.surroundings_of(&space[60], 50),
               "10 bytes over the end of 'first' (100 bytes of memory, allocated at "
               "explored_names_test.cpp:");
    CHECK_SAYS(m.memory.surroundings_of(&space[60], 40), "at byte 60 of 'first' (");
    CHECK_SAYS(m.memory.surroundings_of(&space[60], 40), "), which another agent may access");
    CHECK_SAYS(m.memory.surroundings_of(&space[100], 1), "0 bytes after the end of 'first' (100 ");
    CHECK_SAYS(m.memory.surroundings_of(&space[196], 4), "4 bytes before 'second' (8 bytes of ");
    CHECK(m.memory.surroundings_of(&space[2 << 20], 1) == "far from every allocation");
  }
  TEST_CASE("of allocations that have gone away themselves nothing is known any more") {
    explored_hosts m;
    m.begin();
    std::array<word, 2> words{};
    {
      allocations others;
      others.tell(&m.memory);
      others.add(words.data(), sizeof words, "others");
      CHECK(m.memory.name_of(&words[0]) == "others[0]");
      put(m.port(0), &words[0], 1); // has been found: it need not be looked for
      CHECK(m.kind_found() == "");
    }
    CHECK(m.memory.name_of(&words[0]) == "");
    put(m.port(0), &words[0], 2);
    CHECK(m.kind_found() == to_string(fault::kind::out_of_bounds));
  }

  TEST_CASE("the busiest come first, each with its last line, counted from when it is asked for") {
    named_row m;
    m.begin();
    auto const line = here();
    auto const work = [&](std::size_t who, int operations) {
      for (int i = 0; i < operations; ++i)
        static_cast<void>(get(m.port(who), &m.words[who], line));
    };
    std::string const at = " at " + to_string(line);
    CHECK(m.memory.busiest() == "");
    work(0, 2);
    work(1, 5);
    work(2, 1);
    CHECK(m.memory.busiest() == "bob" + at + " (5 operations), ann" + at + " (2 operations), eve" +
                                    at + " (1 operation)");
    CHECK(m.memory.busiest(1) == "bob" + at + " (5 operations)");
    m.memory.count_operations();
    CHECK(m.memory.busiest() == "");
    work(2, 3);
    CHECK(m.memory.busiest() == "eve" + at + " (3 operations)");
  }

  TEST_CASE("an actor is described by its last operation and its last wait") {
    named_row m;
    m.begin();
    CHECK(m.memory.who_runs() == "no actor");
    CHECK(m.memory.describe(m.hosts[0]) == "ann: no operation so far");
    auto const line = here(), wait = here();
    put(m.port(0), &m.words[0], 1, line);
    CHECK(m.memory.describe(m.hosts[0]) == "ann: last operation at " + to_string(line));
    m.hosts[0].reason = {"event", wait, nullptr, nullptr};
    CHECK(m.memory.describe(m.hosts[0]) ==
          "ann: last operation at " + to_string(line) + ", last wait at " + to_string(wait));
    CHECK(m.memory.who_runs() == "no actor; those that did most: " + m.memory.busiest());
    CHECK(m.memory.where_it_runs() == "");
  }
  TEST_CASE("so is the one that runs") {
    named_row m;
    m.begin();
    auto const line = here();
    std::string before, after, where_before, where;
    m.scheduler.run([&] {
      before = m.memory.who_runs();
      where_before = m.memory.where_it_runs();
      put(m.memory.join(*m.scheduler.current()), &m.words[0], 1, line);
      after = m.memory.who_runs();
      where = m.memory.where_it_runs();
    });
    CHECK(before == "host: no operation so far");
    CHECK(where_before == "");
    CHECK(after == "host: last operation at " + to_string(line));
    CHECK(where == to_string(line));
  }

  TEST_CASE("words of the same name are numbered, wherever they were allocated") {
    named_row m;
    alignas(64) std::array<word, 4> others{};
    allocations elsewhere;
    elsewhere.add(others.data(), sizeof others, "row");
    m.begin();
    elsewhere.tell(&m.memory);
    put(m.port(0), &m.words[0], 1);
    put(m.port(0), &others[0], 1);
    CHECK(m.memory.name_of(&m.words[2]) == "row #1[2]");
    CHECK(m.memory.name_of(&others[0]) == "row #2[0]");
    CHECK(m.memory.offset_of(&others[1]) == "'row #2' + 4");
    elsewhere.remove(others.data());
    CHECK(m.memory.name_of(&m.words[2]) == "row[2]");
  }

  TEST_CASE("cores are told apart by their agents, where there are several") {
    explored_hosts m;
    m.begin();
    machine const shape{.compute_units = 1, .wavefront_size = 32};
    agent_core const one(m.scheduler, shape, false);
    m.memory.join_core(m.hosts[0], one);
    CHECK_SAYS(m.memory.describe(m.hosts[0]), "ann: no operation so far");
    agent_core const other(m.scheduler, shape, false);
    m.memory.join_core(m.hosts[1], other);
    CHECK_SAYS(m.memory.describe(m.hosts[0]), "ann of agent 1: no operation so far");
    CHECK_SAYS(m.memory.describe(m.hosts[1]), "bob of agent 2: no operation so far");
    m.port(2);
    CHECK_SAYS(m.memory.describe(m.hosts[2]), "eve: no operation so far");
  }
}
