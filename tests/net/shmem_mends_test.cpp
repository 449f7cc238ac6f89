// SPDX-License-Identifier: Apache-2.0
// What an OpenSHMEM program lacks is named: a fence(), or a quiet(), and the line before which it
// belongs.
#include "explored_pes.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>

using namespace shmem_test;

namespace {

using line_number = std::uint_least32_t;

void put_data(world& w, node& n, shmem::context& c) {
  w.check(c.put(word(n, 0), std::array<std::uint64_t, 2>{1, 2}, pe{1}).has_value(), "put");
}

void look(world& w, world_core& self, node& n) {
  std::uint64_t const first = self.load(emu::global<std::uint64_t>(word(n, 0)));
  std::uint64_t const second = self.load(emu::global<std::uint64_t>(word(n, 0) + 1));
  w.check(first == 1 && second == 2, "the data is not there yet");
}

void await_and_look(world& w, world_core& self, node& n) {
  w.check(n.wait_until(word(n, 1), shmem::comparison::equal, 1).has_value(), "wait_until");
  look(w, self, n);
}

/// The one change that mends it, whether races are looked for or values are old, is of that line.
void check_mend(pe_body const& first, pe_body const& second, line_number const& line,
                std::string const& change) {
  for (bool const detects : {false, true}) {
    CAPTURE(detects);
    verdict const v =
        explore({.executions = 500, .detects_races = detects, .keeps_failures = false},
                world_of(first, second));
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    auto const& changes = v.failure->mended->changes;
    REQUIRE_MESSAGE(changes.size() == 1, v.to_string());
    CHECK(to_string(changes[0]) ==
          "shmem_mends_test.cpp:" + std::to_string(line) + " " + change + " before it");
  }
}

constexpr char const* quiet_first = "operation -> with a quiet() of every context";

/// One pe puts, both meet, the other one looks: what is missing is a quiet() before they meet.
void check_meeting(std::function<void(world&, node&)> const& meet, bool on_another_context,
                   line_number const& line) {
  auto const give = [&](world& w, world_core&, node& n) {
    auto other = n.make_context();
    put_data(w, n, on_another_context ? *other : n.default_context());
    meet(w, n);
  };
  auto const take = [&](world& w, world_core& self, node& n) {
    meet(w, n);
    look(w, self, n);
  };
  check_mend(give, take, line, std::string("collective ") + quiet_first);
}

} // namespace

TEST_SUITE("net.shmem_mends") {
  TEST_CASE("a fence between data and its flag") {
    line_number line = 0;
    auto const give = [&](world& w, world_core&, node& n) {
      put_data(w, n, n.default_context());
      line = std::source_location::current().line() + 1;
      w.check(n.default_context().p(word(n, 1), 1, pe{1}).has_value(), "p");
    };
    check_mend(give, await_and_look, line, "remote operation -> with a fence()");
  }

  TEST_CASE("a quiet of the context whose data a flag of another one announces") {
    line_number line = 0;
    for (bool const fences : {false, true}) {
      CAPTURE(fences);
      auto const give = [&](world& w, world_core&, node& n) {
        auto other = n.make_context();
        put_data(w, n, *other);
        if (fences)
          n.default_context().fence();
        line = std::source_location::current().line() + 1;
        w.check(n.default_context().p(word(n, 1), 1, pe{1}).has_value(), "p");
      };
      check_mend(give, await_and_look, line, std::string("remote ") + quiet_first);
    }
  }

  TEST_CASE("a quiet before a sync_all that is taken for a barrier_all") {
    line_number line = 0;
    auto const meet = [&](world& w, node& n) {
      line = std::source_location::current().line() + 1;
      w.check(n.sync_all().has_value(), "sync_all");
    };
    check_meeting(meet, false, line);
  }

  TEST_CASE("a quiet of the context that a barrier_all does not complete") {
    line_number line = 0;
    auto const meet = [&](world& w, node& n) {
      line = std::source_location::current().line() + 1;
      w.check(n.barrier_all().has_value(), "barrier_all");
    };
    check_meeting(meet, true, line);
  }

  TEST_CASE("where every order is as it must be, there is no mend") {
    auto const give = [](world& w, world_core&, node& n) {
      put_data(w, n, n.default_context());
      w.check(n.barrier_all().has_value(), "barrier_all");
    };
    auto const take = [](world& w, world_core&, node& n) {
      w.check(n.barrier_all().has_value(), "barrier_all");
      w.check(*word(n, 0) == 2, "wrong");
    };
    verdict const v = explore({.executions = 50, .keeps_failures = false}, world_of(give, take));
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    CHECK_FALSE(v.failure->mended->is_possible);
    CHECK_MESSAGE(v.to_string().find("fence() or quiet() mends it") != std::string::npos,
                  v.to_string());
  }
}
