// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/cilk_scheduler.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>

using namespace quarry::emu;

namespace {

constexpr std::uint32_t enough = 256;

/// Three levels: calls, and what waits for a sync.
struct levels {
  std::array<channel_state, 6> all{};
  levels() {
    for (channel_state& c : all)
      c.wavefront_size = 64;
  }
  channel_state& calls(std::size_t level) { return all[2 * level]; }
  channel_state& synced(std::size_t level) { return all[2 * level + 1]; }
};

std::optional<std::size_t> picked(traversal order, levels const& l, bool is_idle = false) {
  auto const choice = cilk_scheduler(2, order, enough)(l.all, is_idle);
  return choice ? std::optional(choice->channel) : std::nullopt;
}

} // namespace

TEST_SUITE("emu.cilk_scheduler") {
  TEST_CASE("help first goes level after level, and dispatches crumbs only when nothing runs") {
    levels l;
    CHECK(picked(traversal::help_first, l, true) == std::nullopt);
    l.calls(1).ready = enough;
    l.calls(2).ready = 10 * enough;
    CHECK(picked(traversal::help_first, l) == 2U);
    l.calls(1).ready = enough - 1;
    CHECK(picked(traversal::help_first, l) == 4U);
    l.calls(2).ready = enough - 1;
    CHECK(picked(traversal::help_first, l) == std::nullopt);
    CHECK(picked(traversal::help_first, l, true) == 2U);
  }

  TEST_CASE("what waits for a sync goes on when nothing is ready or runs in deeper levels") {
    levels l;
    l.synced(0).ready = l.synced(1).ready = 1000;
    CHECK(picked(traversal::help_first, l, true) == 3U);
    l.synced(1).ready = 0;
    CHECK(picked(traversal::help_first, l, true) == 1U);
    for (auto const order : {traversal::help_first, traversal::hybrid}) {
      levels running = l;
      running.synced(0).waiting = 1; // somebody needs its room, but its children run
      running.calls(2).running = 1;
      CHECK(picked(order, running) == std::nullopt);
      running.calls(2).running = 0;
      running.synced(2).running = 1;
      CHECK(picked(order, running) == std::nullopt);
      running.synced(2).running = 0;
      CHECK(picked(order, running) == 1U);
    }
  }

  TEST_CASE("where somebody waits for room, the deepest level goes first") {
    levels l;
    l.calls(0).ready = 10 * enough;
    l.calls(1).ready = 64;
    l.calls(1).waiting = 1;
    l.calls(2).ready = 63;
    CHECK(picked(traversal::help_first, l) == 4U);
    l.calls(2).running = 1; // the rest of a wavefront may still come
    CHECK(picked(traversal::help_first, l) == 2U);
  }

  TEST_CASE("the hybrid has calls taken to their ends once there are enough, or somebody waits") {
    auto const hint = [](traversal order, levels const& l) {
      auto const choice = cilk_scheduler(2, order, enough)(l.all, true);
      REQUIRE(choice);
      CHECK(choice->most >= l.all[choice->channel].ready);
      return choice->hint;
    };
    levels l;
    l.calls(1).ready = enough - 1;
    l.synced(0).ready = 10 * enough; // no calls
    CHECK(hint(traversal::hybrid, l) == 0);
    levels several = l;
    several.calls(2).ready = 1;
    CHECK(hint(traversal::hybrid, several) == cilk_scheduler::to_their_ends);
    CHECK(hint(traversal::help_first, several) == 0);
    l.calls(2).waiting = 1;
    CHECK(hint(traversal::hybrid, l) == cilk_scheduler::to_their_ends);
    CHECK(hint(traversal::help_first, l) == 0);
    l.calls(1).ready = 0; // what goes on after a sync
    CHECK(picked(traversal::hybrid, l, true) == 1U);
    CHECK(hint(traversal::hybrid, l) == 0);
  }
}
