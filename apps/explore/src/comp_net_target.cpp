// SPDX-License-Identifier: Apache-2.0
// ComP-Net end to end: kernels on two nodes, their services and the network, in one process.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

/// In each node's heap: what comes, and what the other fetches.
constexpr std::uint64_t data = 0, flag_word = 2, counter = 3, answers = 4, more = 10, cells = 12;

/// Of node 1, in its own heap: each of two words and a mark.
void leave_answers(any_wavefront auto& wf, global<std::uint64_t> words) {
  for (std::uint64_t i = 0; i < 2; ++i) {
    auto const at = words + answers + 3 * i;
    wf.store(at, 3 + i);
    wf.store(at + 1, 4 + i);
    wf.store(at + 2, 1, order::release, scope::system);
  }
}

/// Node 0's look at them: with either atomic operation, and only at what is marked.
task<> check_answers(any_wavefront auto& wf, world& w, comp_net::context& ctx,
                     global<std::uint64_t> words, global<std::uint64_t> own) {
  pe const other{1};
  for (std::uint64_t i = 0; i < 2; ++i) {
    auto const at = words + answers + 3 * i;
    std::uint64_t is_answered = 0;
    if (i == 0) {
      auto look = ctx.atomic_fetch(wf, at + 2, other);
      is_answered = co_await std::move(look);
    } else {
      auto ask = ctx.atomic_fetch_add(wf, at + 2, 0, other);
      is_answered = co_await std::move(ask);
    }
    if (is_answered == 1) {
      auto fetched = ctx.get(wf, own, at, 2, other);
      co_await std::move(fetched);
      std::uint64_t const third = wf.load(own);
      std::uint64_t const fourth = wf.load(own + 1);
      w.check(third == 3 + i && fourth == 4 + i, "a mark came before its answer");
    }
  }
}

/// Each node puts two words to the other, then a flag; node 1 leaves two answers in its own heap,
/// and marks them; node 0 asks for them, puts more and counts there; they meet; each gets back what
/// it has put.
struct exchange {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    world& w, comp_net::device& net) const {
    auto made = comp_net::context::init(wf, net);
    comp_net::context ctx = co_await std::move(made);
    pe const other{1 - net.self().id};
    std::uint64_t const mine = std::uint64_t{10} * net.self().id,
                        theirs = std::uint64_t{10} * other.id;
    wf.store(own, mine + 1);
    wf.store(own + 1, mine + 2);
    auto put = ctx.put_nbi(wf, words + data, own, 2, other);
    co_await std::move(put);
    auto fence = ctx.fence(wf);
    co_await std::move(fence);
    auto flag = ctx.p(wf, words + flag_word, 1, other);
    co_await std::move(flag);
    // Nothing that node 1 sends from here on would bring them: only who sees the marks knows.
    if (other.id == 0)
      leave_answers(wf, words);
    auto seen = ctx.wait_until(wf, words + flag_word, shmem::comparison::equal, 1);
    static_cast<void>(co_await std::move(seen));
    std::uint64_t const first = wf.load(words + data);
    std::uint64_t const second = wf.load(words + data + 1);
    w.check(first == theirs + 1 && second == theirs + 2, "a flag came before the data");
    if (other.id == 1) {
      task<> checked = check_answers(wf, w, ctx, words, own);
      co_await std::move(checked);
      wf.store(own, 6);
      wf.store(own + 1, 7);
      auto again = ctx.put_nbi(wf, words + more, own, 2, other);
      co_await std::move(again);
      auto before = ctx.fence(wf);
      co_await std::move(before);
      auto count = ctx.atomic_fetch_add(wf, words + counter, 5, other);
      std::uint64_t const old = co_await std::move(count);
      w.check(old == 0, "an atomic operation took place twice");
    } else { // until then it sends nothing
      auto counted = ctx.wait_until(wf, words + counter, shmem::comparison::equal, 5);
      static_cast<void>(co_await std::move(counted));
      std::uint64_t const fifth = wf.load(words + more);
      std::uint64_t const sixth = wf.load(words + more + 1);
      w.check(fifth == 6 && sixth == 7, "the count came before the data that a fence puts first");
    }
    auto barrier = ctx.barrier_all(wf);
    co_await std::move(barrier);
    auto got = ctx.get(wf, own, words + data, 2, other);
    co_await std::move(got);
    w.check(wf.load(own) == mine + 1, "a get was over before its data were there");
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

void run_comp_net(world& w, weakening const* weak, std::string_view configuration) {
  program_shape const shape{.heap_bytes = 256, .configuration = configuration};
  run_program(w, weak, shape, [&](program_node& n) {
    auto const words = n.allocate<std::uint64_t>(cells);
    auto own = n.gpu.template allocate<std::uint64_t>(2, "own");
    n.run(program_node::wavefronts(1), exchange{}, words, own.global(), std::ref(w),
          std::ref(n.net.device()));
  });
}

} // namespace

target comp_net_target() {
  return {.name = "comp-net",
          .what = "two nodes in one process, their services on the command processors: put, fence, "
                  "flag, atomics, get, barrier",
          .weakenings = both_tables<agent_ring_orders>(),
          .run = [](world& w, weakening const* weak) { run_comp_net(w, weak, "comp_net"); },
          .most_decisions = 100'000};
}

target comp_net_dgpu_target() {
  return {.name = "comp-net-dgpu",
          .what = "the same with the services on host threads",
          .weakenings = both_tables<comp_net::ring_orders>(),
          .run = [](world& w, weakening const* weak) { run_comp_net(w, weak, "dgpu"); },
          .most_decisions = 100'000};
}

} // namespace quarry::exploration
