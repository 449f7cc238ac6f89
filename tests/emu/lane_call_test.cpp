// SPDX-License-Identifier: Apache-2.0
// Something new that the lanes of an item kernel do together: made here, as parts of Quarry and of
// the papers make theirs.
#include "agents.hpp"

#include <cstdint>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Gives each lane 1000 * (how many lanes came) + the value of the next lane that came, cyclically.
template<memory_model M, bool NeedsAll>
struct rotate_call {
  using memory_type = M;
  using value_type = int;
  using result_type = int;
  static constexpr char const* what = "rotation";
  static constexpr bool needs_all = NeedsAll;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    using request = lane_request_of<rotate_call>;
    bool const is_masked = wf.active() == who; // the wavefront acts for those who came
    int next = request::of(l, who.first()).value;
    for (lane_mask rest = who; rest.any(); rest = rest.without(lane_mask::only(rest.last()))) {
      request& r = request::of(l, rest.last());
      r.result = (is_masked ? 1000 * who.count() : -1) + std::exchange(next, r.value);
    }
    co_return;
  }
};

template<bool NeedsAll, class I>
auto rotate(I& wi, int value, std::source_location where = std::source_location::current()) {
  using call = rotate_call<typename I::memory_type, NeedsAll>;
  static_assert(lane_call<call>);
  if constexpr (any_work_item<I>)
    return lane_await<call>(wi.slot(), value, where);
  else
    return lane_block<call>(wi.slot(), value, where);
}

/// Odd work-items at one line, the others at another one.
struct two_lines_item {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    int const i = static_cast<int>(wi.local_linear_id());
    int got = 0;
    if (i % 2 == 1) // NOLINT(*-branch-clone): it matters from where
      got = co_await rotate<false>(wi, i);
    else
      got = co_await rotate<false>(wi, i);
    wi.store(out + i, got);
  }
};
struct two_lines_plain {
  void operator()(any_plain_work_item auto& wi, global<int> out) const {
    int const i = static_cast<int>(wi.local_linear_id());
    // NOLINTNEXTLINE(*-branch-clone): it matters from where
    int const got = i % 2 == 1 ? rotate<false>(wi, i) : rotate<false>(wi, i);
    wi.store(out + i, got);
  }
};

/// Everybody must come; `absent` does not.
struct needs_everybody {
  task<> operator()(any_work_item auto& wi, global<int> out, int absent) const {
    int const i = static_cast<int>(wi.local_linear_id());
    if (i == absent)
      co_return;
    int const got = co_await rotate<true>(wi, i);
    wi.store(out + i, got);
  }
};

template<class Kernel>
void rotates(Kernel kernel) {
  with_every_agent([&](agent& gpu) {
    int const size = static_cast<int>(gpu.core().shape().wavefront_size);
    auto out = gpu.allocate<int>(50, "out");
    succeed(gpu.run({.work_groups = 1, .work_items_per_group = 50}, kernel, out.global()));
    for (int i = 0; i < 50; ++i) {
      CAPTURE(i);
      int const first = i / size * size;
      int const last = std::min(50, first + size); // of its wavefront
      int const next = i + 2 < last ? i + 2 : first + i % 2;
      CHECK(out.host()[static_cast<std::size_t>(i)] == 1000 * ((last - first) / 2) + next);
    }
  });
}

struct no_call {};

} // namespace

TEST_SUITE("emu.lane_call") {
  TEST_CASE("lanes of one wavefront at one line are served together, for them alone") {
    rotates(two_lines_item{});
  }
  TEST_CASE("the same from plain functions, which block") {
    rotates(two_lines_plain{});
  }

  TEST_CASE("a call that needs everybody is served when all are there") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(32, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 32}, needs_everybody{},
                      out.global(), 99));
      for (int i = 0; i < 32; ++i)
        CHECK(out.host()[static_cast<std::size_t>(i)] == 32'000 + (i + 1) % 32);
    });
  }

  TEST_CASE("and is a fault that names it, its line and the absent where one is missing") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(32, "out");
      auto const report = fail_with(gpu.run({.work_groups = 1, .work_items_per_group = 32},
                                            needs_everybody{}, out.global(), 7),
                                    fault::kind::barrier_divergence);
      CHECK_SAYS(report, "31 work-items wait at a rotation; absent work-items: 7 (has ended)");
      CHECK_SAYS(report, "lane_call_test.cpp:");
      for (int const n : out.host())
        CHECK(n == 0);
    });
  }

  TEST_CASE("a call says what it takes, gives, is called and needs") {
    CHECK(lane_call<barrier_call<native_memory>>);
    CHECK_FALSE(lane_call<no_call>);
  }
}
