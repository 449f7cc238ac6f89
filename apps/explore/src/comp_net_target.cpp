// SPDX-License-Identifier: Apache-2.0
// ComP-Net end to end: kernels on two nodes, their services and the network, in one process.
#include "targets.hpp"
#include "two_nodes.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

/// Each node puts two words to the other, then a flag; counts at the other; meets it; and gets back
/// what the other has.
struct exchange {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    world& w, comp_net::device& net) const {
    auto made = comp_net::context::init(wf, net);
    comp_net::context ctx = co_await std::move(made);
    pe const other{1 - net.self().id};
    std::uint64_t const mine = net.self().id * 10, theirs = other.id * 10;
    wf.store(own, mine + 1);
    wf.store(own + 1, mine + 2);
    auto put = ctx.put_nbi(wf, words, own, 2, other);
    co_await std::move(put);
    auto fence = ctx.fence(wf);
    co_await std::move(fence);
    auto flag = ctx.p(wf, words + 2, 1, other);
    co_await std::move(flag);
    auto seen = ctx.wait_until(wf, words + 2, shmem::comparison::equal, 1);
    static_cast<void>(co_await std::move(seen));
    std::uint64_t const first = wf.load(words);
    std::uint64_t const second = wf.load(words + 1);
    w.check(first == theirs + 1 && second == theirs + 2, "a flag came before the data");
    auto count = ctx.atomic_fetch_add(wf, words + 3, 5, other);
    std::uint64_t const old = co_await std::move(count);
    w.check(old == 0, "an atomic operation took place twice");
    auto barrier = ctx.barrier_all(wf);
    co_await std::move(barrier);
    w.check(wf.load(words + 3) == 5, "a barrier was passed before an operation was done");
    auto got = ctx.get(wf, own, words, 2, other);
    co_await std::move(got);
    w.check(wf.load(own) == mine + 1, "a get was over before its data were there");
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

void run_comp_net(world& w, weakening const*, std::string_view configuration) {
  run_nodes(w, [&](std::uint32_t, std::unique_ptr<in_process> end) {
    agent gpu(w.scheduler(), node_machine);
    comp_net::node::options const o{
        .configuration = configuration,
        .rings = 1,
        .ring_entries = 2,
        .reduce_bytes = 64,
        .shmem = {.heap_bytes = 256, .most_teams = 1, .team_bytes = 512}};
    auto net = comp_net::node::start(gpu.core(), std::move(end), o);
    w.check(net.has_value(), net ? "" : net.error().what);
    if (!net)
      return;
    auto const words = net->shmem().malloc<std::uint64_t>(4);
    w.check(words.has_value(), words ? "" : words.error().what);
    auto own = gpu.allocate<std::uint64_t>(2, "own");
    launch_config const one{
        .work_items = 32, .work_items_per_group = 32, .lds_bytes = comp_net::context::lds_bytes};
    static_cast<void>(gpu.run(one, exchange{}, global<std::uint64_t>(words->data()), own.global(),
                              std::ref(w), std::ref(net->device())));
    auto const done = net->finish();
    w.check(static_cast<bool>(done), done ? "" : done.error().what);
  });
}

} // namespace

target comp_net_target() {
  return {.name = "comp-net",
          .what = "two nodes in one process, their services on the command processors: put, fence, "
                  "flag, atomic, barrier, get",
          .weakenings = {},
          .run = [](world& w, weakening const* weak) { run_comp_net(w, weak, "comp_net"); },
          .most_decisions = 100'000};
}

target comp_net_dgpu_target() {
  return {.name = "comp-net-dgpu",
          .what = "the same with the services on host threads",
          .weakenings = {},
          .run = [](world& w, weakening const* weak) { run_comp_net(w, weak, "dgpu"); },
          .most_decisions = 100'000};
}

} // namespace quarry::exploration
