// SPDX-License-Identifier: Apache-2.0
// The axioms of the PTX memory model, as a reference that shares nothing with the caches: first
// that they are the published ones, then that the caches keep them.
#include "cache_machine.hpp"
#include "coherent_machine.hpp"
#include "litmus_text.hpp"
#include "ptx_outcomes.hpp"
#include "random_ptx.hpp"

#include <quarry/litmus/expected.hpp>
#include <quarry/litmus/search.hpp>
#include <quarry/sanitizers.hpp>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

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

/// No state is taken for another one: every execution is followed to its end.
class unmistakable_machine : public quarry::emu::cache_machine {
public:
  using cache_machine::cache_machine;
  [[nodiscard]] std::uint64_t hash() const { return ++count_; }

private:
  mutable std::uint64_t count_ = 0;
};

/// Calls f(program) for each of so many random programs, or of a sixteenth where a sanitizer looks.
template<class F>
void for_random_programs(std::uint64_t seed, int count, F const& f,
                         random_ptx::shapes which = random_ptx::shapes::any) {
  if (char const* const times = std::getenv("QUARRY_RANDOM_PROGRAMS")) // more than every build has
    count *= std::atoi(times);
  else if (QUARRY_ASAN != 0 || QUARRY_TSAN != 0)
    count /= 16;
  REQUIRE(count > 0);
  random_ptx programs(seed, which);
  int left_out = 0;
  for (int i = 0; i < count; ++i) {
    auto const text = programs.next();
    CAPTURE(text);
    try {
      f(parsed(text));
    } catch (std::length_error const&) { // too large for the axioms' reference
      ++left_out;
    }
  }
  CHECK(1000 * left_out <= count);
  MESSAGE(std::to_string(count - left_out), " programs");
}

