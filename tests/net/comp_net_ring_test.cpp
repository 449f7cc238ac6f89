// SPDX-License-Identifier: Apache-2.0
#include "../emu/queue_traffic.hpp"
#include "lone_actor.hpp"

#include <quarry/emu/explore.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net::comp_net;
using namespace quarry_test;

namespace {

using tiny_rings = basic_rings<2>;

command numbered(std::uint32_t n) {
  return {.target = n, .operand = ~std::uint64_t{n}, .pe = static_cast<std::uint16_t>(n)};
}
bool is_whole(command const& c) {
  return c.operand == ~c.target && c.pe == c.target;
}

/// Every work-group sends `count` commands through its ring, and waits for each third.
template<class Rings>
struct send_commands {
  task<> operator()(any_wavefront auto& wf, Rings& rings, std::uint32_t count,
                    std::atomic<int>& wrong) const {
    auto const ring = static_cast<std::uint32_t>(wf.linear_group_id());
    ring_writer mine;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!rings.has_room(mine)) {
        task<> room = rings.wait_for_room(wf, ring, mine);
        co_await std::move(room);
      }
      std::uint32_t const index = rings.post(wf, ring, mine, numbered(i));
      if (i % 3 == 0) {
        static_cast<void>(co_await rings.completed(wf, ring, index));
        wrong += rings.reply(wf, ring, index) == i * 5 ? 0 : 1;
      }
    }
    task<bool> all = rings.all_completed(wf, ring, mine);
    bool const is_good = co_await std::move(all);
    wrong += is_good && mine.read == mine.write ? 0 : 1;
  }
};

/// Serves all rings in turn, `count` commands of each.
template<class Rings>
task<> serve_all(Rings& rings, allocations const& known, std::uint32_t count, int& wrong) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  std::vector<ring_reader> mine(rings.ring_count());
  std::vector<std::uint32_t> next(rings.ring_count());
  for (std::uint32_t left = count * rings.ring_count(); left != 0;) {
    for (std::uint32_t r = 0; r < rings.ring_count(); ++r)
      if (rings.is_posted(self, r, mine[r])) {
        command const c = rings.take(self, r, mine[r]);
        wrong += is_whole(c) && c.target == next[r] ? 0 : 1;
        rings.complete(self, r, mine[r], next[r]++ * 5);
        --left;
      }
    co_await quarry::yield();
  }
}

template<class Rings>
void every_command_once(std::uint32_t entries) {
  with_every_agent([&](agent& gpu) {
    constexpr std::uint32_t groups = 3;
    std::uint32_t const count = is_native(gpu) ? 2'000 : 40;
    Rings rings(gpu.core().known(), groups, entries);
    std::atomic<int> sent_wrong{0};
    int wrong = 0;
    traffic jobs(gpu.core().scheduler());
    jobs.start(serve_all(rings, gpu.core().known(), count, wrong), "service");
    succeed(gpu.run({.work_groups = groups, .work_items_per_group = 1}, send_commands<Rings>{},
                    std::ref(rings), count, std::ref(sent_wrong)));
    jobs.wait();
    CHECK(wrong == 0);
    CHECK(sent_wrong == 0);
  });
}

/// A producer that may be wrong, and how it looks for room.
enum class looks : std::uint8_t { as_it_should, plainly, not_at_all };

void produce_and_serve(world& w, looks how) {
  constexpr std::uint32_t count = 6;
  tiny_rings rings(w.known(), 1, 2);
  w.start_task("producer", [&rings, how](world_core& self) -> task<> {
    ring_writer mine;
    for (std::uint32_t i = 0; i < count; ++i) {
      // The wrong twins believe in room: without a look, or as soon as the write index has wrapped.
      bool const believes = how == looks::not_at_all ||
                            (how == looks::plainly && mine.write < mine.read + rings.entry_count());
      if (believes)
        mine.read = mine.write;
      if (!rings.has_room(mine)) {
        task<> room = rings.wait_for_room(self, 0, mine);
        co_await std::move(room);
      }
      rings.post(self, 0, mine, numbered(i));
    }
  });
  w.start_task("service", [&rings, &w](world_core& self) -> task<> {
    ring_reader mine;
    for (std::uint32_t i = 0; i < count; ++i) {
      static_cast<void>(co_await rings.next_posted(self, 0, mine));
      command const c = rings.take(self, 0, mine);
      w.check(is_whole(c), "a command is torn");
      w.check(c.target == i, "a command was overwritten");
      rings.complete(self, 0, mine);
    }
  });
  w.join();
}

