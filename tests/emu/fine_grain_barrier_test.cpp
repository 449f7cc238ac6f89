// SPDX-License-Identifier: Apache-2.0
// Work-group collectives in diverged control flow, by the three mechanisms of thesis §5.3.3.
#include "agents.hpp"

#include <cstdint>
#include <random>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// A directed graph; a vertex's out-edges are [first[v], first[v + 1]).
struct graph_view {
  global<std::int32_t const> first;
  global<std::int32_t const> target;
  std::int32_t vertices;
};

struct random_graph {
  std::vector<std::int32_t> first{0};
  std::vector<std::int32_t> target;
  random_graph(std::int32_t vertices, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::int32_t v = 0; v < vertices; ++v) {
      // Many without edges, whole wavefronts of them too; a few with many.
      auto degree = random() % 8 == 0 ? random() % 12 : random() % 3;
      if (v / 64 % 3 == 1)
        degree = 0;
      for (; degree != 0; --degree)
        target.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(vertices)));
      first.push_back(static_cast<std::int32_t>(target.size()));
    }
  }
};

/// What every mechanism's loop does for its active work-items: counts each edge, and proves that
/// they met: slots from a work-group prefix sum, one reservation for all of them.
struct log_view {
  global<std::int32_t> entries;
  global<std::uint32_t> used;
};

template<divergence_mechanism D>
task<> append(any_wavefront auto& wf, auto const& value, log_view log, D how) {
  auto place = value;
  auto const one = value * 0 + 1;
  int const total = co_await wf.group_prefix_sum(one, place, how);
  std::uint32_t base = 0;
  bool const leads = (wf.active() & lane_mask(~std::uint64_t{0})).any();
  auto const offer = co_await wf.group_offset(leads ? 1 : 0, how);
  if (leads && offer.is_last && total != 0)
    base = wf.fetch_add(log.used, static_cast<std::uint32_t>(total), order::relaxed, scope::agent);
  base = co_await wf.group_broadcast(base, leads && offer.is_last, how);
  wf.store(log.entries + (place + static_cast<std::int32_t>(base)), value);
}

/// Table 5-1b: software predication. All wavefronts stay; inactive lanes submit nothing.
struct by_predication {
  task<> operator()(any_wavefront auto& wf, graph_view g, log_view log) const {
    auto const v = wf.global_id(0);
    auto begin = v * 0;
    auto degree = v * 0;
    if (auto in = wf.where(v < g.vertices)) {
      begin = wf.load(g.first + v);
      degree = wf.load(g.first + (v + 1)) - begin;
    }
    int const loops = co_await wf.group_reduce(degree, maximum{});
    for (int i = 0; i < loops; ++i) {
      auto const active = wf.where(degree > i);
      auto const to = wf.load(g.target + (begin + i));
      co_await append(wf, to, log, converged{});
    }
  }
};

/// Table 5-1a: wavefronts leave the loop when their lanes have; the hardware knows who is in.
struct by_reconvergence {
  task<> operator()(any_wavefront auto& wf, graph_view g, log_view log) const {
    auto const v = wf.global_id(0);
    if (auto in = wf.where(v < g.vertices)) {
      auto const begin = wf.load(g.first + v);
      auto const degree = wf.load(g.first + (v + 1)) - begin;
      int i = 0;
      for (auto loop = wf.loop(); loop.keep(degree > i); ++i) {
        auto const to = wf.load(g.target + (begin + i));
        co_await append(wf, to, log, reconverging);
      }
    }
  }
};

/// Table 5-1c: each work-item leaves the barrier after its last edge.
struct by_fine_grain_barrier {
  task<> operator()(any_wavefront auto& wf, graph_view g, log_view log) const {
    auto const fb = wf.make_fine_grain_barrier();
    auto const v = wf.global_id(0);
    auto begin = v * 0;
    auto degree = v * 0;
    if (auto in = wf.where(v < g.vertices)) {
      begin = wf.load(g.first + v);
      degree = wf.load(g.first + (v + 1)) - begin;
    }
    fb.leave(wf.slot(), wf.ballot(degree == 0));
    int i = 0;
    for (auto loop = wf.loop(); loop.keep(degree > i); ++i) {
      auto const to = wf.load(g.target + (begin + i));
      co_await append(wf, to, log, fb);
      fb.leave(wf.slot(), wf.ballot(degree == i + 1));
    }
  }
};

