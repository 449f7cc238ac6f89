// SPDX-License-Identifier: Apache-2.0
// Which of the changes that mend a failure explore() names, and how sure it says that it is.
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

using namespace quarry_test;

/// The first work-group hands a word over to the second one, which reads its flag relaxed.
struct one_takes_a_relaxed_flag {
  static constexpr std::uint32_t flag_line = __LINE__ + 8;
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    scope far, world* w) const {
    if (wf.linear_group_id() == 0) {
      wf.store(data, 1U, order::relaxed, scope::agent);
      wf.store(flag, 1U, order::release, scope::agent);
      co_return;
    }
    if (wf.load(flag, order::relaxed, scope::agent) == 1)
      w->check(wf.load(data, order::relaxed, far) == 1, "the payload is stale");
  }
};

} // namespace

TEST_SUITE("emu.explore_mended_choice") {
  TEST_CASE("a mend is of all executions only where caches remember all that loads might see") {
    for (char const* const strategy : {"swarm", "exhaustive"}) {
      CAPTURE(strategy);
      verdict const v = explore({.strategy = strategy, .keeps_failures = false}, [](world& w) {
        three_words words(w);
        auto const data = words[0], flag = words[1], whole = words[2];
        global<std::uint16_t> const half(reinterpret_cast<std::uint16_t*>(whole.get()));
        w.start("writer", [=](world_core& self) {
          self.store(data, 1);
          self.store(whole, 1, order::relaxed, scope::system);
          self.store(flag, 1, order::relaxed, scope::system); // no release
        });
        w.start("reader", [=](world_core& self) {
          if (self.load(flag, order::acquire, scope::system) == 1)
            static_cast<void>(self.load(data));
          static_cast<void>(self.load(half, order::relaxed, scope::system));
        });
        w.join();
      });
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      CHECK(v.failure->mended->is_possible);
      CHECK(!v.failure->mended->is_complete);
    }
  }

  TEST_CASE("with HRF-direct, where a wider scope may be too wide, the one that fits is found") {
    auto const chain = [](bool two_are_narrow) {
      return [=](world& w) {
        three_words words(w);
        auto const data = words[0], first = words[1], second = words[2];
        w.start("first", [=](world_core& self) {
          self.store(data, 1);
          self.store(first, 1, order::release, scope::work_group); // too narrow
        });
        w.start("second", [=](world_core& self) {
          if (self.load(first, order::acquire, scope::agent) == 1)
            self.store(second, 1, order::release,
                       two_are_narrow ? scope::work_group : scope::agent);
        });
        w.start("third", [=](world_core& self) {
          if (self.load(second, order::acquire, scope::agent) == 1)
            static_cast<void>(self.load(data));
        });
        w.join();
      };
    };
    for (bool const two_are_narrow : {false, true}) {
      CAPTURE(two_are_narrow);
      verdict const v =
          explore({.direct_lint = true, .keeps_failures = false}, chain(two_are_narrow));
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      auto const& m = *v.failure->mended;
      REQUIRE_MESSAGE(m.changes.size() == (two_are_narrow ? 2 : 1), v.to_string());
      for (adjustment const& a : m.changes) {
        CHECK(a.at.what == operation_kind::store);
        CHECK(a.how == order::release);
        CHECK(a.far == scope::agent);
      }
    }
  }

  TEST_CASE("of two that would do as well the first is named, whatever scopes they have") {
    for (scope const far : {scope::agent, scope::system}) {
      CAPTURE(to_string(far));
      verdict const v = explore({.keeps_failures = false}, [far](world& w) {
        explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
        three_words words(w);
        gpu.run({.work_groups = 2, .work_items_per_group = 32}, one_takes_a_relaxed_flag{},
                words[0], words[1], far, &w)
            .or_throw();
      });
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      auto const& m = *v.failure->mended;
      REQUIRE_MESSAGE(m.changes.size() == 1, v.to_string());
      CHECK(m.changes[0].how == order::acquire);
      CHECK(m.changes[0].at.where.line() == one_takes_a_relaxed_flag::flag_line);
    }
  }

  TEST_CASE("what only silences a race beside what mends another one is said to order nothing") {
    verdict const v = explore({.keeps_failures = false}, [](world& w) {
      three_words words(w);
      auto const data = words[0], flag = words[1], other = words[2];
      w.start("writer", [=](world_core& self) {
        self.store(data, 1);
        self.store(flag, 1, order::relaxed, scope::system); // no release
        self.store(other, 1);                               // ordered with nothing
      });
      w.start("reader", [=](world_core& self) {
        if (self.load(flag, order::acquire, scope::system) == 1)
          static_cast<void>(self.load(data));
        static_cast<void>(self.load(other));
      });
      w.join();
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    CHECK_MESSAGE(v.failure->mended->changes.size() == 3, v.to_string());
    CHECK(v.failure->mended->silences_too());
    CHECK(!v.failure->mended->only_silences());
    CHECK(v.to_string().find("what becomes relaxed races no more; but that orders nothing") !=
          std::string::npos);
  }
}
