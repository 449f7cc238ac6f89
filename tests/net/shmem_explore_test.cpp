// SPDX-License-Identifier: Apache-2.0
// The network reorders what no fence orders: programs that forget one fail, the others do not.
#include "explored_pes.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::net;
using namespace shmem_test;
using shmem::node;

namespace {

/// Data, then perhaps a fence, then a flag, on two contexts or one.
pe_body giver(bool with_fence, bool on_another_context = false) {
  return [=](world& w, world_core&, node& n) {
    auto other = n.make_context();
    auto& c = n.default_context();
    w.check(c.put(word(n, 0), std::array<std::uint64_t, 2>{1, 2}, pe{1}).has_value(), "put");
    if (with_fence)
      (on_another_context ? *other : c).fence();
    w.check(c.p(word(n, 1), 1, pe{1}).has_value(), "p");
  };
}

void taker(world& w, world_core& self, node& n) {
  w.check(n.wait_until(word(n, 1), shmem::comparison::equal, 1).has_value(), "wait_until");
  std::uint64_t const first = self.load(emu::global<std::uint64_t>(word(n, 0)));
  std::uint64_t const second = self.load(emu::global<std::uint64_t>(word(n, 0) + 1));
  w.check(first == 1 && second == 2, "the data came after their flag");
}

/// One pe puts, both meet, the other looks.
verdict meeting(explore_options const& o, result<void> (*meet)(node&)) {
  return two_pes(
      o,
      [meet](world& w, world_core&, node& n) {
        auto const put =
            n.default_context().put(word(n, 0), std::array<std::uint64_t, 2>{1, 2}, pe{1});
        w.check(put.has_value(), "put");
        w.check(meet(n).has_value(), "meet");
      },
      [meet](world& w, world_core& self, node& n) {
        w.check(meet(n).has_value(), "meet");
        std::uint64_t const second = self.load(emu::global<std::uint64_t>(word(n, 0) + 1));
        w.check(second == 2, "it is not there yet");
      });
}

struct write_own {
  void operator()(emu::any_wavefront auto& wf, emu::global<std::uint64_t> own) const {
    wf.store(own, 3);
    wf.store(own + 1, 4);
  }
};

/// A kernel writes device memory; its host puts it, or gets into it, and may have waited before.
verdict put_or_get_beside_kernel(bool puts, bool waits) {
  explore_options const o{.executions = 200, .shrinks = false, .diagnoses = false};
  return explore(o, [=](world& w) {
    auto ends = make_in_process(1);
    emu::explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto own = gpu.allocate<std::uint64_t>(2, "own");
    auto n = node::start(gpu.core(), std::move(ends[0]), tiny);
    w.check(n.has_value(), "start");
    if (!n)
      return;
    auto running =
        gpu.launch({.work_items = 1, .work_items_per_group = 1}, write_own{}, own.global());
    if (waits)
      static_cast<void>(running.wait());
    auto& c = n->default_context();
    std::span<std::uint64_t> const words(own.global().get(), 2);
    if (puts)
      w.check(c.put(word(*n, 0), std::span<std::uint64_t const>(words), pe{0}).has_value(), "put");
    else
      w.check(c.get(words, word(*n, 0), pe{0}).has_value(), "get");
    w.check(c.quiet().has_value(), "quiet");
    if (puts && waits)
      w.check(w.host().load(emu::global<std::uint64_t>(word(*n, 0) + 1)) == 4, "an old value");
    if (!waits)
      static_cast<void>(running.wait());
    w.check(n->finish().has_value(), "finish");
  });
}

} // namespace