/// Minimised; the work-group's scope is the narrower one.
constexpr char const* mended[]{
    // An update that left its word as it was came between what another one had read and written:
    // one
    // below it, behind what had come to memory meanwhile,
    "PTX Atom+kept\n{x=0; y=0;}\n P0@cta 1,gpu 1 | P1@cta 1,gpu 0 | P2@cta 1,gpu 0 ;\n"
    " st.weak x, 1 | atom.relaxed.cta.add r0, x, 0 | atom.acq_rel.gpu.exch r0, y, 0 ;\n"
    " atom.relaxed.sys.add r0, x, 16 | fence.sc.sys | fence.acq_rel.cta ;\n"
    " | st.relaxed.cta y, 2 | atom.relaxed.cta.exch r1, x, 1 ;\n"
    "exists (P0:r0 == 1 /\\ P1:r0 == 17 /\\ P2:r0 == 0 /\\ P2:r1 == 0 /\\ x == 1 /\\ y == 2)\n",
    // or one above, behind a store that had come there late.
    "PTX Atom+kept+late\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 1 ;\n"
    " st.weak x, 1 | atom.relaxed.sys.exch r0, y, 2 | atom.acq_rel.sys.exch r0, x, 0 ;\n"
    " atom.acq_rel.sys.exch r0, y, 1 | atom.relaxed.sys.exch r1, x, 1 | fence.acq_rel.cta ;\n"
    "exists (P0:r0 == 0 /\\ P1:r0 == 1 /\\ P1:r1 == 1 /\\ P2:r0 == 0 /\\ x == 0 /\\ y == 2)\n",
    // A store got before one that its reader had acquired: in a cache that had got that later.
    "PTX CoWR+rel+acq\n{x=0; y=0;}\n P0@cta 1,gpu 1 | P1@cta 0,gpu 0 | P2@cta 1,gpu 0 ;\n"
    " st.relaxed.sys x, 1 | ld.relaxed.sys r0, x | st.relaxed.sys x, 3 ;\n"
    " st.release.sys y, 17 | ld.relaxed.sys r1, y | atom.acq_rel.sys.exch r0, y, 19 ;\n"
    " | | ld.relaxed.sys r1, x ;\n"
    "exists (P2:r0 == 17 /\\ P1:r0 == 1 /\\ P1:r1 == 19 /\\ P2:r1 == 3 /\\ x == 1)\n",
    // A relaxed store, late, came between an update's read and its write.
    "PTX Atom\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
    " st.relaxed.cta x, 1 | atom.relaxed.cta.exch r0, x, 2 ;\n"
    "exists (P1:r0 == 0 /\\ x == 2)\n",
    // And not right before a plain store, either, that had got there.
    "PTX Atom+weak\n{x=0;}\n P0@cta 1,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " st.relaxed.gpu x, 1 | st.weak x, 2 | atom.acq_rel.gpu.exch r0, x, 3 ;\n"
    " | ld.acquire.cta r0, x | ;\n"
    "exists (P1:r0 == 3 /\\ P2:r0 == 0 /\\ x == 3)\n",
    // A store beyond the work-group was unknown to the work-group's own cache.
    "PTX MP+rel.sys+bars\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
    " st.release.sys x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\n"
    "exists (P1:r0 == 0)\n",
    "PTX MP+atom.sys+bars\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
    " atom.relaxed.sys.exch r0, x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\n"
    "exists (P1:r0 == 0)\n",
    // A cache fetched what it had written back itself, and took it for something new.
    "PTX CoWW+fence\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
    " st.relaxed.cta x, 1 | ld.acquire.cta r0, x ;\n"
    " st.relaxed.cta x, 2 | fence.acq_rel.gpu ;\n | ld.relaxed.cta r1, x ;\n"
    "exists (x == 1)\n",
    // What somebody had read after another write was then ordered before it.
    "PTX CoRR2\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 1,gpu 0 ;\n"
    " st.relaxed.gpu x, 1 | st.relaxed.gpu x, 2 | ld.acquire.gpu r0, x ;\n"
    " | | ld.relaxed.gpu r1, x ;\n"
    "exists (P2:r0 == 1 /\\ P2:r1 == 2 /\\ x == 1)\n",
    // An update released what others had released to it, but not what it had read itself.
    "PTX MP+atom\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 1,gpu 0 ;\n"
    " st.weak x, 1 | atom.acq_rel.gpu.exch r0, y, 3 | ld.acquire.gpu r0, y ;\n"
    " st.release.cta y, 2 | | ld.weak r1, x ;\n"
    "exists (P1:r0 == 2 /\\ P2:r0 == 3 /\\ P2:r1 == 0)\n",
    // Who had fetched a new value early went back to an old one that a neighbour fetched.
    "PTX CoRR+two\n{x=0;}\n P0@cta 1,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " atom.relaxed.gpu.exch r0, x, 1 | ld.relaxed.gpu r0, x | ld.weak r0, x ;\n"
    " | ld.relaxed.gpu r1, x | ld.weak r1, x ;\n"
    "exists (P1:r0 == 1 /\\ P1:r1 == 0)\n",
    // A store got right before a copy of another one, which itself got before an update's read.
    "PTX Atom+two\n{x=0;}\n P0@cta 1,gpu 1 | P1@cta 1,gpu 1 | P2@cta 1,gpu 0 ;\n"
    " st.release.gpu x, 1 | st.relaxed.sys x, 2 | ld.acquire.gpu r0, x ;\n"
    " ld.relaxed.sys r0, x | atom.acq_rel.sys.add r0, x, 16 | atom.release.sys.exch r1, x, 3 ;\n"
    "exists (x == 19 /\\ P0:r0 == 1 /\\ P1:r0 == 3 /\\ P2:r0 == 0 /\\ P2:r1 == 0)\n",
    // A store that had gone up late was read by who had acquired what had overwritten it.
    "PTX MP+late\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " st.relaxed.sys x, 1 | st.relaxed.sys x, 3 | ld.acquire.sys r0, y ;\n"
    " fence.acq_rel.sys | st.release.sys y, 4 | ld.relaxed.sys r1, x ;\n"
    "exists (x == 3 /\\ P2:r0 == 4 /\\ P2:r1 == 1)\n",
    "PTX MP+late+two\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " st.relaxed.sys x, 1 | st.relaxed.sys x, 3 | ld.acquire.sys r0, y ;\n"
    " fence.acq_rel.sys | st.release.sys y, 4 | ld.relaxed.sys r1, x ;\n"
    " | | ld.relaxed.sys r2, x ;\n"
    "exists (P2:r0 == 4 /\\ P2:r1 == 1 /\\ P2:r2 == 3)\n",
    // And by who had fetched early, past the cache, what had overwritten it.
    "PTX CoRR+early\n{x=0;}\n P0@cta 1,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " st.relaxed.sys x, 1 | st.relaxed.sys x, 3 | ld.relaxed.sys r0, x ;\n"
    " st.relaxed.sys x, 2 | ld.acquire.sys r0, x | ld.relaxed.sys r1, x ;\n"
    "exists (P1:r0 == 1 /\\ P2:r0 == 1 /\\ P2:r1 == 3)\n",
    // The same where an update had read what was overwritten, right before it.
    "PTX CoRR+atom\n{x=0;}\n P0@cta 0,gpu 1 | P1@cta 0,gpu 1 | P2@cta 0,gpu 2 ;\n"
    " st.relaxed.sys x, 1 | ld.relaxed.sys r0, x | st.relaxed.sys x, 3 ;\n"
    " atom.relaxed.sys.exch r0, x, 2 | ld.relaxed.sys r1, x | st.relaxed.sys x, 4 ;\n"
    "exists (x == 4 /\\ P0:r0 == 3 /\\ P1:r0 == 3 /\\ P1:r1 == 1)\n",
    "PTX CoRR+atoms\n{x=0;}\n P0@cta 2,gpu 1 | P1@cta 1,gpu 1 | P2@cta 0,gpu 2 ;\n"
    " st.relaxed.sys x, 1 | ld.relaxed.sys r0, x | st.relaxed.sys x, 3 ;\n"
    " ld.relaxed.sys r0, x | ld.relaxed.sys r1, x | atom.release.sys.exch r0, x, 4 ;\n"
    " atom.release.sys.exch r1, x, 2 | | ;\n"
    "exists (x == 2 /\\ P0:r0 == 1 /\\ P0:r1 == 4 /\\ P1:r0 == 3 /\\ P1:r1 == 1 /\\ P2:r0 == 3)\n",
    "PTX CoRR+cas\n{x=0;}\n P0@cta 1,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " st.relaxed.gpu x, 1 | st.relaxed.gpu x, 3 | ld.relaxed.gpu r0, x ;\n"
    " fence.sc.gpu | ld.acquire.gpu r0, x | ld.relaxed.gpu r1, x ;\n"
    " atom.release.gpu.exch r0, x, 2 | | st.release.gpu x, 4 ;\n"
    "exists (x == 4 /\\ P0:r0 == 1 /\\ P1:r0 == 2 /\\ P2:r0 == 1 /\\ P2:r1 == 3)\n",
    // By way of a second cache that the late store came through in time.
    "PTX CoRR+cas+late\n{x=0;}\n P0@cta 1,gpu 0 | P1@cta 0,gpu 1 | P2@cta 1,gpu 0 ;\n"
    " st.relaxed.sys x, 1 | atom.acq_rel.sys.add r0, x, 16 | ld.relaxed.sys r0, x ;\n"
    " fence.acq_rel.sys | st.release.sys x, 2 | ld.relaxed.sys r1, x ;\n"
    " | atom.relaxed.sys.cas r1, x, 2, 3 | ;\n"
    "exists (x == 3 /\\ P1:r0 == 0 /\\ P1:r1 == 2 /\\ P2:r0 == 2 /\\ P2:r1 == 1)\n",
    // In a cache below the one that it went up from late, after the caches had been emptied.
    "PTX CoRR+acquired\n{x=0; y=0;}\n"
    " P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 1,gpu 1 | P3@cta 1,gpu 1 ;\n"
    " ld.acquire.sys r0, x | fence.sc.sys | st.release.sys y, 3 | atom.acquire.sys.cas r0, y, 0, 4"
    " ;\n"
    " ld.relaxed.sys r1, y | st.relaxed.sys y, 2 | | fence.sc.sys ;\n"
    " | fence.sc.sys | | atom.acquire.sys.exch r1, x, 5 ;\n"
    "exists (y == 3 /\\ P0:r0 == 5 /\\ P0:r1 == 2 /\\ P3:r0 == 3)\n",
    // What an update had overwritten in a cache was still there for who had emptied that.
    "PTX MP+narrow+atom\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 1 | P2@cta 1,gpu 0 ;\n"
    " atom.relaxed.gpu.exch r0, x, 10 | st.relaxed.sys x, 1 | ld.acquire.sys r0, y ;\n"
    " | st.release.sys y, 1 | ld.relaxed.gpu r1, x ;\n"
    "exists (P2:r0 == 1 /\\ P2:r1 == 0)\n",
};

