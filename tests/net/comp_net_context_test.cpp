// SPDX-License-Identifier: Apache-2.0
#include "comp_net_job.hpp"

#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;
using awaited = shmem::comparison;

namespace {

constexpr std::uint64_t word_of(std::uint32_t from, std::uint32_t group, std::uint64_t i) {
  return (from + 1) * 10'000 + group * 100 + i;
}

/// Every kind of put, to the next pe, and every kind of get, from there. Each group has 32 words:
/// 0–15 are put from other memory, 16 by p, 17 with a signal in 18, 20–27 are got, 30 counts.
struct puts_and_gets {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> all, global<std::uint64_t> own,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto const group = static_cast<std::uint32_t>(wf.linear_group_id());
    pe const next{(net.self().id + 1) % net.pe_count()};
    auto const words = all + group * 32;
    auto const mine = own + group * 32;
    if (auto const lanes = wf.where(wf.local_id() < 16)) // which the other wavefronts do not have
      wf.store(mine + wf.local_id(),
               convert<std::uint64_t>(wf.local_id().to_lanes()) + word_of(net.self().id, group, 0));
    auto put = ctx.put(wf, words, mine, 16, next);
    co_await std::move(put);
    auto single = ctx.p(wf, words + 16, word_of(net.self().id, group, 16), next);
    co_await std::move(single);
    auto fence = ctx.fence(wf);
    co_await std::move(fence);
    auto signalled =
        ctx.put_signal(wf, words + 17, mine + 3, 1, words + 18, 5, shmem::signal_op::set, next);
    co_await std::move(signalled);
    auto wait = ctx.wait_until(wf, words + 18, awaited::equal, 5);
    std::uint64_t const seen = co_await std::move(wait);
    auto barrier = ctx.barrier_all(wf);
    co_await std::move(barrier);
    auto got = ctx.get(wf, words + 20, words, 8, next);
    co_await std::move(got);
    auto one = ctx.g(wf, words + 17, next);
    std::uint64_t const fetched = co_await std::move(one);
    auto later = ctx.get_nbi(wf, words + 28, words + 16, 1, next);
    co_await std::move(later);
    auto quiet = ctx.quiet(wf);
    co_await std::move(quiet);
    if (wf.index_in_group() == 0)
      wf.store(words + 30, seen + fetched);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// The same from work-items.
struct puts_and_gets_by_items {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> all, global<std::uint64_t> own,
                    device& net) const {
    auto made = context::init(wi, net);
    context ctx = co_await std::move(made);
    std::uint32_t const group = wi.group_id().x;
    pe const next{(net.self().id + 1) % net.pe_count()};
    auto const words = all + group * 32;
    auto const mine = own + group * 32;
    if (wi.local_linear_id() < 16)
      wi.store(mine + wi.local_linear_id(), word_of(net.self().id, group, wi.local_linear_id()));
    co_await ctx.put_nbi(wi, words, mine, 16, next);
    co_await ctx.p(wi, words + 16, word_of(net.self().id, group, 16), next);
    co_await ctx.fence(wi);
    co_await ctx.put_signal_nbi(wi, words + 17, mine + 3, 1, words + 18, 5, shmem::signal_op::add,
                                next);
    std::uint64_t const seen = co_await ctx.wait_until(wi, words + 18, awaited::greater, 4);
    co_await ctx.barrier_all(wi);
    co_await ctx.get(wi, words + 20, words, 8, next);
    std::uint64_t const fetched = co_await ctx.g(wi, words + 17, next);
    co_await ctx.get_nbi(wi, words + 28, words + 16, 1, next);
    co_await ctx.quiet(wi);
    if (wi.local_linear_id() == 0)
      wi.store(words + 30, seen + fetched);
    co_await ctx.destroy(wi);
  }
};

template<class Kernel>
void check_puts_and_gets(test_node& n) {
  constexpr std::uint32_t count = 3;
  auto own = n.gpu.allocate<std::uint64_t>(count * 32, "sources");
  succeed(n.gpu.run(groups(count), Kernel{}, n.at(), own.global(), std::ref(n.net.device())));
  CHECK(n.net.shmem().barrier_all());
  std::uint32_t const before = (n.id + n.count - 1) % n.count;
  for (std::uint32_t g = 0; g < count; ++g) {
    auto const words = n.words.subspan(g * 32, 32);
    for (std::uint32_t i = 0; i < 16; ++i)
      REQUIRE(words[i] == word_of(before, g, i));
    CHECK(words[16] == word_of(before, g, 16));
    CHECK(words[17] == word_of(before, g, 3));
    // What the next one had was this one's.
    for (std::uint32_t i = 0; i < 8; ++i)
      REQUIRE(words[20 + i] == word_of(n.id, g, i));
    CHECK(words[28] == word_of(n.id, g, 16));
    CHECK(words[30] == 5 + word_of(n.id, g, 3));
  }
}

} // namespace

TEST_SUITE("net.comp_net_context") {
  TEST_CASE("puts arrive, gets bring what is there, signals come after their data: wave kernels") {
    with_every_job([](test_node& n) { check_puts_and_gets<puts_and_gets>(n); });
  }
  TEST_CASE("the same from item kernels") {
    with_every_job([](test_node& n) { check_puts_and_gets<puts_and_gets_by_items>(n); });
  }
}
