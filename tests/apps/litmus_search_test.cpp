// SPDX-License-Identifier: Apache-2.0
// Litmus tests on the emulator's caches. Names are the literature's.
#include "litmus_text.hpp"

#include <quarry/litmus/search.hpp>

#include <set>

using namespace litmus_text;
using values = std::vector<value>;

namespace {

/// Message passing from P0 to P1 at these places; its outcomes are (flag, data) as P1 saw them.
std::set<values> message_passing(std::string const& places, std::string const& publish,
                                 std::string const& look) {
  auto const t =
      parsed("PTX MP\n{x=0; y=0;}\n " + places + " ;\n st.weak x, 1 | " + look + " r0, y ;\n " +
             publish + " y, 1 | ld.weak r1, x ;\n" + "~exists (P1:r0 == 1 /\\ P1:r1 == 0)\n");
  auto const found = explore(t);
  CHECK_FALSE(found.is_bounded());
  std::set<values> all;
  for (auto const& [end, one] : found.outcomes)
    all.insert(end);
  CHECK((found.what == verdict::allowed) == all.contains({1, 0}));
  return all;
}

std::set<values> const passed{{0, 0}, {0, 1}, {1, 1}};
std::set<values> const torn{{0, 0}, {0, 1}, {1, 0}, {1, 1}};

constexpr auto same_group = "P0@cta 0,gpu 0 | P1@cta 0,gpu 0";
constexpr auto other_group = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0";
constexpr auto other_agent = "P0@cta 0,gpu 0 | P1@cta 0,gpu 1";

} // namespace

TEST_SUITE("apps.litmus_search") {
  TEST_CASE("MP+rel+acq at a scope that holds both → no stale data") {
    CHECK(message_passing(same_group, "st.release.cta", "ld.acquire.cta") == passed);
    CHECK(message_passing(other_group, "st.release.gpu", "ld.acquire.gpu") == passed);
    CHECK(message_passing(other_agent, "st.release.sys", "ld.acquire.sys") == passed);
  }

  TEST_CASE("MP with a side missing or too narrow → stale data") {
    CHECK(message_passing(same_group, "st.weak", "ld.acquire.cta") == torn);
    CHECK(message_passing(same_group, "st.release.cta", "ld.weak") == torn);
    CHECK(message_passing(other_group, "st.release.cta", "ld.acquire.gpu") == torn);
    CHECK(message_passing(other_group, "st.release.gpu", "ld.acquire.cta") == torn);
    CHECK(message_passing(other_agent, "st.release.gpu", "ld.acquire.sys") == torn);
    CHECK(message_passing(other_agent, "st.release.sys", "ld.acquire.gpu") == torn);
  }

  TEST_CASE("what lags behind more writes than are remembered is inconclusive, and not forbidden") {
    auto const lag = [](int writes) {
      std::string program = "PTX lag\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n";
      for (int i = 1; i <= writes; ++i)
        program += " st.relaxed.sys x, " + std::to_string(i) + " | ;\n";
      return explore(parsed(program + " st.release.sys y, 1 | ld.relaxed.sys r0, y ;\n"
                                      " | ld.relaxed.sys r1, x ;\n"
                                      "exists (P1:r0 == 1 /\\ P1:r1 == 0)\n"));
    };
    CHECK(lag(2).what == verdict::allowed);
    auto const far = lag(9);
    CHECK(far.what != verdict::forbidden);
    CHECK((far.what == verdict::allowed || far.is_bounded()));
  }

  TEST_CASE("the orders in which the last writes arrive are bounded as states are") {
    auto const all_write = [](int threads, std::uint64_t most) {
      std::string places;
      std::string stores;
      for (int i = 1; i <= threads; ++i) {
        auto const end = i == threads ? " ;\n" : " | ";
        places += "P" + std::to_string(i) + "@cta " + std::to_string(i) + ",gpu 0" + end;
        stores += "st.weak x, " + std::to_string(i) + end;
      }
      return explore(parsed("PTX W\n{x=0;}\n" + places + stores + "exists (x == 99)\n"),
                     {.states = most});
    };
    auto const many = all_write(40, 100);
    CHECK(many.what == verdict::inconclusive);
    CHECK(many.is_bounded());
    CHECK(many.execution_count <= 100);
    auto const few = all_write(3, 1000);
    CHECK(few.what == verdict::forbidden);
    CHECK(few.outcomes.size() == 3);
  }

  TEST_CASE("MP+bar in one work-group → no stale data, every execution whole") {
    auto const t = parsed("PTX MP+bar\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
                          " st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\n"
                          "forall (P1:r0 == 1)\n");
    auto const found = explore(t);
    CHECK(found.what == verdict::forbidden);
    CHECK(found.outcomes.size() == 1);
    CHECK(found.stuck_count == 0);
  }

  TEST_CASE("SB with fence.sc → one of them sees the other; without → none need") {
    auto const sb = [](std::string const& fence) {
      return explore(parsed("PTX SB\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                            " st.weak x, 1 | st.weak y, 1 ;\n" +
                            fence + " ld.weak r0, y | ld.weak r0, x ;\n" +
                            "exists (P0:r0 == 0 /\\ P1:r0 == 0)"))
          .what;
    };
    CHECK(sb(" fence.sc.gpu | fence.sc.gpu ;\n") == verdict::forbidden);
    CHECK(sb(" fence.sc.cta | fence.sc.gpu ;\n") == verdict::allowed);
    CHECK(sb("") == verdict::allowed);
  }

  TEST_CASE("a ticket lock keeps two work-groups apart, at the right scope only") {
    auto const lock = [](std::string const& scope) {
      auto const row = [](std::string const& left) { return " " + left + " | " + left + " ;\n"; };
      return explore(parsed("PTX lock\n{in=0; out=0; x=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n" +
                            row("atom.relaxed.gpu.add r1, in, 1") + row("LC00:") +
                            row("ld.acquire." + scope + " r2, out") + row("bne r1, r2, LC00") +
                            row("ld.weak r3, x") + row("add r3, r3, 1") + row("st.weak x, r3") +
                            row("atom.release." + scope + ".add r4, out, 1") + "forall (x == 2)"))
          .what;
    };
    CHECK(lock("gpu") == verdict::forbidden);
    CHECK(lock("cta") != verdict::forbidden);
  }

  TEST_CASE("verdicts have names") {
    CHECK(to_string(verdict::allowed) == "allowed");
    CHECK(to_string(verdict::forbidden) == "forbidden");
    CHECK(to_string(verdict::inconclusive) == "inconclusive");
  }
}
