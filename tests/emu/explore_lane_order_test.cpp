// SPDX-License-Identifier: Apache-2.0
// Lanes that nothing orders: a kernel that counts on lane 0 being first is found.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;
constexpr word items = 32; // one wavefront

/// Each work-item draws a ticket, and says which.
struct item_tickets {
  task<> operator()(any_work_item auto& wi, global<word> next, global<word> drawn) const {
    auto const mine = static_cast<int>(wi.local_linear_id());
    wi.store(drawn + mine, wi.fetch_add(next, 1U, order::relaxed, scope::work_group));
    co_return;
  }
};
struct plain_item_tickets {
  void operator()(any_plain_work_item auto& wi, global<word> next, global<word> drawn) const {
    auto const mine = static_cast<int>(wi.local_linear_id());
    wi.store(drawn + mine, wi.fetch_add(next, 1U, order::relaxed, scope::work_group));
  }
};
struct wave_tickets {
  void operator()(any_wavefront auto& wf, global<word> next, global<word> drawn) const {
    lanes<int, items> const same = 0;
    wf.store(drawn + wf.local_id(),
             wf.fetch_add(next + same, 1U, order::relaxed, scope::work_group));
  }
};
/// Two rounds, with a meeting between them.
struct item_tickets_twice {
  task<> operator()(any_work_item auto& wi, global<word> next, global<word> drawn) const {
    auto const mine = static_cast<int>(wi.local_linear_id());
    word const first = wi.fetch_add(next, 1U, order::relaxed, scope::work_group);
    co_await wi.barrier();
    word const second = wi.fetch_add(next, 1U, order::relaxed, scope::work_group);
    wi.store(drawn + mine, 100 * first + second);
  }
};

struct lane_against_host {
  void operator()(any_wavefront auto& wf, global<word> words) const {
    wf.add(words + wf.local_id(), 1U, order::relaxed, scope::system);
  }
};
struct neighbours {
  void operator()(any_wavefront auto& wf, global<word> words) const {
    auto const i = wf.local_id();
    lanes<int, items> const next = (i.to_lanes() + 1) % static_cast<int>(items);
    wf.store(words + i, 1U);
    wf.add(words + next, 1U, order::relaxed, scope::agent);
    wf.store(words + i, wf.load(words + i) + 1U);
  }
};

/// Runs one wavefront of it, and gives what is in `drawn`.
template<class Kernel>
std::vector<word> run_in(world& w, Kernel kernel) {
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
  auto next = gpu.allocate<word>(1, "next");
  auto drawn = gpu.allocate<word>(items, "drawn");
  auto const end = gpu.run({.work_groups = 1, .work_items_per_group = items}, kernel, next.global(),
                           drawn.global());
  w.check(static_cast<bool>(end), "the kernel has failed");
  return {drawn.host().begin(), drawn.host().end()};
}

/// What all executions there are come to.
template<class Kernel>
std::set<std::vector<word>> outcomes(Kernel kernel) {
  std::set<std::vector<word>> all;
  auto const v = explore({.strategy = "exhaustive", .diagnoses = false, .keeps_failures = false},
                         [&](world& w) { all.insert(run_in(w, kernel)); });
  CHECK_MESSAGE(v, v.to_string());
  return all;
}

std::vector<word> up() {
  std::vector<word> v(items);
  for (word i = 0; i != items; ++i)
    v[i] = i;
  return v;
}
std::vector<word> down() {
  std::vector<word> v(items);
  for (word i = 0; i != items; ++i)
    v[i] = items - 1 - i;
  return v;
}

} // namespace

TEST_SUITE("emu.explore_lane_order") {
  TEST_CASE("lanes that nothing orders go up or down, in kernels of every kind") {
    std::set<std::vector<word>> const both{up(), down()};
    CHECK(outcomes(item_tickets{}) == both);
    CHECK(outcomes(plain_item_tickets{}) == both);
    CHECK(outcomes(wave_tickets{}) == both);
  }

  TEST_CASE("anew after each meeting") {
    CHECK(outcomes(item_tickets_twice{}).size() == 4);
  }

  TEST_CASE(
      "a kernel that counts on the first lane being first is found, at the default settings") {
    auto const v = explore({.keeps_failures = false}, [](world& w) {
      w.check(run_in(w, item_tickets{})[0] == 0, "work-item 0 has not drawn the first ticket");
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "check");
    // The only choice that it needs, and it is listed as what it is.
    CHECK_MESSAGE(v.failure->shrunk.nonzero_count() == 1, v.failure->shrunk.to_text());
    CHECK_MESSAGE(v.failure->shrunk.to_text().find("l2:1") != std::string::npos,
                  v.failure->shrunk.to_text());
  }

  TEST_CASE("one lane alone is no choice") {
    auto const v = explore({.strategy = "exhaustive", .keeps_failures = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
      auto words = gpu.allocate<word>(2, "words");
      auto const end = gpu.run({.work_groups = 1, .work_items_per_group = 1}, item_tickets{},
                               words.global(), words.global() + 1);
      w.check(static_cast<bool>(end), "the kernel has failed");
    });
    CHECK(v);
    CHECK(v.executions == 1);
  }

  TEST_CASE("a race of an atomic operation of one lane names it") {
    auto const v = explore({.diagnoses = false, .keeps_failures = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
      auto words = gpu.allocate<word>(items, "words");
      w.start("host", [at = words.global() + 17](world_core& self) { self.store(at, 5U); });
      auto const end = gpu.run({.work_groups = 1, .work_items_per_group = items},
                               lane_against_host{}, words.global());
      w.check(static_cast<bool>(end), "the kernel has failed");
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
    CHECK_MESSAGE(v.failure->report.find("lane 17") != std::string::npos, v.failure->report);
  }

  TEST_CASE("an atomic operation comes after the wavefront's own plain ones") {
    auto const v = explore({.executions = 200, .keeps_failures = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
      auto words = gpu.allocate<word>(items, "words");
      auto const end =
          gpu.run({.work_groups = 1, .work_items_per_group = items}, neighbours{}, words.global());
      w.check(static_cast<bool>(end), "the kernel has failed");
      for (word const n : words.host())
        w.check(n == 3, "an addition is lost");
    });
    CHECK_MESSAGE(v, v.to_string());
  }
}