TEST_SUITE("net.shmem_explore") {
  TEST_CASE("a fence keeps a flag behind its data") {
    verdict const v = two_pes({.executions = 500}, giver(true), taker);
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }

  TEST_CASE("a report names the lines that have begun what arrives, and what is on its way") {
    std::uint_least32_t first_line = 0;
    auto const give = [&](world& w, world_core&, node& n) {
      first_line = std::source_location::current().line() + 1;
      w.check(n.default_context().p(word(n, 0), 1, pe{1}).has_value(), "p");
      w.check(n.default_context().p(word(n, 1), 1, pe{1}).has_value(), "p"); // a fence is missing
    };
    std::uint_least32_t wait_line = 0;
    auto const take = [&](world& w, world_core& self, node& n) {
      wait_line = std::source_location::current().line() + 1;
      w.check(n.wait_until(word(n, 1), shmem::comparison::equal, 1).has_value(), "wait_until");
      w.check(self.load(emu::global<std::uint64_t>(word(n, 0)), emu::order::acquire,
                        emu::scope::system) == 1,
              "the data came after their flag");
    };
    verdict const v = two_pes({.executions = 500, .detects_races = false}, give, take);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "check");
    auto const line = [&](unsigned more) {
      return "shmem_explore_test.cpp:" + std::to_string(first_line + more);
    };
    std::string const text = v.to_string();
    CHECK_MESSAGE(text.find("  on its way  put by pe 0 to pe 1, begun at " + line(0)) !=
                      std::string::npos,
                  text);
    CHECK_MESSAGE(text.find("symmetric heap of pe 1[8] = 0x1") != std::string::npos, text);
    for (auto const& there : {line(1), line(wait_line - first_line)})
      CHECK_MESSAGE(text.find(there) != std::string::npos, text);
    for (char const* const not_there : {"heap_access.hpp", "engine_of.hpp"})
      CHECK_MESSAGE(text.find(not_there) == std::string::npos, text);
  }

  TEST_CASE("who waits in vain does so at its own line") {
    std::uint_least32_t wait_line = 0;
    std::uint_least32_t sync_line = 0;
    auto const wait = [&](world& w, world_core&, node& n) {
      wait_line = std::source_location::current().line() + 1;
      w.check(n.wait_until(word(n, 1), shmem::comparison::equal, 1).has_value(), "wait_until");
    };
    auto const sync = [&](world& w, world_core&, node& n) {
      sync_line = std::source_location::current().line() + 1;
      w.check(n.world().sync().has_value(), "sync");
    };
    verdict const v = two_pes({.executions = 5}, wait, sync);
    REQUIRE(v.failure);
    std::string const text = v.to_string();
    for (auto const line : {wait_line, sync_line})
      CHECK_MESSAGE(
          text.find("shmem_explore_test.cpp:" + std::to_string(line)) != std::string::npos, text);
    for (char const* const not_there : {"engine_of.hpp", "engine_waiting.cpp"})
      CHECK_MESSAGE(text.find(not_there) == std::string::npos, text);
  }

  TEST_CASE("without a fence, or with one of another context, a flag may overtake its data") {
    for (bool const with_fence : {false, true}) {
      CAPTURE(with_fence);
      auto const give = giver(with_fence, true);
      CHECK(!two_pes({.executions = 500}, give, taker));
      // Not only in theory: the values are old.
      verdict const v = two_pes({.executions = 500, .detects_races = false}, give, taker);
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "check");
    }
  }

  TEST_CASE("barrier_all completes puts, sync_all does not") {
    verdict const v = meeting({.executions = 500}, [](node& n) { return n.barrier_all(); });
    CHECK_MESSAGE(v, v.to_string());
    auto const sync = [](node& n) { return n.sync_all(); };
    CHECK(!meeting({.executions = 500}, sync));
    CHECK(!meeting({.executions = 500, .detects_races = false}, sync));
  }

  TEST_CASE("two puts to one place with no fence between them are a race") {
    verdict const v = two_pes(
        {.executions = 500},
        [](world& w, world_core&, node& n) {
          for (std::uint64_t i = 0; i < 2; ++i) {
            auto const put =
                n.default_context().put(word(n, 0), std::array<std::uint64_t, 2>{i, i}, pe{1});
            w.check(put.has_value(), "put");
          }
        },
        [](world&, world_core&, node&) {});
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
  }

  TEST_CASE("what collectives keep for themselves is seen through caches, too") {
    auto const split = [](world& w, world_core&, node& n) {
      w.check(n.world().split_strided(0, 1, 2).has_value(), "split");
    };
    auto const v = two_pes({.executions = 50}, split, split,
                           {.heap_bytes = 256, .most_teams = 4, .team_bytes = 256});
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what a host puts from device memory, or gets into it, may race with a kernel") {
    for (bool const puts : {true, false}) {
      CAPTURE(puts);
      verdict const after = put_or_get_beside_kernel(puts, true);
      CHECK_MESSAGE(after, after.to_string());
      verdict const beside = put_or_get_beside_kernel(puts, false);
      REQUIRE(beside.failure);
      CHECK(beside.failure->kind == "race");
    }
  }

  TEST_CASE("who polls for its operations, and sees their answers, may look at what they did") {
    auto const poll_and_look = [](bool sees, bool for_all) {
      return two_pes(
          {.executions = 300},
          [=](world& w, world_core& self, node& n) {
            auto c = n.make_context();
            w.check(c.has_value(), "make_context");
            std::array<std::uint64_t, 2> const data{1, 2};
            auto const t = c->put_nbi(word(n, 0), std::span<std::uint64_t const>(data), pe{0});
            w.check(t.has_value(), "put_nbi");
            auto const is_over = [&] { return for_all ? c->is_quiet() : c->is_done(*t); };
            w.check(w.scheduler().run_until(is_over), "it is never over");
            if (sees)
              c->see_answers();
            w.check(self.load(emu::global<std::uint64_t>(word(n, 0) + 1)) == 2, "an old value");
          },
          [](world&, world_core&, node&) {});
    };
    for (bool const for_all : {false, true}) {
      CAPTURE(for_all);
      verdict const v = poll_and_look(true, for_all);
      CHECK_MESSAGE(v, v.to_string());
      CHECK(!poll_and_look(false, for_all));
    }
  }

  TEST_CASE("a reduction gives the sums, at once and in pieces round the ring") {
    for (std::size_t const count : {8U, 512U}) {
      CAPTURE(count);
      auto const sum = [count](world& w, world_core&, node& n) {
        std::uint32_t const id = n.self().id;
        auto const a = n.malloc<std::uint32_t>(count), b = n.malloc<std::uint32_t>(count);
        auto& c = n.default_context();
        std::vector<std::uint32_t> values(count);
        std::iota(values.begin(), values.end(), id);
        w.check(c.put(a->data(), std::span<std::uint32_t const>(values), n.self()).has_value(), "");
        w.check(n.barrier_all().has_value(), "barrier");
        w.check(n.world().reduce(shmem::reduction::sum, b->data(), a->data(), count).has_value(),
                "reduce");
        w.check(n.barrier_all().has_value(), "barrier");
        w.check(c.get(std::span<std::uint32_t>(values), b->data(), n.self()).has_value(), "get");
        for (std::size_t i = 0; i < count; ++i)
          w.check(values[i] == 2 * i + 1, "a wrong sum");
      };
      auto const v = two_pes({.executions = count == 8 ? 100U : 60U, .most_decisions = 200'000},
                             sum, sum, {.heap_bytes = 8192, .most_teams = 1, .team_bytes = 256});
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }
}
