// SPDX-License-Identifier: Apache-2.0
// OpenSHMEM between two pes, one of them with a GPU: what a fence, a flag and a barrier order,
// while the network applies everything else in any order.
#include "few_nodes.hpp"
#include "targets.hpp"

#include <quarry/net/shmem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

constexpr std::size_t cells = 7;
/// Two words each, a cache line apart.
enum class cell : std::size_t { data, flag, answer, answered, more, counter, last };

shmem::node::options options_for(weakening const* weak) {
  return {.heap_bytes = cells * 64,
          .most_teams = 1,
          .team_bytes = 256,
          .orders = weakened<shmem::shmem_orders>(weak)};
}

std::uint64_t* word(shmem::node& n, cell c) {
  auto* const at = n.local({static_cast<std::size_t>(c) * 64});
  return reinterpret_cast<std::uint64_t*>(at);
}

/// Waits for pe 0's flag, reads what came before it, answers in its own node's heap.
struct answer_flag {
  task<> operator()(any_wavefront auto& wf, world& w, shmem::node& n) const {
    auto const at = [&n](cell c) { return global<std::uint64_t>(word(n, c)); };
    auto const is_set = [](std::uint64_t v) { return v == 1; };
    static_cast<void>(
        co_await wf.wait_until(at(cell::flag), is_set, order::acquire, scope::system));
    std::uint64_t const first = wf.load(at(cell::data));
    std::uint64_t const second = wf.load(at(cell::data) + 1);
    w.check(first == 1 && second == 2, "the flag came before the data that a fence puts first");
    wf.store(at(cell::answer), first + second);
    wf.store(at(cell::answer) + 1, first * 8);
    wf.store(at(cell::answered), 1, order::release, scope::system);
  }
};

void check_ok(world& w, result<void> const& r) {
  w.check(static_cast<bool>(r), r ? "" : r.error().what);
}

/// Puts and flags, by all that orders them; asks for the kernel's answer.
void give(world& w, shmem::node& n) {
  pe const other{1};
  auto& c = n.default_context();
  check_ok(w, c.put(word(n, cell::data), std::array<std::uint64_t, 2>{1, 2}, other));
  c.fence();
  check_ok(w, c.p(word(n, cell::flag), 1, other));
  check_ok(w, c.put(word(n, cell::more), std::array<std::uint64_t, 2>{3, 4}, other));
  c.fence();
  check_ok(w, c.atomic_add(word(n, cell::counter), 1, other));
  auto seen = c.atomic_fetch_add(word(n, cell::answered), 0, other);
  if (seen && *seen == 0)
    seen = c.atomic_fetch(word(n, cell::answered), other);
  w.check(static_cast<bool>(seen), seen ? "" : seen.error().what);
  if (seen && *seen == 1) {
    std::array<std::uint64_t, 2> answer{};
    check_ok(w, c.get(answer, word(n, cell::answer), other));
    w.check(answer[0] == 3 && answer[1] == 8, "the answer's mark came before the answer");
  }
  check_ok(w, c.put(word(n, cell::last), std::array<std::uint64_t, 2>{5, 6}, other));
}

/// Waits for the kernel and for pe 0.
void take(world& w, world_core& self, shmem::node& n) {
  auto const load = [&](cell c, std::size_t i) {
    return self.load(global<std::uint64_t>(word(n, c) + i));
  };
  check_ok(w, n.wait_until(word(n, cell::answered), shmem::comparison::equal, 1));
  std::uint64_t const sum = load(cell::answer, 0);
  w.check(sum == 3, "the kernel's mark came before its answer");
  check_ok(w, n.wait_until(word(n, cell::counter), shmem::comparison::equal, 1));
  std::uint64_t const third = load(cell::more, 0);
  std::uint64_t const fourth = load(cell::more, 1);
  w.check(third == 3 && fourth == 4, "the count came before the data that a fence puts first");
}

void run_shmem(world& w, weakening const* weak) {
  auto const options = options_for(weak);
  auto ends = make_in_process(nodes);
  w.start("pe 0", [&](world_core&) {
    auto n = shmem::node::start(w.scheduler(), std::move(ends[0]), options);
    w.check(n.has_value(), n ? "" : n.error().what);
    if (!n)
      return;
    give(w, *n);
    check_ok(w, n->barrier_all());
    check_ok(w, n->finish());
  });
  w.start("pe 1", [&](world_core& self) {
    explored_agent gpu(w.scheduler(), node_machine);
    auto n = shmem::node::start(gpu.core(), std::move(ends[1]), options);
    w.check(n.has_value(), n ? "" : n.error().what);
    if (!n)
      return;
    auto answers = gpu.launch({.work_items = 32, .work_items_per_group = 32}, answer_flag{},
                              std::ref(w), std::ref(*n));
    take(w, self, *n);
    check_ok(w, n->barrier_all());
    std::uint64_t const fifth = self.load(global<std::uint64_t>(word(*n, cell::last)));
    std::uint64_t const sixth = self.load(global<std::uint64_t>(word(*n, cell::last) + 1));
    w.check(fifth == 5 && sixth == 6, "the barrier ended before what was put before it");
    static_cast<void>(answers.wait());
    check_ok(w, n->finish());
  });
  w.join();
}

} // namespace

target shmem_target() {
  return {.name = "shmem-barrier",
          .what = "two pes and a kernel: puts, fences, flags, atomics and barrier_all; the network "
                  "reorders what no fence orders",
          .weakenings = weakenings_of<shmem::shmem_orders>(),
          .run = run_shmem,
          .most_decisions = 20'000};
}

} // namespace quarry::exploration
