// SPDX-License-Identifier: Apache-2.0
// MSCCL++'s DeviceSyncer, a barrier of all work-groups of a grid.
#include "exhibit.hpp"

using namespace quarry_test;
using namespace quarry::emu;

namespace {

constexpr std::uint64_t groups = 2;
using words = global<std::uint64_t>;

/// Before #499: a counter that wraps, and whoever completes it flips a relaxed flag. The fence
/// before the arrival releases; the one after the wait is what was missing.
struct relaxed_flag {
  bool fences_after;
  task<> operator()(any_wavefront auto& self, words state, std::uint64_t round) const {
    auto const count = state, flag = state + 8;
    std::uint64_t const phase = round % 2;
    self.fence(order::acq_rel, scope::agent);
    if (self.fetch_add(count, 1, order::relaxed, scope::agent) % groups == groups - 1) {
      self.store(flag, phase, order::relaxed, scope::agent);
    } else {
      auto const is_flipped = [phase](std::uint64_t f) { return f == phase; };
      auto flipped = self.wait_until(flag, is_flipped, order::relaxed, scope::agent);
      static_cast<void>(co_await flipped);
    }
    if (fences_after)
      self.fence(order::acq_rel, scope::agent);
  }
};

/// #499: one counter, up in a round and down in the next. Who goes on to the next round takes away
/// the value that the others wait for.
struct up_and_down {
  task<> operator()(any_wavefront auto& self, words state, std::uint64_t round) const {
    bool const up = round % 2 == 1;
    std::uint64_t const target = up ? groups : 0;
    if (up)
      self.fetch_add(state, 1, order::acq_rel, scope::agent);
    else
      self.fetch_sub(state, 1, order::acq_rel, scope::agent);
    auto const is_there = [target](std::uint64_t c) { return c == target; };
    auto there = self.wait_until(state, is_there, order::acquire, scope::agent);
    static_cast<void>(co_await there);
  }
};

/// #505: three counters in turn; every group clears the next one before it arrives. (There the
/// clearing is a plain store of each group, which by our model is a race of equal values; here it
/// is relaxed.)
struct three_counters {
  task<> operator()(any_wavefront auto& self, words state, std::uint64_t round) const {
    auto const count = state + round % 3 * 8, next = state + (round + 1) % 3 * 8;
    self.store(next, 0, order::relaxed, scope::agent);
    self.fetch_add(count, 1, order::release, scope::agent);
    auto const is_full = [](std::uint64_t c) { return c == groups; };
    auto full = self.wait_until(count, is_full, order::acquire, scope::agent);
    static_cast<void>(co_await full);
  }
};

/// `rounds` times: each group writes a word, meets the other, and reads the other's word. What the
/// class keeps for the next round is each group's own here.
template<class Barrier>
struct meets {
  Barrier meet;
  std::uint64_t rounds;
  words state, data;
  world& w;
  task<> operator()(any_wavefront auto& wf) const {
    std::uint64_t const me = wf.linear_group_id();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      auto const row = data + 8 * groups * (round - 1);
      wf.store(row + 8 * me, round);
      task<> met = meet(wf, state, round);
      co_await std::move(met);
      std::uint64_t const got = wf.load(row + 8 * (1 - me));
      w.check(got == round, "the other group's word is old");
    }
  }
};

template<class Barrier>
case_world syncer(std::uint64_t rounds, Barrier meet) {
  return [=](world& w) {
    auto state = w.allocate<std::uint64_t>(24, "syncer");
    auto data = w.allocate<std::uint64_t>(8 * groups * rounds, "data");
    run_groups(w, groups, meets<Barrier>{meet, rounds, state.global(), data.global(), w});
  };
}

} // namespace

namespace quarry_test {

std::vector<exhibit> barrier_exhibits() {
  return {{"24",
           "MSCCL++, DeviceSyncer",
           "#497, #499, #505",
           {wrong("relaxed flag", {"race"}, "check", syncer(1, relaxed_flag{false})),
            right("relaxed flag, a fence after it", syncer(2, relaxed_flag{true})),
            wrong("one counter, up and down", {"deadlock"}, "deadlock", syncer(2, up_and_down{})),
            right("three counters", syncer(4, three_counters{}))}}};
}

} // namespace quarry_test
