// SPDX-License-Identifier: Apache-2.0
// Searches within a bound of pre-emptions (context bound).
#include "scheduled_programs.hpp"
#include "small_programs.hpp"

#include <quarry/dpor_search.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/hashed_search.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using quarry::dpor_search;
using quarry::exhaustive_search;
using quarry::hashed_search;
using namespace quarry_test;

namespace {

/// The pre-emptions of an execution, counted beside the search.
class counting final : public quarry::chooser {
public:
  explicit counting(exhaustive_search& search) : search_(search) {}

  unsigned pick(unsigned n, quarry::choice_kind kind) override { return search_.pick(n, kind); }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    unsigned const taken = search_.pick_actor(ready);
    bool const could_go_on = !ran_.empty() && ready[0] == ran_.back();
    count_ += could_go_on && taken != 0 ? 1 : 0;
    ran_.push_back(ready[taken]);
    return taken;
  }
  void on_only(std::uint32_t actor) override {
    search_.on_only(actor);
    ran_.push_back(actor);
  }

  [[nodiscard]] std::uint32_t count() const { return count_; }

private:
  exhaustive_search& search_;
  std::vector<std::uint32_t> ran_;
  std::uint32_t count_ = 0;
};

struct execution_counts {
  std::uint64_t full = 0, reduced = 0, hashed = 0;
};

/// Reduced or hashed, a search comes to the same ends as all executions within the limits do.
void compare_searches(program const& p, exhaustive_search::limits const& most,
                      execution_counts& sum) {
  exhaustive_search everything(most);
  dpor_search reduced(most);
  hashed_search hashed(most);
  auto const ends = all(p, everything).ends;
  CHECK(all(p, reduced).ends == ends);
  CHECK(all(p, hashed).ends == ends);
  CHECK(reduced.execution_count() <= everything.execution_count());
  if (!everything.is_bounded())
    CHECK_FALSE(reduced.is_bounded());
  else if (!reduced.is_bounded()) // it may find that the limit holds nothing new back
    CHECK(ends == all<exhaustive_search>(p).ends);
  sum.full += everything.execution_count();
  sum.reduced += reduced.execution_count();
  sum.hashed += hashed.execution_count();
}

void check_fewer(execution_counts const& sum) {
  MESSAGE(sum.full, " executions, reduced ", sum.reduced, ", hashed ", sum.hashed);
  CHECK(2 * sum.reduced < sum.full);
  CHECK(sum.hashed < sum.full);
}

} // namespace

TEST_SUITE("lib.preemption_bound") {
  TEST_CASE("those are left out that have more, and no others") {
    quarry::random_bits bits(3);
    for (int i = 0; i < 50; ++i) {
      program const p = random_program(bits);
      std::vector<std::uint64_t> with(32); // so many executions, by pre-emptions
      exhaustive_search everything;
      do {
        everything.begin();
        counting counted(everything);
        static_cast<void>(run(p, counted));
        ++with[counted.count()];
      } while (everything.next());
      std::uint64_t fewer = 0;
      for (std::uint32_t most = 0; most < 5; ++most) {
        CAPTURE(i);
        CAPTURE(most);
        fewer += with[most];
        exhaustive_search search({.preemptions = most});
        CHECK(all(p, search).executions == fewer);
        CHECK(search.is_bounded() == (fewer != everything.execution_count()));
      }
    }
  }

  TEST_CASE("whoever yields is not pre-empted") {
    std::vector<std::uint32_t> const both{0, 1};
    for (bool const yields : {false, true}) {
      exhaustive_search search({.preemptions = 0});
      do {
        search.begin();
        std::uint32_t const first = search.pick_actor(both); // nobody has run
        if (yields)
          search.on_yield(first);
        static_cast<void>(search.pick_actor(first == 0 ? both : std::vector<std::uint32_t>{1, 0}));
      } while (search.next());
      CHECK(search.execution_count() == (yields ? 4 : 2));
      CHECK(search.is_bounded() == !yields);
    }
  }

  TEST_CASE("reduced or hashed, it comes to the same ends as all executions within the bound do") {
    quarry::random_bits bits(13);
    execution_counts sum;
    for (int i = 0; i < 400; ++i) {
      program const p = random_program(bits);
      for (std::uint32_t most = 0; most < 4; ++most) {
        CAPTURE(i);
        CAPTURE(most);
        compare_searches(p, {.preemptions = most}, sum);
      }
    }
    check_fewer(sum);
  }

  TEST_CASE("and within a bound of what is stale, alone or beside one of pre-emptions") {
    quarry::random_bits bits(17);
    execution_counts sum;
    for (int i = 0; i < 400; ++i) {
      program p = random_program(bits);
      for (auto& actor : p)
        for (step& s : actor)
          s.alternatives = 1 + bits.below(2);
      std::uint32_t const preemptions =
          i % 3 == 0 ? exhaustive_search::limits::unlimited : bits.below(3);
      CAPTURE(i);
      compare_searches(p, {.preemptions = preemptions, .stale = bits.below(3)}, sum);
    }
    check_fewer(sum);
  }

  TEST_CASE("so it does on the scheduler, with waits and deviations bounded, too") {
    quarry::random_bits bits(5);
    for (int i = 0; i < 200; ++i) {
      scheduled p(2 + bits.below(2));
      for (auto& actor : p)
        for (std::uint32_t n = 1 + bits.below(3); n != 0; --n)
          actor.push_back({1 + bits.below(3), static_cast<does>(bits.below(3))});
      std::uint32_t const most = bits.below(4);
      CAPTURE(i);
      CAPTURE(most);
      exhaustive_search everything({.preemptions = most});
      dpor_search reduced({.preemptions = most});
      hashed_search hashed({.preemptions = most});
      auto const ends = all_scheduled(p, everything);
      CHECK(all_scheduled(p, reduced) == ends);
      CHECK(all_scheduled(p, hashed) == ends);
      exhaustive_search::limits const both{.deviations = 1 + bits.below(3), .preemptions = most};
      exhaustive_search few(both);
      hashed_search few_hashed(both);
      CHECK(all_scheduled(p, few_hashed) == all_scheduled(p, few));
    }
  }
}
