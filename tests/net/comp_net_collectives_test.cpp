// SPDX-License-Identifier: Apache-2.0
#include "comp_net_job.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;

namespace {

constexpr std::uint32_t rounds = 6;
constexpr std::size_t many = 20; // chunks of 8 words

/// Words 0–7: for the group's atomics at pe 0; `own`: what they brought back, and reductions.
struct count_and_meet {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    global<std::uint64_t> all_own, global<double> all_reals, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto const own = all_own + wf.linear_group_id() * 32;
    auto const reals = all_reals + wf.linear_group_id() * 2;
    std::uint64_t const me = net.self().id + 1;
    for (std::uint32_t r = 0; r < rounds; ++r) {
      auto counted = ctx.atomic_fetch_add(wf, words, 1, pe{0});
      std::uint64_t const ticket = co_await std::move(counted);
      if (wf.index_in_group() == 0) {
        wf.store(own + r, ticket);
        // The GPU's own atomics, on a word that its service and others' add to.
        wf.fetch_add(words + 1, 1, order::relaxed, scope::system);
      }
      auto added = ctx.atomic_add(wf, words + 1, 10, net.self());
      co_await std::move(added);
      auto met = ctx.barrier_all(wf);
      co_await std::move(met);
    }
    if (wf.index_in_group() == 0) {
      for (std::uint32_t i = 0; i < many; ++i)
        wf.store(own + i, me * 100 + i);
      wf.store(reals, static_cast<double>(me) / 8);
      wf.store(reals + 1, -static_cast<double>(me));
    }
    auto sum = ctx.reduce(wf, shmem::reduction::sum, own, own, many); // in place
    co_await std::move(sum);
    auto least = ctx.reduce(wf, shmem::reduction::minimum, reals, reals, 2);
    co_await std::move(least);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Swaps, conditional swaps and bits, of both widths, at the next pe; from work-items.
struct all_atomics {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, global<std::uint64_t> got,
                    device& net) const {
    auto made = context::init(wi, net);
    context ctx = co_await std::move(made);
    pe const next{(net.self().id + 1) % net.pe_count()};
    global<std::uint32_t> const half(reinterpret_cast<std::uint32_t*>((words + 8).get()));
    co_await ctx.atomic_set(wi, words + 2, 12, next);
    co_await ctx.atomic_or(wi, words + 2, 3, next);
    co_await ctx.atomic_and(wi, words + 2, 13, next);
    co_await ctx.atomic_xor(wi, words + 2, 5, next);
    co_await ctx.atomic_inc(wi, words + 2, next);
    std::uint64_t const bits = co_await ctx.atomic_fetch(wi, words + 2, next);
    std::uint64_t const swapped = co_await ctx.atomic_swap(wi, words + 2, 100, next);
    std::uint64_t const missed = co_await ctx.atomic_compare_swap(wi, words + 2, 7, 200, next);
    std::uint64_t const hit = co_await ctx.atomic_compare_swap(wi, words + 2, 100, 300, next);
    std::uint64_t const last = co_await ctx.atomic_fetch(wi, words + 2, next);
    std::uint64_t const zero = co_await ctx.atomic_fetch_inc(wi, words + 3, next);
    std::uint64_t const one = co_await ctx.atomic_fetch_or(wi, words + 3, 6, next);
    std::uint64_t const seven = co_await ctx.atomic_fetch_xor(wi, words + 3, 2, next);
    std::uint64_t const five = co_await ctx.atomic_fetch_and(wi, words + 3, 4, next);
    std::uint64_t const four = co_await ctx.atomic_fetch(wi, words + 3, next);
    std::uint32_t const before = co_await ctx.atomic_fetch_add(wi, half, ~0U, next);
    std::uint32_t const after = co_await ctx.atomic_fetch(wi, half, next);
    if (wi.local_linear_id() == 0) {
      std::uint64_t const all[] = {bits,  swapped, missed, hit,   last, before,
                                   after, zero,    one,    seven, five, four};
      for (int i = 0; i < 12; ++i)
        wi.store(got + i, all[i]);
    }
    co_await ctx.destroy(wi);
  }
};

} // namespace

TEST_SUITE("net.comp_net_collectives") {
  TEST_CASE("fetching atomics give every ticket once; barriers and reductions bring all together") {
    with_every_job([](test_node& n) {
      constexpr std::uint32_t count = 2;
      auto own = n.gpu.allocate<std::uint64_t>(count * 32, "own");
      auto reals = n.gpu.allocate<double>(count * 2, "reals");
      succeed(n.gpu.run(groups(count), count_and_meet{}, n.at(), own.global(), reals.global(),
                        std::ref(n.net.device())));
      CHECK(n.net.shmem().barrier_all());
      if (n.id == 0)
        CHECK(n.words[0] == n.count * count * rounds);
      CHECK(n.words[1] == count * rounds * 11);
      for (std::uint32_t g = 0; g < count; ++g) {
        for (std::uint32_t i = 0; i < many; ++i)
          REQUIRE(own.host()[g * 32 + i] == n.count * (n.count + 1) / 2 * 100 + n.count * i);
        CHECK(reals.host()[g * 2] == 1.0 / 8);
        CHECK(reals.host()[g * 2 + 1] == -static_cast<double>(n.count));
      }
    });
  }

  TEST_CASE("every atomic operation does what OpenSHMEM says, on words of 8 and of 4 bytes") {
    with_every_job([](test_node& n) {
      auto got = n.gpu.allocate<std::uint64_t>(12, "got");
      succeed(
          n.gpu.run({.work_groups = 1, .work_items_per_group = 70, .lds_bytes = context::lds_bytes},
                    all_atomics{}, n.at(), got.global(), std::ref(n.net.device())));
      constexpr std::uint64_t bits = (((12 | 3) & 13) ^ 5) + 1;
      std::uint64_t const expected[] = {bits, bits, 100, 100, 300, 0, ~0U, 0, 1, 7, 5, 4};
      for (int i = 0; i < 12; ++i)
        CHECK(got.host()[static_cast<std::size_t>(i)] == expected[i]);
      CHECK(n.net.shmem().barrier_all());
      CHECK(n.words[2] == 300);
      CHECK(n.words[8] == ~0U); // the other half of the word is as it was
    });
  }
}
