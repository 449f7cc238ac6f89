// SPDX-License-Identifier: Apache-2.0
// The axioms of the PTX memory model, as a reference that shares nothing with the caches: first
// that they are the published ones, then that the caches keep them.
#include "coherent_machine.hpp"
#include "litmus_text.hpp"
#include "ptx_outcomes.hpp"
#include "random_ptx.hpp"

#include <quarry/litmus/expected.hpp>
#include <quarry/litmus/search.hpp>

#include <cstdlib>
#include <filesystem>

using namespace litmus_text;
using ptx_model::allowed_outcomes;
using ptx_model::axiom;

namespace {

/// Whether the axioms allow the end that the test is about.
bool allows(test const& t, ptx_model::axiom_set axioms = {}) {
  for (auto const& end : allowed_outcomes(t, axioms))
    if (t.final.is_target(end))
      return true;
  return false;
}

struct forbidden_row {
  axiom by; ///< this one alone
  std::string text;
};

/// FenceSC is not among them: where a FenceSC order contradicts causality, another one does not and
/// gives the same values.
forbidden_row const forbidden[]{
    {axiom::coherence, "PTX CoWW+rel+acq\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                       " st.weak x, 1 | ld.acquire.gpu r0, y ;\n"
                       " st.release.gpu y, 1 | st.weak x, 2 ;\n"
                       "exists (P1:r0 == 1 /\\ x == 1)\n"},
    {axiom::atomicity, "PTX Atom\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                       " st.relaxed.gpu x, 1 | atom.relaxed.gpu.exch r0, x, 2 ;\n"
                       "exists (P1:r0 == 0 /\\ x == 2)\n"},
    {axiom::no_thin_air, "PTX LB+datas\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                         " ld.weak r0, x | ld.weak r0, y ;\n"
                         " sub r1, r0, r0 | sub r1, r0, r0 ;\n"
                         " add r1, r1, 1 | add r1, r1, 1 ;\n"
                         " st.weak y, r1 | st.weak x, r1 ;\n"
                         "exists (P0:r0 == 1 /\\ P1:r0 == 1)\n"},
    {axiom::sc_per_location, "PTX CoWW\n{x=0;}\n P0@cta 0,gpu 0 ;\n"
                             " st.weak x, 1 ;\n st.weak x, 2 ;\n"
                             "exists (x == 1)\n"},
    {axiom::causality, "PTX MP+rel+acq\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                       " st.weak x, 1 | ld.acquire.gpu r0, y ;\n"
                       " st.release.gpu y, 1 | ld.weak r1, x ;\n"
                       "exists (P1:r0 == 1 /\\ P1:r1 == 0)\n"},
    {axiom::causality, "PTX SB+fence.scs\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                       " st.weak x, 1 | st.weak y, 1 ;\n fence.sc.gpu | fence.sc.gpu ;\n"
                       " ld.weak r0, y | ld.weak r0, x ;\n"
                       "exists (P0:r0 == 0 /\\ P1:r0 == 0)\n"},
};

} // namespace

TEST_SUITE("apps.litmus_axioms") {
  TEST_CASE("every published verdict follows from the axioms") {
    char const* const corpus = std::getenv("QUARRY_LITMUS_CORPUS");
    if (corpus == nullptr || !std::filesystem::is_directory(corpus)) {
      MESSAGE("skipped: there is no corpus of litmus tests, QUARRY_LITMUS_CORPUS names none");
      return;
    }
    auto const rows = read_expectations(std::filesystem::path(corpus) / "ptx" / "expected.csv");
    REQUIRE(rows.has_value());
    int agreed = 0;
    for (auto const& row : *rows) {
      auto const t = read_test(row.test);
      REQUIRE(t.has_value());
      if (auto const why = ptx_model::inexpressible(*t); !why.empty()) {
        MESSAGE(t->file << " needs " << why);
        continue;
      }
      CAPTURE(t->file);
      bool const is_allowed =
          row.what == expected_class::exact_allowed || row.what == expected_class::model_stronger;
      CHECK(allows(*t) == is_allowed);
      ++agreed;
    }
    CHECK(agreed >= 80);
    MESSAGE(agreed << " of " << rows->size() << " verdicts");
  }

  TEST_CASE("each axiom forbids something that the others allow") {
    for (auto const& row : forbidden) {
      CAPTURE(row.text);
      auto const t = parsed(row.text);
      CHECK_FALSE(allows(t));
      CHECK(allows(t, {.without = 1U << static_cast<unsigned>(row.by)}));
    }
  }

  TEST_CASE("whatever a machine without caches does is allowed") {
    random_ptx programs(1);
    for (int i = 0; i < 1000; ++i) {
      auto const text = programs.next();
      CAPTURE(text);
      auto const t = parsed(text);
      auto const allowed = allowed_outcomes(t);
      for (auto const& [end, one] : explore_on<coherent_machine>(t).outcomes)
        CHECK(allowed.contains(end));
    }
  }
}
