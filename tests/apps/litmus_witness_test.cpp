// SPDX-License-Identifier: Apache-2.0
// Weak outcomes that were counted on an NVIDIA H200, 131 million instances a row: what was seen
// there must be reachable, and what is correct in PTX must not be.
#include "litmus_text.hpp"

#include <quarry/litmus/search.hpp>

using namespace litmus_text;

namespace {

/// Two actors; their instructions with semicolons.
struct row {
  char const* name;
  char const* group; ///< of the second
  char const* first;
  char const* second;
  char const* weak_end;
};

constexpr auto same = "0";
constexpr auto other = "1";
constexpr auto mp = "P1:r1 == 1 /\\ P1:r2 == 0";
constexpr auto sb = "P0:r1 == 0 /\\ P1:r1 == 0";
constexpr auto lb = "P0:r1 == 1 /\\ P1:r1 == 1";
constexpr auto s = "x == 2 /\\ P1:r1 == 1";
constexpr auto r = "y == 2 /\\ P1:r1 == 0";
constexpr auto two_writes = "x == 1 /\\ y == 1";

constexpr row seen[]{
    {"MP+plain+none+none", other, "st.weak x, 1; st.weak y, 1", "ld.weak r1, y; ld.weak r2, x", mp},
    {"MP+relaxed.gpu+none+none", other, "st.relaxed.gpu x, 1; st.relaxed.gpu y, 1",
     "ld.relaxed.gpu r1, y; ld.relaxed.gpu r2, x", mp},
    {"MP+plain+fence.gpu+none", other, "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r1, y; ld.weak r2, x", mp},
    {"MP+plain+none+fence.gpu", other, "st.weak x, 1; st.weak y, 1",
     "ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+plain+fence.cta+fence.cta", other, "st.weak x, 1; fence.acq_rel.cta; st.weak y, 1",
     "ld.weak r1, y; fence.acq_rel.cta; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.gpu+none", other, "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.gpu+fence.cta", other,
     "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.cta; ld.weak r2, x", mp},
    {"MP+plain+precached+none+fence.gpu", other, "st.weak x, 1; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.cta+fence.gpu", other,
     "st.weak x, 1; fence.acq_rel.cta; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+relaxed.cta+precached+fence.gpu+none", other,
     "st.relaxed.cta x, 1; fence.acq_rel.gpu; st.relaxed.cta y, 1",
     "ld.relaxed.cta r0, x; ld.relaxed.cta r1, y; ld.relaxed.cta r2, x", mp},
    {"SB+plain", other, "st.weak x, 1; ld.weak r1, y", "st.weak y, 1; ld.weak r1, x", sb},
    {"SB+relaxed.gpu", other, "st.relaxed.gpu x, 1; ld.relaxed.gpu r1, y",
     "st.relaxed.gpu y, 1; ld.relaxed.gpu r1, x", sb},
    {"2+2W+plain", other, "st.weak x, 1; st.weak y, 2", "st.weak y, 1; st.weak x, 2", two_writes},
    {"2+2W+relaxed.gpu", other, "st.relaxed.gpu x, 1; st.relaxed.gpu y, 2",
     "st.relaxed.gpu y, 1; st.relaxed.gpu x, 2", two_writes},
    {"S+plain", other, "st.weak x, 2; st.weak y, 1", "ld.weak r1, y; st.weak x, 1", s},
    {"S+relaxed.gpu", other, "st.relaxed.gpu x, 2; st.relaxed.gpu y, 1",
     "ld.relaxed.gpu r1, y; st.relaxed.gpu x, 1", s},
    {"R+plain", other, "st.weak x, 1; st.weak y, 1", "st.weak y, 2; ld.weak r1, x", r},
    {"R+relaxed.gpu", other, "st.relaxed.gpu x, 1; st.relaxed.gpu y, 1",
     "st.relaxed.gpu y, 2; ld.relaxed.gpu r1, x", r},
    {"MP+plain+atom.relaxed.gpu+ld.acquire.gpu", other,
     "st.weak x, 1; atom.relaxed.gpu.exch r9, y, 1", "ld.acquire.gpu r1, y; ld.weak r2, x", mp},
    {"MP+plain+atom.release.cta+ld.acquire.gpu", other,
     "st.weak x, 1; atom.release.cta.exch r9, y, 1", "ld.acquire.gpu r1, y; ld.weak r2, x", mp},
    {"MP+plain+atom.release.gpu+ld.relaxed.gpu", other,
     "st.weak x, 1; atom.release.gpu.exch r9, y, 1", "ld.relaxed.gpu r1, y; ld.weak r2, x", mp},
    {"MP+plain+atom.release.gpu+ld.acquire.cta", other,
     "st.weak x, 1; atom.release.gpu.exch r9, y, 1", "ld.acquire.cta r1, y; ld.weak r2, x", mp},
};

constexpr row correct[]{
    {"MP+plain+fence.gpu+fence.gpu", other, "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+plain+fence.gpu+fence.gpu", same, "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+plain+fence.cta+fence.cta", same, "st.weak x, 1; fence.acq_rel.cta; st.weak y, 1",
     "ld.weak r1, y; fence.acq_rel.cta; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.gpu+fence.cta", same,
     "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.cta; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.gpu+fence.gpu", other,
     "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.gpu+fence.gpu", same,
     "st.weak x, 1; fence.acq_rel.gpu; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"MP+plain+precached+fence.cta+fence.gpu", same,
     "st.weak x, 1; fence.acq_rel.cta; st.weak y, 1",
     "ld.weak r0, x; ld.weak r1, y; fence.acq_rel.gpu; ld.weak r2, x", mp},
    {"LB+relaxed.gpu+fence.gpu", other,
     "ld.relaxed.gpu r1, x; fence.acq_rel.gpu; st.relaxed.gpu y, 1",
     "ld.relaxed.gpu r1, y; fence.acq_rel.gpu; st.relaxed.gpu x, 1", lb},
    {"LB+relaxed.gpu+fence.gpu", same,
     "ld.relaxed.gpu r1, x; fence.acq_rel.gpu; st.relaxed.gpu y, 1",
     "ld.relaxed.gpu r1, y; fence.acq_rel.gpu; st.relaxed.gpu x, 1", lb},
    {"S+relaxed.gpu+fence.gpu", other,
     "st.relaxed.gpu x, 2; fence.acq_rel.gpu; st.relaxed.gpu y, 1",
     "ld.relaxed.gpu r1, y; fence.acq_rel.gpu; st.relaxed.gpu x, 1", s},
    {"S+relaxed.gpu+fence.gpu", same, "st.relaxed.gpu x, 2; fence.acq_rel.gpu; st.relaxed.gpu y, 1",
     "ld.relaxed.gpu r1, y; fence.acq_rel.gpu; st.relaxed.gpu x, 1", s},
    {"MP+plain+atom.release.gpu+ld.acquire.gpu", other,
     "st.weak x, 1; atom.release.gpu.exch r9, y, 1", "ld.acquire.gpu r1, y; ld.weak r2, x", mp},
    {"MP+plain+atom.release.gpu+ld.acquire.gpu", same,
     "st.weak x, 1; atom.release.gpu.exch r9, y, 1", "ld.acquire.gpu r1, y; ld.weak r2, x", mp},
    {"MP+plain+atom.release.cta+ld.acquire.gpu", same,
     "st.weak x, 1; atom.release.cta.exch r9, y, 1", "ld.acquire.gpu r1, y; ld.weak r2, x", mp},
    {"MP+plain+atom.release.gpu+ld.acquire.cta", same,
     "st.weak x, 1; atom.release.gpu.exch r9, y, 1", "ld.acquire.cta r1, y; ld.weak r2, x", mp},
};

/// The instructions of both, a row each.
std::string rows_of(std::string first, std::string second) {
  auto const take = [](std::string& from) {
    auto const one = from.substr(0, from.find(';'));
    from.erase(0, one.size() + 1);
    return one;
  };
  std::string rows;
  while (!first.empty() || !second.empty()) {
    auto const left = take(first);
    rows += left + " | " + take(second) + " ;\n";
  }
  return rows;
}

verdict verdict_of(row const& asked) {
  auto const t = parsed(std::string("PTX ") + asked.name +
                        "\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta " + asked.group + ",gpu 0 ;\n" +
                        rows_of(asked.first, asked.second) + "exists (" + asked.weak_end + ")\n");
  return explore(t).what;
}

} // namespace

TEST_SUITE("apps.litmus_witness") {
  TEST_CASE("every weak outcome that a GPU showed can be reached") {
    for (auto const& one : seen) {
      CAPTURE(one.name);
      CHECK(to_string(verdict_of(one)) == "allowed");
    }
  }

  TEST_CASE("no weak outcome of a correct form can be reached") {
    for (auto const& one : correct) {
      CAPTURE(one.name);
      CAPTURE(one.group);
      CHECK(to_string(verdict_of(one)) == "forbidden");
    }
  }
}
