// SPDX-License-Identifier: Apache-2.0
// The memory of an explored execution as its hosts see it: who is who, what is found, what is
// where. What launches order, and what wavefronts meet in, is in the explore_… suites.
#include "agents.hpp"
#include "explored_hosts.hpp"
#include "explored_memory.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/report.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using strings = std::set<std::string>;

/// One host stores, and another one loads, between which there may be an edge.
strings handed_over(bool signals, bool receives) {
  named_row m;
  return in_every_execution(m, [&] {
    m.port(1); // is there before
    put(m.port(0), &m.words[0], 7);
    auto const edge = signals ? m.memory.signal(m.hosts[0]) : 0;
    if (receives)
      m.memory.receive(m.hosts[1], edge);
    word const seen = get(m.port(1), &m.words[0]);
    return std::to_string(seen) + m.kind_found();
  });
}

/// The same by a relaxed flag, adjusted so.
strings handed_over(std::vector<adjustment> const& those, std::source_location store,
                    std::source_location load) {
  named_row m;
  m.memory.operations().adjust(those);
  return in_every_execution(m, [&]() -> std::string {
    put(m.port(0), &m.words[0], 7);
    m.port(0).store(&m.words[3], 1U, order::relaxed, scope::agent, store);
    if (m.port(1).load(&m.words[3], order::relaxed, scope::agent, load) == 0)
      return "not yet";
    word const seen = get(m.port(1), &m.words[0]);
    return std::to_string(seen) + m.kind_found();
  });
}

} // namespace