/// Ends that machines without caches come to, and caches did not, or nearly did not.
constexpr char const* interleaved[]{
    // An update of a narrower scope has read nothing that concerns a store elsewhere,
    "PTX two+cta\n{x=0; y=0;}\n"
    " P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 | P3@cta 1,gpu 0 ;\n"
    " ld.acquire.sys r0, x | st.release.gpu x, 1 | atom.relaxed.gpu.add r0, y, 16"
    " | ld.acquire.gpu r0, x ;\n"
    " | | st.release.gpu x, 2 | atom.relaxed.cta.exch r1, x, 3 ;\n"
    "exists (x == 3 /\\ P0:r0 == 3 /\\ P3:r0 == 1 /\\ P3:r1 == 1)\n",
    // nor has one that has read what another update has left.
    "PTX two+gpu\n{x=0; y=0;}\n"
    " P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 | P3@cta 1,gpu 0 ;\n"
    " st.relaxed.cta x, 1 | atom.relaxed.cta.add r0, x, 16 | st.relaxed.gpu y, 2"
    " | st.relaxed.gpu x, 3 ;\n"
    " | ld.relaxed.sys r1, y | atom.release.gpu.exch r0, x, 5 | st.relaxed.gpu y, 4 ;\n"
    "exists (x == 21 /\\ y == 4 /\\ P1:r0 == 5 /\\ P1:r1 == 4 /\\ P2:r0 == 1)\n",
    // More versions than a cache remembers, were one counted anew whenever it is fetched again.
    "PTX many\n{x=0;}\n P0@cta 1,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 ;\n"
    " atom.release.gpu.add r0, x, 16 | st.relaxed.sys x, 1 | st.relaxed.sys x, 2 ;\n"
    " atom.acq_rel.sys.exch r1, x, 4 | atom.acquire.sys.cas r0, x, 1, 5 | ;\n"
    " atom.relaxed.gpu.add r2, x, 16 | | ;\n"
    "exists (x == 20 /\\ P0:r0 == 5 /\\ P0:r1 == 21 /\\ P0:r2 == 4 /\\ P1:r0 == 1)\n",
};