/// The log has every edge once: as many entries a vertex as it has in-edges.
template<class Kernel>
void counts_in_edges(Kernel kernel, std::int32_t vertices, unsigned per_group) {
  std::uint64_t seed = 0;
  with_every_agent([&](agent& gpu) {
    random_graph const graph(vertices, ++seed);
    auto first = gpu.expose(graph.first.data(), graph.first.size(), "first");
    auto target = gpu.expose(graph.target.data(), graph.target.size(), "target");
    auto entries = gpu.allocate<std::int32_t>(graph.target.size() + 1, "entries");
    auto used = gpu.allocate<std::uint32_t>(1, "used");
    graph_view const g{global<std::int32_t const>(graph.first.data()),
                       global<std::int32_t const>(graph.target.data()), vertices};
    succeed(gpu.run({.work_items = vertices, .work_items_per_group = per_group}, kernel, g,
                    log_view{entries.global(), used.global()}));
    REQUIRE(used.host()[0] == graph.target.size());
    std::vector<int> difference(static_cast<std::size_t>(vertices));
    for (std::size_t i = 0; i < graph.target.size(); ++i) {
      ++difference[static_cast<std::size_t>(graph.target[i])];
      --difference[static_cast<std::size_t>(entries.host()[i])];
    }
    for (int const d : difference)
      REQUIRE(d == 0);
  });
}

/// Even wavefronts meet at one line, odd ones at another; the first one ends at once, and the last
/// comes late and alone.
struct two_sites {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    int const w = static_cast<int>(wf.index_in_group());
    int const last = static_cast<int>(wf.waves_in_group()) - 1;
    if (w == 0)
      co_return;
    auto const one = wf.local_id(0) * 0 + 1;
    if (w == last) {
      int const alone = co_await wf.group_reduce(one, plus{}, reconverging);
      wf.store(out + w, alone * 10'000);
      co_return;
    }
    int got = 0;
    if (w % 2 == 0) {
      got = co_await wf.group_reduce(one, plus{}, reconverging);
    } else {
      for (int i = 0; i < 3; ++i)
        got += co_await wf.group_reduce(one, plus{}, reconverging);
    }
    // The control flow comes together again: all but the first and the last wavefront.
    int const all = co_await wf.group_reduce(one, plus{}, reconverging);
    wf.store(out + w, got * 10'000 + all);
  }
};

/// Divergence in divergence: a converged barrier waits below while others go round and round.
struct nested_divergence {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    int const w = static_cast<int>(wf.index_in_group());
    auto const one = wf.local_id(0) * 0 + 1;
    int sum = 0;
    if (w != 0) {
      for (int i = 0; i < w; ++i) {
        sum += co_await wf.group_reduce(one, plus{}, reconverging);
        if (w >= 2 && i == 1)
          sum += 100'000 * co_await wf.group_reduce(one, plus{}, reconverging);
      }
    }
    co_await wf.barrier();
    int const all = co_await wf.group_reduce(one, plus{});
    wf.store(out + (2 * w), sum);
    wf.store(out + (2 * w + 1), all);
  }
};

/// A barrier of the lanes 0…7 of every second wavefront, which others have left, and join again.
struct leave_and_join {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const fb = wf.make_fine_grain_barrier();
    auto const low = wf.ballot(wf.local_id(0) % 32 < 8);
    bool const is_even = wf.index_in_group() % 2 == 0;
    auto const one = wf.local_id(0) * 0 + 1;
    fb.leave(wf.slot(), is_even ? wf.items().without(low) : wf.items());
    int among_low = 0;
    if (is_even) {
      auto const active = wf.where(low);
      for (int i = 0; i < 4; ++i)
        among_low += co_await wf.group_reduce(one, plus{}, fb);
    }
    co_await wf.barrier(); // converged: everybody
    fb.join(wf.slot(), wf.items());
    co_await wf.barrier();
    int const all = co_await wf.group_reduce(one, plus{}, fb);
    wf.store(out + (2 * static_cast<int>(wf.index_in_group())), among_low);
    wf.store(out + (2 * static_cast<int>(wf.index_in_group()) + 1), all);
  }
};

/// Two barriers at once: even and odd wavefronts each have their own.
struct two_barriers {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const even = wf.make_fine_grain_barrier();
    auto const odd = wf.make_fine_grain_barrier();
    bool const is_even = wf.index_in_group() % 2 == 0;
    auto const& mine = is_even ? even : odd;
    (is_even ? odd : even).leave(wf.slot(), wf.items());
    int sum = 0;
    for (int i = 0; i < (is_even ? 7 : 3); ++i) {
      auto const me = wf.local_id(0) * 0 + static_cast<int>(wf.index_in_group());
      sum += co_await wf.group_reduce(me, maximum{}, mine);
      co_await wf.barrier_of(mine);
    }
    wf.store(out + static_cast<int>(wf.index_in_group()), sum);
  }
};

