// SPDX-License-Identifier: Apache-2.0
// What programs do, on a machine without caches: all outcomes come from who goes on when.
#include "coherent_machine.hpp"
#include "litmus_text.hpp"

#include <quarry/litmus/search.hpp>

#include <set>

using namespace litmus_text;
using values = std::vector<value>;

namespace {

search_result run(std::string const& text, quarry::exhaustive_search::limits most = {}) {
  auto const t = parsed(text);
  REQUIRE(t.unsupported.empty());
  return explore_on<coherent_machine>(t, most);
}

std::set<values> ends(std::string const& text) {
  std::set<values> all;
  for (auto const& [end, count] : run(text).outcomes)
    all.insert(end);
  return all;
}

/// `count` threads of one work-group with these rows, and what is observed of them.
std::string group(int count, std::string const& rows, std::string const& observed) {
  std::string header;
  for (int i = 0; i < count; ++i)
    header += (i == 0 ? " P" : " | P") + std::to_string(i) + "@cta 0,gpu 0";
  return "PTX t\n{x=0; y=0; z=0;}\n" + header + " ;\n" + rows + "locations [" + observed +
         "]\nexists (x == 0)\n";
}

} // namespace

TEST_SUITE("apps.litmus_interpreter") {
  TEST_CASE("store buffering: each interleaving's outcome, and no other") {
    auto const sb = " st.weak x, 1   | st.weak y, 1   ;\n ld.weak r0, y   | ld.weak r0, x   ;\n";
    CHECK(ends(group(2, sb, "P0:r0;P1:r0")) == std::set<values>{{0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  }

  TEST_CASE("read-modify-writes read, write and compare") {
    CHECK(ends(group(1,
                     " atom.relaxed.gpu.add r0, x, 5 ;\n atom.relaxed.gpu.exch r1, x, 9 ;\n"
                     " atom.relaxed.gpu.cas r2, x, 8, 1 ;\n atom.relaxed.gpu.cas r3, x, 9, 7 ;\n"
                     " red.relaxed.gpu.sub x, 1 ;\n",
                     "x;P0:r0;P0:r1;P0:r2;P0:r3")) == std::set<values>{{6, 0, 5, 9, 9}});
    // Two increments, each whole.
    CHECK(ends(group(2, " atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1 ;\n",
                     "x;P0:r0;P1:r0")) == std::set<values>{{2, 0, 1}, {2, 1, 0}});
    // Two of load and store: one may be lost.
    CHECK(ends(group(2,
                     " ld.weak r0, x | ld.weak r0, x ;\n add r0, r0, 1 | add r0, r0, 1 ;\n"
                     " st.weak x, r0 | st.weak x, r0 ;\n",
                     "x")) == std::set<values>{{1}, {2}});
  }

  TEST_CASE("a loop counts, a loop that waits ends when it may, one that cannot end is stuck") {
    CHECK(ends(group(1, " LC00: ;\n add r0, r0, 1 ;\n st.weak x, r0 ;\n bne r0, 5, LC00 ;\n",
                     "x;P0:r0")) == std::set<values>{{5, 5}});
    auto const waits = run(group(2,
                                 " LC00: | st.weak x, 1 ;\n ld.weak r0, x | ;\n"
                                 " beq r0, 0, LC00 | ;\n",
                                 "P0:r0"));
    REQUIRE(waits.outcomes.size() == 1);
    CHECK(waits.outcomes.begin()->first == values{1, 1});
    auto const forever = run(group(2, " LC00: | st.weak x, 1 ;\n goto LC00 | ;\n", "x"));
    CHECK(forever.outcomes.empty());
    CHECK(forever.stuck_count > 0);
    // Waits for what nobody writes: the states repeat, and no execution is whole.
    auto const never = run(group(1, " LC00: ;\n ld.weak r0, x ;\n beq r0, 0, LC00 ;\n", "x"));
    CHECK(never.outcomes.empty());
    CHECK(never.what == verdict::no_end);
    CHECK(forever.what == verdict::no_end);
  }

  TEST_CASE("a long loop without memory comes to its end; one that is too long is left, and said") {
    auto const counting = [](std::string const& to) {
      return " LC00: ;\n add r0, r0, 1 ;\n bne r0, " + to + ", LC00 ;\n st.weak x, 7 ;\n";
    };
    CHECK(ends(group(1, counting("300000"), "x")) == std::set<values>{{7}});
    auto const longer = run(group(1, counting("600000"), "x"));
    CHECK(longer.what == verdict::inconclusive);
    CHECK(longer.is_bounded());
    CHECK(longer.stuck_count == 1);
    // Its registers come to be the same again, after 600 000 steps.
    auto const around = run(group(1,
                                  " LC00: ;\n add r0, r0, 1 ;\n bne r0, 100000, LC00 ;\n"
                                  " ld r0, 0 ;\n goto LC00 ;\n",
                                  "x"));
    CHECK(around.what == verdict::no_end);
    CHECK_FALSE(around.is_bounded());
  }

  TEST_CASE("no end that the filter lets count is a verdict of its own") {
    auto const of = [](std::string const& filter) {
      return run("PTX t\n{x=0;}\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nfilter (x == " + filter +
                 ")\nexists (x == 0)\n")
          .what;
    };
    CHECK(of("2") == verdict::no_end);
    CHECK(of("1") == verdict::forbidden);
  }

  TEST_CASE("nobody passes a barrier before all threads of the group that have it have come") {
    CHECK(ends(group(3,
                     " st.weak x, 1 | bar.cta.sync 0 | st.weak z, 5 ;\n"
                     " bar.cta.sync 0 | ld.weak r0, x | ;\n"
                     " ld.weak r1, y | | ;\n",
                     "x;P1:r0")) == std::set<values>{{1, 1}});
    // In groups of their own they do not wait for each other.
    auto const apart =
        parsed("PTX t\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
               " st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\n"
               "exists (P1:r0 == 0)");
    CHECK(explore_on<coherent_machine>(apart).what == verdict::allowed);
  }

  TEST_CASE("a barrier can be passed again and again, and each time all wait") {
    auto const rows = " LC00: | LC00: ;\n add r0, r0, 1 | add r0, r0, 1 ;\n"
                      " st.weak x, r0 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r1, x ;\n"
                      " bar.cta.sync 1 | bar.cta.sync 1 ;\n bne r0, 3, LC00 | add r2, r2, r1 ;\n"
                      " | bne r0, 3, LC00 ;\n";
    CHECK(ends(group(2, rows, "P1:r2")) == std::set<values>{{6, 3}});
  }

  TEST_CASE("barriers taken in different orders are a deadlock, and no outcome") {
    auto const r = run(group(2,
                             " bar.cta.sync 0 | bar.cta.sync 1 ;\n"
                             " bar.cta.sync 1 | bar.cta.sync 0 ;\n",
                             "x"));
    CHECK(r.outcomes.empty());
    CHECK(r.stuck_count > 0);
    CHECK(r.what == verdict::no_end);
  }

  TEST_CASE("only a subgroup's threads meet at its barriers") {
    auto const waits_for = [](std::string const& scope, std::string const& other) {
      return run("Vulkan t\n{x=0;}\n P0@sg 0, wg 0, qf 0 | P1@sg " + other +
                 ", wg 0, qf 0 ;\n st.sc0 x, 1 | cbar.acq_rel." + scope +
                 ".semsc0 0 ;\n cbar.acq_rel." + scope +
                 ".semsc0 0 | ld.sc0 r0, x ;\nexists (P1:r0 == 0)")
                 .what == verdict::forbidden;
    };
    CHECK(waits_for("wg", "0"));
    CHECK(waits_for("wg", "1"));
    CHECK(waits_for("sg", "0"));
    CHECK_FALSE(waits_for("sg", "1"));
    // Of one number, but another scope: another barrier.
    auto const apart = run("Vulkan t\n{x=0;}\n P0@sg 0, wg 0, qf 0 | P1@sg 0, wg 0, qf 0 ;\n"
                           " cbar.wg 0 | cbar.sg 0 ;\n st.sc0 x, 1 | ld.sc0 r0, x ;\n"
                           "exists (P1:r0 == 1)");
    CHECK(apart.what == verdict::allowed);
    CHECK(apart.outcomes.size() == 2);
  }

  TEST_CASE("an arrival is waited for, but does not wait") {
    auto const rows = " st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.arrive 0 | ld.weak r0, x ;\n"
                      " ld.weak r0, y | st.weak y, 1 ;\n";
    CHECK(ends(group(2, rows, "P0:r0;P1:r0")) == std::set<values>{{0, 1, 1}, {1, 1, 1}});
  }

  TEST_CASE("who has come to a barrier is part of the state, even if all else is the same") {
    // P0 ends in the same place with the same registers, whether it has come or not.
    auto const rows = " ld.weak r0, x | st.weak x, 1 ;\n beq r0, 0, LC00 | ld.weak r1, y ;\n"
                      " bar.cta.arrive 0 | bar.cta.sync 0 ;\n LC00: | ;\n ld r0, 0 | ;\n"
                      " st.weak y, 1 | ;\n";
    CHECK(run(group(2, rows, "x")).stuck_count > 0);
    CHECK(ends(group(2, rows, "P1:r1")) == std::set<values>{{0, 1}, {1, 1}});
  }

  TEST_CASE("a quorum opens a barrier for so many, and for those who come later") {
    auto const rows = [](std::string const& quorum) {
      return " st.weak x, 1 | bar.cta.sync 0, 1, " + quorum + " | bar.cta.sync 0, 1, " + quorum +
             " ;\n bar.cta.sync 0, 1, " + quorum + " | ld.weak r0, x | ;\n";
    };
    CHECK(ends(group(3, rows("2"), "P1:r0")) == std::set<values>{{0, 1}, {1, 1}});
    CHECK(ends(group(3, rows("3"), "P1:r0")) == std::set<values>{{1, 1}});
    CHECK(ends(group(3, rows("4"), "P1:r0")).empty());
  }

  TEST_CASE("barriers with different ids are different, also when a register says so") {
    auto const rows = [](std::string const& id) {
      return " st.weak x, 1 | bar.cta.sync 0, 1 ;\n ld r1, 1 | ld.weak r0, x ;\n bar.cta.sync 0, " +
             id + " | ;\n";
    };
    CHECK(ends(group(2, rows("1"), "P1:r0")) == std::set<values>{{1, 1}});
    CHECK(ends(group(2, rows("2"), "P1:r0")) == std::set<values>{{0, 1}, {1, 1}});
    CHECK(ends(group(2, rows("r1"), "P1:r0")) == std::set<values>{{1, 1}});
    // Nobody knows where r2 leads before it is there.
    CHECK(ends(group(2, rows("r2"), "P1:r0")) == std::set<values>{{1, 1}});
  }

  TEST_CASE("a filter leaves out the executions that do not meet it") {
    auto const r = run("PTX t\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
                       " st.weak x, 1 | ld.weak r0, x ;\nfilter (P1:r0 == 1)\n"
                       "forall (P1:r0 == 1)");
    CHECK(r.what == verdict::forbidden);
    CHECK(r.outcomes.size() == 1);
  }

  TEST_CASE("each thread is a wavefront, each work-group a unit, each gpu an agent") {
    auto const t = parsed("PTX t\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 | "
                          "P3@cta 0,gpu 1 ;\nexists (x == 0)");
    quarry::exhaustive_search choices;
    coherent_machine machine(choices);
    interpreter<coherent_machine> program(t, machine);
    CHECK(machine.wavefront_count == 4);
    CHECK(machine.unit_count == 3);
    CHECK(machine.agent_count == 2);
  }

  TEST_CASE("beyond the limit of states nothing is forbidden, but what was reached is allowed") {
    auto const text = group(2,
                            " st.weak x, 1 | ld.weak r0, x ;\n st.weak y, 1 | ld.weak r1, y ;\n"
                            " st.weak z, 1 | ld.weak r2, z ;\n",
                            "P1:r0");
    auto const whole = run(text);
    CHECK_FALSE(whole.is_bounded());
    CHECK(whole.what == verdict::forbidden); // x is 1 at the end
    auto const cut = run(text, {.states = whole.state_count - 1});
    CHECK(cut.is_bounded());
    CHECK(cut.what == verdict::inconclusive);
    auto const reached = run("PTX t\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
                             " ld.weak r0, x | ld.weak r1, x ;\nexists (x == 0)",
                             {.states = 3});
    CHECK(reached.is_bounded());
    CHECK(reached.what == verdict::allowed);
  }
}
