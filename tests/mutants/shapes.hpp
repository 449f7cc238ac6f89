// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/litmus/search.hpp>

#include <array>
#include <string>
#include <vector>

namespace quarry_test {

struct shape {
  std::string name;
  std::string text;
  quarry::litmus::verdict expected;
};

namespace shapes {

using quarry::litmus::verdict;

/// Where P0 and P1 run, and the scope that joins them.
struct placement {
  char const* name;
  char const* threads;
  char const* scope;
};
inline constexpr std::array<placement, 3> placements{{
    {"one work-group", "P0@cta 0,gpu 0 | P1@cta 0,gpu 0", "cta"},
    {"two compute units", "P0@cta 0,gpu 0 | P1@cta 1,gpu 0", "gpu"},
    {"two agents", "P0@cta 0,gpu 0 | P1@cta 0,gpu 1", "sys"},
}};

/// The text with `$` replaced by the scope.
inline std::string at_scope(std::string text, std::string const& scope) {
  for (auto at = text.find('$'); at != text.npos; at = text.find('$'))
    text.replace(at, 1, scope);
  return text;
}

inline shape make(placement const& p, char const* name, char const* rows, char const* asks,
                  verdict expected) {
  return {std::string(name) + ", " + p.name,
          "PTX " + std::string(name) + "\n{x=0; y=0;}\n " + p.threads + " ;\n" +
              at_scope(rows, p.scope) + asks + "\n",
          expected};
}

inline constexpr auto stale = "exists (P1:r0 == 1 /\\ P1:r1 == 0)";

} // namespace shapes

/// Litmus tests that between them need every rule of the cache machine: what it must forbid, and of
/// each kind something that it must allow.
inline std::vector<shape> own_shapes() {
  using namespace shapes;
  constexpr auto allowed = verdict::allowed, forbidden = verdict::forbidden;
  std::vector<shape> all;
  for (placement const& p : placements) {
    auto const add = [&](char const* name, char const* rows, char const* asks, verdict expected) {
      all.push_back(make(p, name, rows, asks, expected));
    };
    add("MP+rel+acq",
        " st.weak x, 1 | ld.acquire.$ r0, y ;\n st.release.$ y, 1 | ld.weak r1, x ;\n", stale,
        forbidden);
    add("MP+rlx+acq",
        " st.weak x, 1 | ld.acquire.$ r0, y ;\n st.relaxed.$ y, 1 | ld.weak r1, x ;\n", stale,
        allowed);
    add("MP+rel+rlx",
        " st.weak x, 1 | ld.relaxed.$ r0, y ;\n st.release.$ y, 1 | ld.weak r1, x ;\n", stale,
        allowed);
    add("MP+fences",
        " st.weak x, 1 | ld.relaxed.$ r0, y ;\n fence.acq_rel.$ | fence.acq_rel.$ ;\n"
        " st.relaxed.$ y, 1 | ld.weak r1, x ;\n",
        stale, forbidden);
    add("MP+update.rel+acq",
        " st.weak x, 1 | ld.acquire.$ r0, y ;\n atom.release.$.add r2, y, 1 | ld.weak r1, x ;\n",
        stale, forbidden);
    add("2+updates", " atom.relaxed.$.add r0, x, 1 | atom.relaxed.$.add r0, x, 1 ;\n",
        "exists (x != 2)", forbidden);
    add("own store, then an update",
        " st.weak x, 1 | ld.weak r1, y ;\n"
        " atom.relaxed.$.add r0, x, 1 | ;\n",
        "exists (P0:r0 != 1)", forbidden);
    add("SB+sc",
        " st.weak x, 1 | st.weak y, 1 ;\n fence.sc.$ | fence.sc.$ ;\n"
        " ld.weak r0, y | ld.weak r0, x ;\n",
        "exists (P0:r0 == 0 /\\ P1:r0 == 0)", forbidden);
  }
  all.push_back(make(placements[0], "MP+bar",
                     " st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r1, x ;\n",
                     "exists (P1:r1 == 0)", forbidden));
  return all;
}

} // namespace quarry_test