/// Wavefront 0 leaves the barrier and ends; 1 and 3 end although they are members, 3 with one lane
/// only; 2 waits.
struct ends_as_a_member {
  task<> operator()(any_wavefront auto& wf) const {
    auto const fb = wf.make_fine_grain_barrier();
    if (wf.index_in_group() == 0)
      fb.leave(wf.slot(), wf.items());
    if (wf.index_in_group() == 3)
      fb.leave(wf.slot(), wf.items().without(lane_mask::only(5)));
    if (wf.index_in_group() == 2)
      co_await wf.barrier_of(fb);
  }
};

/// The last wavefront comes to a barrier that it has left.
struct comes_as_a_stranger {
  task<> operator()(any_wavefront auto& wf) const {
    auto const fb = wf.make_fine_grain_barrier();
    if (wf.index_in_group() == 2)
      fb.leave(wf.slot(), wf.items());
    co_await wf.barrier();
    co_await wf.barrier_of(fb);
  }
};

} // namespace

TEST_SUITE("emu.fine_grain_barrier") {
  TEST_CASE("in-edges are counted by software predication (Table 5-1b)") {
    counts_in_edges(by_predication{}, 1000, 256);
    counts_in_edges(by_predication{}, 331, 100);
  }
  TEST_CASE("in-edges are counted by work-group reconvergence (Table 5-1a)") {
    counts_in_edges(by_reconvergence{}, 1000, 256);
    counts_in_edges(by_reconvergence{}, 331, 100);
  }
  TEST_CASE("in-edges are counted by fine-grain barriers (Table 5-1c)") {
    counts_in_edges(by_fine_grain_barrier{}, 1000, 256);
    counts_in_edges(by_fine_grain_barrier{}, 331, 100);
  }

  TEST_CASE("wavefronts at two diverged places do not meet, and those that have ended are not "
            "waited for") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(8, "out");
      succeed(
          gpu.run({.work_groups = 1, .work_items_per_group = 8 * size}, two_sites{}, out.global()));
      CHECK(out.host()[0] == 0);
      CHECK(out.host()[7] == size * 10'000);
      for (unsigned w : {2U, 4U, 6U})
        CHECK(out.host()[w] == 3 * size * 10'000 + 6 * size);
      for (unsigned w : {1U, 3U, 5U})
        CHECK(out.host()[w] == 9 * size * 10'000 + 6 * size);
    });
  }

  TEST_CASE("diverged collectives nest, while others wait at a barrier below") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(8, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 4 * size}, nested_divergence{},
                      out.global()));
      // Round 1: wavefronts 1, 2, 3; round 2: 2, 3; there the inner one: 2, 3; round 3: 3 alone.
      CHECK(out.host()[0] == 0);
      CHECK(out.host()[2] == 3 * size);
      CHECK(out.host()[4] == 5 * size + 100'000 * 2 * size);
      CHECK(out.host()[6] == 6 * size + 100'000 * 2 * size);
      for (unsigned w = 0; w < 4; ++w)
        CHECK(out.host()[2 * w + 1] == 4 * size);
    });
  }

  TEST_CASE(
      "a fine-grain barrier is for any work-items, also of one wavefront; they leave and join") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      int const waves = 6;
      auto out = gpu.allocate<int>(2 * waves, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = waves * size}, leave_and_join{},
                      out.global()));
      for (unsigned w = 0; w < waves; ++w) {
        CHECK(out.host()[2 * w] == (w % 2 == 0 ? 4 * 3 * (size / 32) * 8 : 0));
        CHECK(out.host()[2 * w + 1] == waves * size);
      }
    });
  }

  TEST_CASE("two fine-grain barriers of one group do not disturb each other") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(7, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 7 * size}, two_barriers{},
                      out.global()));
      for (unsigned w = 0; w < 7; ++w)
        CHECK(out.host()[w] == (w % 2 == 0 ? 7 * 6 : 3 * 5));
    });
  }

  TEST_CASE("members that end without leaving are named, and nobody who has left") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto const report = fail_with(
          gpu.run({.work_groups = 1, .work_items_per_group = 4 * size}, ends_as_a_member{}),
          fault::kind::barrier_divergence);
      CHECK_SAYS(report, "absent wavefronts: 1 (has ended), 3 (has ended)\n");
      CHECK_SAYS(report, "waits at barrier, fine_grain_barrier_test.cpp:");
    });
  }

  TEST_CASE("a wavefront that comes to a barrier which all its work-items have left is misuse") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto const report = fail_with(
          gpu.run({.work_groups = 1, .work_items_per_group = 3 * size}, comes_as_a_stranger{}),
          fault::kind::misuse);
      CHECK_SAYS(report, "wavefront 2 of group 0 (0,0,0) comes to a fine-grain barrier of which "
                         "none of its work-items is a member");
    });
  }
}