/// A classic shape of relaxed accesses, and whether its weak outcome is reached.
struct classic_shape {
  std::string name;
  std::vector<std::vector<std::string>> threads;
  char const* observed;
  bool is_reached;
};

std::string const store_x = "st.relaxed.gpu x, 1";
std::string const store_y = "st.relaxed.gpu y, 1";
std::string const second_x = "st.relaxed.gpu x, 2";
std::string const second_y = "st.relaxed.gpu y, 2";

/// The `n`-th load of a thread.
std::string load_of(char const* location, int n) {
  return "ld.relaxed.gpu r" + std::to_string(n) + ", " + location;
}

std::vector<classic_shape> const shapes{
    {"MP",
     {{store_x, store_y}, {load_of("y", 0), load_of("x", 1)}},
     "exists (P1:r0 == 1 /\\ P1:r1 == 0)\n",
     true},
    {"SB",
     {{store_x, load_of("y", 0)}, {store_y, load_of("x", 0)}},
     "exists (P0:r0 == 0 /\\ P1:r0 == 0)\n",
     true},
    {"LB",
     {{load_of("x", 0), store_y}, {load_of("y", 0), store_x}},
     "exists (P0:r0 == 1 /\\ P1:r0 == 1)\n",
     false},
    {"S",
     {{second_x, store_y}, {load_of("y", 0), store_x}},
     "exists (P1:r0 == 1 /\\ x == 2)\n",
     true},
    {"R",
     {{store_x, store_y}, {second_y, load_of("x", 0)}},
     "exists (P1:r0 == 0 /\\ y == 2)\n",
     true},
    {"2+2W", {{store_x, second_y}, {store_y, second_x}}, "exists (x == 1 /\\ y == 1)\n", true},
    {"IRIW",
     {{store_x}, {store_y}, {load_of("x", 0), load_of("y", 1)}, {load_of("y", 0), load_of("x", 1)}},
     "exists (P2:r0 == 1 /\\ P2:r1 == 0 /\\ P3:r0 == 1 /\\ P3:r1 == 0)\n",
     true},
    {"CoRR, weak",
     {{store_x}, {"ld.weak r0, x", "ld.weak r1, x"}},
     "exists (P1:r0 == 1 /\\ P1:r1 == 0)\n",
     false},
};

/// The threads' instructions; every second thread is in the work-group `other`.
std::string in_columns(std::vector<std::vector<std::string>> const& threads, std::string other) {
  std::string text = "PTX shape\n{x=0; y=0;}\n";
  for (std::size_t i = 0; i < threads.size(); ++i)
    text += (i == 0 ? " P" : " | P") + std::to_string(i) + "@cta " + (i % 2 == 0 ? "0" : other) +
            ",gpu 0";
  for (std::size_t row = 0; row < 2; ++row) {
    text += " ;\n";
    for (std::size_t i = 0; i < threads.size(); ++i)
      text += (i == 0 ? " " : " | ") + (row < threads[i].size() ? threads[i][row] : "");
  }
  return text + " ;\n";
}

