// SPDX-License-Identifier: Apache-2.0
// Fine-grain barriers, explored: what they order, and who is a member.
#include "explored_passes.hpp"

#include <quarry/emu.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_size = 32};
using words = global<std::uint32_t>;

/// Two meet three times; a third one leaves without having met anybody.
struct meet_beside_one {
  task<> operator()(any_wavefront auto& wf, words at, world& w) const {
    auto const me = static_cast<std::uint32_t>(wf.index_in_group());
    fine_grain_barrier const b = wf.make_fine_grain_barrier();
    if (me == 2) {
      wf.store(at + 2, std::uint32_t{5});
      b.leave(wf.slot(), wf.items());
      co_return;
    }
    std::uint32_t const other = 1 - me;
    wf.store(at + me, me + 1);
    co_await wf.barrier_of(b);
    w.check(wf.load(at + other) == other + 1, "what was written before the first barrier");
    co_await wf.barrier_of(b);
    wf.store(at + me, me + 10);
    co_await wf.barrier_of(b);
    w.check(wf.load(at + other) == other + 10, "what was written before the last one");
  }
};
/// One lane leaves, the others are members still; then it is the only one.
struct meet_in_part {
  task<> operator()(any_wavefront auto& wf, words at, world& w) const {
    using lanes = typename std::remove_reference_t<decltype(wf)>::template lanes<std::uint32_t>;
    auto const me = static_cast<std::uint32_t>(wf.index_in_group());
    lane_mask const first(1);
    fine_grain_barrier const b = wf.make_fine_grain_barrier();
    if (me == 0)
      b.leave(wf.slot(), first);
    wf.store(at + me, me + 1);
    co_await wf.barrier_of(b);
    w.check(wf.load(at + (1 - me)) == 2 - me, "what was written before the barrier");
    if (me == 0) {
      b.join(wf.slot(), first);
      b.leave(wf.slot(), wf.items().without(first));
    }
    co_await wf.barrier_of(b);
    wf.store(at + me, me + 10);
    co_await wf.barrier_of(b);
    w.check(wf.load(at + (1 - me)) == 11 - me, "what was written before the last one");
    std::uint32_t const sum = co_await wf.group_reduce(lanes(me + 1), plus{}, b);
    std::uint32_t const again = co_await wf.group_reduce(lanes(me + 3), plus{}, b);
    w.check(sum == 32 * 3 && again == 32 * 7, "a sum of both wavefronts");
  }
};
/// A lane leaves, joins, and leaves again.
struct leave_twice {
  task<> operator()(any_wavefront auto& wf, words at, world& w) const {
    auto const me = static_cast<std::uint32_t>(wf.index_in_group());
    lane_mask const first(1);
    fine_grain_barrier const b = wf.make_fine_grain_barrier();
    if (me == 0) {
      b.leave(wf.slot(), first);
      b.join(wf.slot(), first);
      b.leave(wf.slot(), first);
    }
    wf.store(at + me, me + 1);
    co_await wf.barrier_of(b);
    w.check(wf.load(at + (1 - me)) == 2 - me, "what was written before the barrier");
  }
};
/// The second wavefront has half its lanes: those that there are not are no members.
struct join_with_all {
  task<> operator()(any_wavefront auto& wf, words, world&) const {
    fine_grain_barrier const b = wf.make_fine_grain_barrier();
    if (wf.index_in_group() == 1) {
      b.join(wf.slot(), lane_mask(0xffff'ffffU));
      b.leave(wf.slot(), wf.items());
      co_return;
    }
    co_await wf.barrier_of(b);
  }
};

template<class Kernel>
void meets(std::uint32_t items) {
  passes(1'000, [items](world& w) {
    explored_agent gpu(w.scheduler(), shape);
    auto memory = gpu.allocate<std::uint32_t>(3, "words");
    gpu.run({.work_items = items, .work_items_per_group = items}, Kernel{}, memory.global(),
            std::ref(w))
        .or_throw();
  });
}

} // namespace

TEST_SUITE("emu.explored_meetings") {
  TEST_CASE("who has met sees what was written before, whoever else has left") {
    meets<meet_beside_one>(96);
  }

  TEST_CASE("a wavefront is a member as long as one of its lanes is") {
    meets<meet_in_part>(64);
    meets<leave_twice>(64);
  }

  TEST_CASE("lanes that there are not do not keep anybody waiting") {
    meets<join_with_all>(48);
  }
}