TEST_SUITE("emu.explored_memory") {
  TEST_CASE(
      "it is its scheduler's from the first to the last, and runs between begin() and end()") {
    sequential_scheduler own, other;
    native_scheduler native({.threads = 1});
    quarry::boring boring;
    CHECK(explored_memory::of(own) == nullptr);
    {
      explored_memory memory(own, {});
      CHECK(explored_memory::of(own) == &memory);
      CHECK(explored_memory::running() == nullptr);
      memory.begin(boring, false);
      CHECK(explored_memory::running() == &memory);
      CHECK(explored_memory::of(own) == &memory);
      CHECK(explored_memory::of(other) == nullptr);
      CHECK(explored_memory::of(native) == nullptr);
      explored_memory* elsewhere = &memory;
      std::thread([&] { elsewhere = explored_memory::running(); }).join();
      CHECK(elsewhere == nullptr);
      memory.end();
      CHECK(explored_memory::running() == nullptr);
      CHECK(explored_memory::of(own) == &memory);
      memory.begin(boring, false);
    }
    CHECK(explored_memory::of(own) == nullptr);
    CHECK(explored_memory::running() == nullptr);
  }

  TEST_CASE("who comes again has the port that it had; each has a cache of its own") {
    named_row m;
    m.begin();
    cache_port const &ann = m.port(0), &eve = m.port(2);
    CHECK(&m.port(0) == &ann);
    CHECK(&m.port(2) == &eve);
    CHECK(ann.id() != eve.id());
    put(ann, &m.words[0], 1);
    CHECK(get(ann, &m.words[0]) == 1);
    CHECK(m.words[0] == 0);
    CHECK(&m.memory.join(m.hosts[0]).scheduler() == &m.scheduler);
  }

  TEST_CASE("of the last execution nothing is left: no values, actors, names or findings") {
    named_row m;
    m.begin(true);
    m.port(2);
    auto const line = here();
    for (std::size_t const i : {0U, 1U})
      for (word& w : m.words)
        put(m.port(i), &w, 1, line); // races
    CHECK(m.kind_found() == "race");
    CHECK(m.memory.equal_count() == 3);
    CHECK(m.memory.history() != "");
    CHECK(m.memory.activity() != 0);
    m.memory.begin(m.boring, true);
    CHECK(m.kind_found() == "");
    CHECK(m.memory.equal_count() == 0);
    CHECK(m.memory.history() == "");
    CHECK(m.memory.activity() == 0);
    CHECK(m.memory.busiest() == "");
    CHECK(m.memory.name_of(&m.words[0]) == ""); // nobody has told of allocations yet
    CHECK(m.memory.describe(m.hosts[1]) == "bob: no operation so far");
    CHECK(m.port(1).id() == 0);
    m.finish();
    CHECK(m.words[0] == 0);
  }

  // Findings

  TEST_CASE("the first finding stays, and others of its class are counted") {
    explored_hosts m;
    m.begin();
    m.memory.found({"race", "a.cpp:1 b.cpp:2", "the first"});
    m.memory.found({"check", "a.cpp:1 b.cpp:2", "of another kind"});
    m.memory.found({"race", "a.cpp:1", "somewhere else"});
    m.memory.found({"race", "a.cpp:1 b.cpp:2", "the same"});
    m.memory.found({"race", "a.cpp:1 b.cpp:2", "and again"});
    CHECK(m.kind_found() == "race");
    CHECK(m.report() == "the first\n"); // a whole line
    CHECK(m.memory.equal_count() == 2);
  }
  TEST_CASE("what comes of a failure is a part of its report; alone, it is one") {
    explored_hosts m;
    m.begin();
    m.memory.found_or_noted({"deadlock", "", "nobody can go on\n"});
    CHECK(m.kind_found() == "deadlock");
    m.memory.found_or_noted({"check", "a.cpp:1", "  and this\n"});
    CHECK(m.kind_found() == "deadlock");
    CHECK(m.report() == "nobody can go on\n  and this\n");
    CHECK(m.memory.equal_count() == 0);
  }
  TEST_CASE("what an operation has thrown is found by the fault's name, at its line, with who") {
    explored_hosts m;
    m.begin();
    auto const where = here();
    m.memory.found(kernel_stop{fault::kind::misaligned, "odd", where}, "the aggregator");
    REQUIRE(m.memory.first_finding());
    CHECK(m.kind_found() == to_string(fault::kind::misaligned));
    CHECK(m.memory.first_finding()->where == to_string(where));
    CHECK(m.report() == to_string(where) + ": the aggregator: odd\n");
  }

  TEST_CASE("memory that holds nothing yet must be written before it is read: every byte of it") {
    explored_hosts m;
    alignas(64) std::array<word, 2> fresh;
    auto const read = [&](contents what, std::size_t written, bool directly) {
      std::memset(fresh.data(), uninitialised_byte, sizeof fresh);
      m.begin();
      m.known.add(fresh.data(), sizeof fresh, "fresh", what);
      auto* const bytes = reinterpret_cast<std::uint8_t*>(fresh.data());
      for (std::size_t i = 0; i < written && directly; ++i)
        bytes[i] = 1;
      for (std::size_t i = 0; i < written && !directly; ++i)
        m.port(0).store(bytes + i, std::uint8_t{1}, std::nullopt, scope::work_item, here());
      static_cast<void>(get(m.port(0), &fresh[0]));
      m.known.remove(fresh.data());
      return m.report();
    };
    std::string const nothing = "nothing was found";
    CHECK(read(contents::zeroed, 0, false) == nothing);
    CHECK_SAYS(read(contents::uninitialised, 0, false),
               "ann reads 4 bytes of global memory that nobody has written (fresh[0])");
    CHECK_SAYS(read(contents::uninitialised, 3, false),
               "ann reads 4 bytes of global memory of which 1 of 4 nobody has written");
    CHECK(read(contents::uninitialised, 4, false) == nothing);
    CHECK(read(contents::uninitialised, 4, true) == nothing); // by host code, without a port
  }

  // What is ordered

  TEST_CASE("a signal hands over all that was done before it, to who receives it") {
    CHECK(handed_over(true, true) == strings{"7"});
    CHECK(handed_over(true, false) == strings{"0race", "7race"});
    CHECK(handed_over(false, false) == strings{"0race", "7race"});
  }

  TEST_CASE("operations are performed as they are adjusted, at their lines, until the next call") {
    auto const store = here();
    auto const load = here();
    adjustment const release{{store, operation_kind::store, order::relaxed, scope::agent},
                             order::release,
                             scope::system};
    adjustment const acquire{
        {load, operation_kind::load, order::relaxed, scope::agent}, order::acquire, scope::system};
    CHECK(handed_over({release, acquire}, store, load) == strings{"not yet", "7"});
    strings const wrong{"not yet", "0race", "7race"};
    CHECK(handed_over({acquire}, store, load) == wrong);
    adjustment elsewhere = release;
    elsewhere.at.where = here();
    CHECK(handed_over({elsewhere, acquire}, store, load) == wrong);
    adjustment of_another_order = release;
    of_another_order.at.how = order::acq_rel;
    CHECK(handed_over({of_another_order, acquire}, store, load) == wrong);
  }
  TEST_CASE("operations are collected as they are written, each once, until nobody wants them") {
    named_row m;
    m.begin();
    std::vector<operation_site> all;
    m.memory.operations().collect(&all);
    auto const line = here();
    for (int i = 0; i < 3; ++i) {
      put(m.port(0), &m.words[0], 1, line);
      m.port(1).fence(order::acquire, scope::agent, line);
      m.port(0).update(&m.words[1], order::relaxed, scope::system, line,
                       [](word v) { return std::optional(v + 1); });
    }
    m.memory.operations().collect(nullptr);
    static_cast<void>(get(m.port(0), &m.words[0], line));
    CHECK(all == std::vector<operation_site>{
                     {line, operation_kind::store, std::nullopt, scope::work_item},
                     {line, operation_kind::fence, order::acquire, scope::agent},
                     {line, operation_kind::update, order::relaxed, scope::system}});
  }

  TEST_CASE("where nobody can go on, relaxed stores arrive, once") {
    named_row m;
    m.begin();
    CHECK_FALSE(m.memory.settle());
    m.port(0).store(&m.words[0], word{3}, order::relaxed, scope::system, here());
    CHECK(m.memory.settle());
    CHECK_FALSE(m.memory.settle());
    m.memory.to_host();
    CHECK(m.words[0] == 3);
  }

  TEST_CASE("memory that goes away holds what was on its way there; what comes back is another") {
    named_row m;
    m.begin();
    put(m.port(0), &m.words[1], 5);
    put(m.port(0), &m.words[2], 6);
    CHECK(m.words[1] == 0);
    m.known.remove(m.words.data());
    CHECK(m.words == std::array<word, 4>{0, 5, 6, 0});
    m.words[1] = 9;
    m.known.add(m.words.data(), sizeof m.words, "row again");
    CHECK(get(m.port(0), &m.words[1]) == 9); // its cache holds nothing either
    put(m.port(1), &m.words[2], 10);
    CHECK(m.kind_found() == ""); // nobody has reached the new one before
  }

  TEST_CASE("whatever may let somebody go on is activity; what reads is not") {
    named_row m;
    m.begin();
    auto &ann = m.port(0), &bob = m.port(1);
    auto const is_active = [&](auto const& f) {
      std::uint64_t const before = m.memory.activity();
      f();
      return m.memory.activity() != before;
    };
    CHECK(is_active([&] { put(ann, &m.words[0], 0); }));
    CHECK(is_active([&] { static_cast<void>(m.memory.signal(m.hosts[0])); }));
    CHECK(is_active([&] { m.memory.receive(m.hosts[1], m.memory.signal(m.hosts[0])); }));
    CHECK_FALSE(is_active([&] { static_cast<void>(get(bob, &m.words[0])); }));
    CHECK_FALSE(is_active([&] { bob.fence(order::seq_cst, scope::system, here()); }));
  }
}
