// SPDX-License-Identifier: Apache-2.0
// ComP-Net's collectives on three nodes, where a barrier has two rounds: kernels, their services
// and the network.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

constexpr std::uint32_t three = 3;
constexpr std::uint64_t rounds = 2; // a second one shows whether the first one was over

/// What node `id` puts, and adds.
constexpr std::uint64_t word_of(std::uint32_t id, std::uint64_t round) {
  return 100 * round + 10 * id;
}

/// Each node puts two words to the next one; they meet, and it looks; then they sum up.
struct put_meet_sum {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    world& w, comp_net::device& net) const {
    auto made = comp_net::context::init(wf, net);
    comp_net::context ctx = co_await std::move(made);
    std::uint32_t const self = net.self().id;
    pe const next{(self + 1) % three};
    std::uint32_t const before = (self + 2) % three;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      wf.store(own, word_of(self, round));
      wf.store(own + 1, word_of(self, round) + 1);
      auto put = ctx.put_nbi(wf, words, own, 2, next);
      co_await std::move(put);
      auto met = ctx.barrier_all(wf);
      co_await std::move(met);
      bool const is_there = wf.load(words) == word_of(before, round) &&
                            wf.load(words + 1) == word_of(before, round) + 1;
      w.check(is_there, "a barrier was over before a put");
      // Nobody puts into `words` again before all have looked: they send their parts after that.
      auto sum = ctx.reduce(wf, shmem::reduction::sum, own, own, 2);
      co_await std::move(sum);
      std::uint64_t const all = word_of(0, round) + word_of(1, round) + word_of(2, round);
      w.check(wf.load(own) == all && wf.load(own + 1) == all + three, "a wrong sum");
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

void run_three(world& w, weakening const* weak) {
  run_program(w, weak, {.heap_bytes = 256, .count = three}, [&](program_node& n) {
    auto const words = n.allocate<std::uint64_t>(2);
    auto own = n.gpu.template allocate<std::uint64_t>(2, "own");
    n.run(program_node::wavefronts(1), put_meet_sum{}, words, own.global(), std::ref(w),
          std::ref(n.net.device()));
  });
}

} // namespace

target comp_net_three_target() {
  auto orders = both_tables<agent_ring_orders>();
  std::erase_if(orders, [](weakening const& w) { return w.entry == "fetch_word"; }); // by nobody
  return {.name = "comp-net-three",
          .what = "three nodes in one process: each puts to the next, then a barrier, then a "
                  "reduction, twice",
          .weakenings = std::move(orders),
          .run = run_three,
          .most_decisions = 100'000,
          // A barrier's word has one pe that adds to it: nothing of others is there to hand on.
          .indistinguishable = {"apply_update=release"}};
}

} // namespace quarry::exploration