/// Such as x=1 P1:r0=0.
std::string end_of(test const& t, std::vector<value> const& end) {
  std::string text;
  for (std::size_t i = 0; i < end.size(); ++i)
    text += name_of(t, t.observed[i]) + "=" + std::to_string(end[i]) + " ";
  return text;
}

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

  TEST_CASE("whatever a machine without caches does is allowed, and caches do it, too") {
    for_random_programs(1, 1000, [](test const& t) {
      auto const allowed = allowed_outcomes(t);
      auto const found = explore(t).outcomes;
      for (auto const& [end, one] : explore_on<coherent_machine>(t).outcomes) {
        CHECK(allowed.contains(end));
        CHECK_MESSAGE(found.contains(end), end_of(t, end));
      }
    });
  }

  TEST_CASE("the caches show nothing that the axioms forbid, and most of what they allow") {
    std::size_t allowed = 0;
    std::size_t of_caches = 0;
    std::size_t reached = 0;
    for_random_programs(2, 3000, [&](test const& t) {
      auto const may_be = allowed_outcomes(t);
      auto const like_caches = allowed_outcomes(t, {.like_caches = true});
      auto const found = explore(t);
      CHECK_FALSE(found.is_bounded());
      for (auto const& [end, one] : found.outcomes) {
        CHECK_MESSAGE(may_be.contains(end), end_of(t, end));
        CHECK_MESSAGE(like_caches.contains(end), end_of(t, end));
      }
      allowed += may_be.size();
      of_caches += like_caches.size();
      reached += found.outcomes.size();
    });
    MESSAGE(reached << " of " << allowed << " allowed outcomes were reached; " << of_caches
                    << " need no load that runs ahead and no writes without an order");
    CHECK(reached * 100 >= of_caches * 94); // a quarter of the programs: 95.3, all: 95.6
  }

  TEST_CASE("so it is where words are handed over by updates, to those who write them, or twice") {
    for_random_programs(
        7, 1000,
        [](test const& t) {
          auto const like_caches = allowed_outcomes(t, {.like_caches = true});
          for (auto const& [end, one] : explore(t).outcomes)
            CHECK_MESSAGE(like_caches.contains(end), end_of(t, end));
        },
        random_ptx::shapes::handed_over);
  }

  TEST_CASE("nor do they where updates leave their words as they are") {
    for_random_programs(
        11, 1000,
        [](test const& t) {
          auto const allowed = allowed_outcomes(t);
          for (auto const& [end, one] : explore(t).outcomes)
            CHECK_MESSAGE(allowed.contains(end), end_of(t, end));
        },
        random_ptx::shapes::left_as_is);
  }

  TEST_CASE("states that are taken for one have the same outcomes before them") {
    for_random_programs(5, 60, [](test const& t) {
      auto const found = explore(t).outcomes;
      for (auto const& [end, one] : explore_on<unmistakable_machine>(t).outcomes)
        CHECK_MESSAGE(found.contains(end), end_of(t, end));
    });
  }

  TEST_CASE("that an actor has seen an old value is a part of the state") {
    // Updates of scopes that do not include each other.
    auto const t = parsed("PTX old\n{x=0;}\n P0@cta 0,gpu 1 | P1@cta 0,gpu 0 ;\n"
                          " atom.relaxed.cta.exch r0, x, 11 | atom.relaxed.gpu.exch r0, x, 21 ;\n"
                          " atom.relaxed.cta.exch r1, x, 12 | atom.relaxed.sys.exch r1, x, 22 ;\n"
                          "exists (P0:r0 == 0 /\\ P0:r1 == 11 /\\ P1:r0 == 0 /\\ P1:r1 == 11 "
                          "/\\ x == 22)\n");
    CHECK(explore(t).what == verdict::allowed);
  }

  TEST_CASE("programs that once showed what the axioms forbid") {
    for (auto const* text : mended) {
      CAPTURE(text);
      auto const t = parsed(text);
      CHECK_FALSE(allows(t));
      CHECK(explore(t).what == verdict::forbidden);
    }
  }

  TEST_CASE("programs with interleavings that are easily lost") {
    for (auto const* text : interleaved) {
      CAPTURE(text);
      auto const t = parsed(text);
      CHECK(explore_on<coherent_machine>(t).what == verdict::allowed);
      CHECK(explore(t).what == verdict::allowed);
    }
  }

  TEST_CASE("of the classic shapes all that is allowed is reached, but for loads that run ahead") {
    for (auto const& shape : shapes)
      for (std::string const place : {"0", "1"}) {
        auto const t = parsed(in_columns(shape.threads, place) + shape.observed);
        CAPTURE(shape.name);
        CAPTURE(place);
        auto const may_be = allowed_outcomes(t);
        CHECK(allows(t));
        CHECK((explore(t).what == verdict::allowed) == shape.is_reached);
        CHECK(may_be.size() - explore(t).outcomes.size() == (shape.is_reached ? 0 : 1));
      }
  }
}