verdict explored(looks how, bool detects_races) {
  return explore(
      {.executions = 2'000, .detects_races = detects_races, .shrinks = false, .diagnoses = false},
      [how](world& w) { produce_and_serve(w, how); });
}

struct posts_too_much {
  task<> operator()(any_wavefront auto& wf, tiny_rings& rings) const {
    ring_writer mine;
    for (std::uint32_t i = 0; i < 3; ++i)
      rings.post(wf, 0, mine, numbered(i));
    co_return;
  }
};

} // namespace

TEST_SUITE("net.comp_net_ring") {
  TEST_CASE("every command comes once, whole and in order, and every reply, through many wraps") {
    every_command_once<tiny_rings>(1);
    every_command_once<tiny_rings>(2);
    every_command_once<basic_rings<3>>(2);
    every_command_once<rings>(rings::usual_entries);
  }

  TEST_CASE("an entry is 64 bytes, and a ring takes as many commands as it has entries") {
    allocations known;
    core self({});
    rings one(known, 1);
    ring_writer mine;
    ring_reader service;
    for (int round = 0; round < 3; ++round) {
      for (std::uint32_t i = 0; i < 64; ++i) {
        REQUIRE(one.has_room(mine));
        one.post(self, 0, mine, numbered(i));
      }
      CHECK_FALSE(one.has_room(mine)); // though the service may have read some
      for (std::uint32_t i = 0; i < 64; ++i) {
        REQUIRE(one.is_posted(self, 0, service));
        CHECK(one.take(self, 0, service).target == i);
        one.complete(self, 0, service);
      }
      CHECK_FALSE(one.is_posted(self, 0, service));
      CHECK_FALSE(one.has_room(mine)); // the copy of the read index is refreshed when it must be
      run_alone(one.wait_for_room(self, 0, mine));
      CHECK(one.has_room(mine));
    }
  }

  TEST_CASE("who posts without room has a fault, and overwrites nothing") {
    with_every_agent([](agent& gpu) {
      tiny_rings rings(gpu.core().known(), 1, 2);
      auto const report = fail_with(
          gpu.run({.work_groups = 1, .work_items_per_group = 1}, posts_too_much{}, std::ref(rings)),
          fault::kind::out_of_bounds);
      CHECK_SAYS(report, "ring overflow: ring 0 has 2 entries, all of them in flight");
      CHECK_SAYS(report, "comp_net_ring_test.cpp:");
    });
  }

  TEST_CASE("explored: a ring with indices that wrap at once loses nothing") {
    verdict const v = explored(looks::as_it_should, true);
    CHECK_MESSAGE(v, v.to_string());
  }
  TEST_CASE("explored: a producer that does not look for room is found, by value and as a race") {
    for (looks const how : {looks::not_at_all, looks::plainly}) {
      CAPTURE(static_cast<int>(how));
      verdict const by_value = explored(how, false);
      REQUIRE(by_value.failure);
      CHECK(by_value.failure->kind != "race");
      CHECK(explored(how, true).failure);
    }
  }

  TEST_CASE("impossible rings are refused") {
    allocations known;
    CHECK_THROWS_WITH_AS(tiny_rings(known, 0), "comp_net: no rings; at least 1 is allowed",
                         std::invalid_argument);
    for (std::uint32_t n : {0U, 3U, 4U, 64U})
      CHECK_THROWS_WITH_AS(tiny_rings(known, 1, n),
                           ("comp_net: rings of " + std::to_string(n) +
                            " entries; allowed are powers of two up to 2^1")
                               .c_str(),
                           std::invalid_argument);
    CHECK_NOTHROW(tiny_rings(known, 1, 2));
  }
}
