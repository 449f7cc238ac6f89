// SPDX-License-Identifier: Apache-2.0
// Loads and stores of whole wavefronts, which the caches take a line at a time.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;
constexpr word lanes_per_line = 16;

/// Group 0 writes its row twice, the others look at it once.
struct write_twice {
  task<> operator()(any_wavefront auto& wf, global<word> row, global<word> seen) const {
    auto const i = wf.local_id();
    if (wf.linear_group_id() == 0) {
      wf.store(row + i, 1U);
      wf.store(row + i, 2U);
    } else {
      wf.store(seen + i, wf.load(row + i));
    }
    co_return;
  }
};

/// What the second group has seen of the first line, a digit for each of its first words.
std::string seen_of(world& w, agent& gpu, bool is_narrow) {
  auto row = gpu.allocate<word>(64, "row"), seen = gpu.allocate<word>(64, "seen");
  if (is_narrow) // a word of each line that somebody has reached by itself
    for (word line = 0; line < 4; ++line) {
      static_cast<void>(w.host().load(row.global() + line * lanes_per_line));
      static_cast<void>(w.host().load(seen.global() + line * lanes_per_line));
    }
  auto const result = gpu.run({.work_groups = 2, .work_items_per_group = 64}, write_twice{},
                              row.global(), seen.global());
  w.check(static_cast<bool>(result), "the kernel has failed");
  std::string digits;
  for (word i : {0U, 1U, 17U})
    digits += std::to_string(seen.host()[i]);
  w.check(row.host()[63] == 2, "the last store is lost");
  return digits;
}

/// Stores by the row, and by hand at one word.
struct store_beside {
  task<> operator()(any_wavefront auto& wf, global<word> row, word at) const {
    if (wf.linear_group_id() == 0)
      wf.store(row + wf.local_id(), 1U);
    else
      wf.store(row + at, 2U);
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.explore_lanes") {
  TEST_CASE("words of a line are torn apart, whether it was kept as one or not") {
    std::set<std::string> seen[2];
    for (bool const is_narrow : {false, true}) {
      auto const v = explore({.executions = 20'000, .detects_races = false}, [&](world& w) {
        agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 64});
        seen[is_narrow ? 1 : 0].insert(seen_of(w, gpu, is_narrow));
      });
      CHECK_MESSAGE(v, v.to_string());
    }
    CHECK(seen[0].size() == 27); // each word is old, overwritten or new
    CHECK(seen[0] == seen[1]);
  }

  TEST_CASE("a race of a row with a single word names the lane and the word") {
    for (word const at : {0U, 21U, 63U}) {
      auto const v = explore({.executions = 50}, [=](world& w) {
        agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 64});
        auto row = gpu.allocate<word>(64, "row");
        static_cast<void>(gpu.run({.work_groups = 2, .work_items_per_group = 64}, store_beside{},
                                  row.global(), at));
      });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "race");
      std::string const lane = "lane " + std::to_string(at) + ",";
      std::string const bytes = "4 bytes at row[" + std::to_string(at) + "]";
      CHECK_MESSAGE(v.failure->report.find(lane) != std::string::npos, v.failure->report);
      CHECK_MESSAGE(v.failure->report.find(bytes) != std::string::npos, v.failure->report);
    }
  }
}
