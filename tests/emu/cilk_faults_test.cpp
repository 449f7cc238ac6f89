// SPDX-License-Identifier: Apache-2.0
// What functions in Cilk do wrong.
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/cilk.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fibonacci/kernel.hpp>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_size = 64};
using fib = fibonacci::call;

/// Asks for one result more than there are.
struct asks_too_much {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 2;
  std::uint32_t depth;

  void operator()(auto& self) const {
    if (depth == 0)
      return self.returns(1);
    self.spawn({depth - 1});
  }
  void after_sync(auto& self, first_sync) const { self.returns(self[0] + self[1]); }
};

/// Returns nothing where it should.
struct returns_nothing {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 8;
  std::uint32_t depth;

  void operator()(auto& self) const {
    for (std::uint32_t i = 0; depth != 0 && i < most_spawned; ++i)
      self.spawn({depth - 1});
  }
  void after_sync(auto& self, first_sync) const {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < self.children(); ++i)
      sum += self[i];
    self.returns(sum);
  }
};

struct spawns_too_many {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 2;
  std::uint32_t count;

  void operator()(auto& self) const {
    for (std::uint32_t i = 0; i < count; ++i)
      self.spawn({0});
  }
  void after_sync(auto&, first_sync) const {}
};

/// Spawns once more after its only sync, whose children's results nobody takes.
struct spawns_too_late {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 1;
  std::uint32_t n;

  void operator()(auto& self) const {
    if (n == 0)
      return self.returns(1);
    self.spawn({n - 1});
  }
  void after_sync(auto& self, first_sync) const { self.spawn({0}); }
};

} // namespace

TEST_SUITE("emu.cilk_faults") {
  TEST_CASE(
      "a result that no child has returned is a fault; one that returns none has returned 0") {
    with_schedulers([](executor& s) {
      for (auto const order : {traversal::help_first, traversal::hybrid})
        for (std::uint32_t const width : {1024U, 8U}) { // the hybrid's wavefronts on their own
          wide_agent gpu(s, shape);
          cilk_options const o{
              .depth = 6, .width = width, .elements_per_done_count = 1, .order = order};
          cilk<asks_too_much, wide_targets> asks(gpu, o);
          CHECK(asks.run({0}));
          outcome const end = asks.run({3});
          REQUIRE(!end);
          CHECK(end.get_fault()->what == fault::kind::wrong_shape);
          CHECK(end.get_fault()->report.find("the result of child 1 of a call after whose sync "
                                             "there are 1") != std::string::npos);
          cilk<returns_nothing, wide_targets> nothing(gpu, o);
          REQUIRE(nothing.run({3}));
          CHECK(nothing.root_result() == 0);
        }
    });
  }

  TEST_CASE("a recursion that is too deep, and too many children, are faults by name") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    cilk<fib, wide_targets> shallow(gpu, {.depth = 3, .width = 128});
    outcome const deep = shallow.run(fib{15});
    REQUIRE(!deep);
    CHECK(deep.get_fault()->what == fault::kind::wrong_shape);
    CHECK(deep.get_fault()->report.find("the recursion is deeper than its 3 levels") !=
          std::string::npos);
    cilk_options const narrow{
        .depth = 9, .width = 4, .elements_per_done_count = 1, .order = traversal::hybrid};
    cilk<fib, wide_targets> alone(gpu, narrow);
    outcome const deep_alone = alone.run(fib{15});
    REQUIRE(!deep_alone);
    CHECK(alone.totals().elements < 256); // no channel was so deep
    CHECK(deep_alone.get_fault()->report.find("the recursion is deeper than its 9 levels") !=
          std::string::npos);
    CHECK(!alone.run(fib{10})); // a fault stays
    cilk<fib, wide_targets> just_enough(gpu, narrow);
    REQUIRE(just_enough.run(fib{10}));
    CHECK(just_enough.root_result() == 55);
    cilk<spawns_too_many, wide_targets> wide(gpu, {.depth = 3, .width = 128});
    CHECK(wide.run(spawns_too_many{2}));
    outcome const many = wide.run(spawns_too_many{3});
    REQUIRE(!many);
    CHECK(many.get_fault()->report.find("more than the 2 calls") != std::string::npos);
    for (auto const order : {traversal::help_first, traversal::hybrid}) {
      cilk<spawns_too_late, wide_targets> late(gpu, {.depth = 3, .width = 128, .order = order});
      outcome const end = late.run(spawns_too_late{1});
      REQUIRE(!end);
      CHECK(end.get_fault()->what == fault::kind::wrong_shape);
      CHECK(end.get_fault()->report.find("after the last of the 1 syncs") != std::string::npos);
    }
  }

  TEST_CASE("what cannot be is refused") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    auto const make = [&](cilk_options const& o) { cilk<fib, wide_targets> const program(gpu, o); };
    CHECK_THROWS_WITH(make({.depth = 0}), "cilk: 0 levels of recursion; allowed are 1 to 4096");
    CHECK_THROWS_WITH(make({.width = 64, .elements_per_done_count = 64}),
                      "cilk: channels of 64 elements, with 64 a done count; a call spawns up to 2");
    CHECK_THROWS_AS(make({.width = 65}), std::invalid_argument);
  }
}
