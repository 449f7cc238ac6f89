// SPDX-License-Identifier: Apache-2.0
// The work-group queue, explored where its target does not go: wavefronts that have nothing to say,
// with whatever tag, several slots, and each way for diverged wavefronts to meet.
#include "agents.hpp"
#include "explored_passes.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using queue = work_group_queue<std::uint32_t, 2, 2>;
constexpr machine shape{.compute_units = 2, .wavefront_size = 32};
constexpr std::uint32_t tag = 7, columns = 4, group = 96;

/// The first two work-items of each wavefront but `silent`, which has a tag of its own.
template<class Mechanism>
struct push_but_one {
  task<> operator()(any_wavefront auto& wf, queue& q, std::uint32_t first,
                    std::uint32_t silent) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = convert<std::uint32_t>(wf.global_id().to_lanes()) + first;
    bool const is_silent = wf.index_in_group() == silent;
    auto const few = wf.where((i & 31U) < (is_silent ? 0U : 2U));
    typename w::template lanes<std::uint32_t> const message[2] = {i, ~i};
    task<> pushed = q.push(wf, is_silent ? tag + 2 : tag, message, Mechanism{});
    co_await std::move(pushed);
  }
};
/// By a barrier that the wavefronts meet at in two rounds; the second one speaks in the last only.
struct push_finely {
  task<> operator()(any_wavefront auto& wf, queue& q) const {
    using w = std::remove_reference_t<decltype(wf)>;
    fine_grain_barrier const those = wf.make_fine_grain_barrier();
    for (std::uint32_t round = 0; round < 2; ++round) {
      auto const i = convert<std::uint32_t>(wf.global_id().to_lanes()) + 64 * round;
      bool const is_silent = round == 0 && wf.index_in_group() == 1;
      auto const few = wf.where((i & 31U) < (is_silent ? 0U : 2U));
      typename w::template lanes<std::uint32_t> const message[2] = {i, ~i};
      task<> pushed = q.push(wf, tag, message, those);
      co_await std::move(pushed);
    }
  }
};
struct push_three {
  task<> operator()(any_wavefront auto& wf, queue& q) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = convert<std::uint32_t>(wf.global_id().to_lanes());
    auto const few = wf.where(i < 3U);
    typename w::template lanes<std::uint32_t> const message[2] = {i, ~i};
    task<> pushed = q.push(wf, tag, message);
    co_await std::move(pushed);
  }
};

using messages = std::multiset<std::uint32_t>;

task<> take(world_core& self, world& w, queue& q, std::uint32_t packages, messages& got) {
  for (std::uint32_t k = 0; k < packages; ++k) {
    slot_claim const mine = q.claim(self);
    task<> ready = q.ready(self, mine);
    co_await std::move(ready);
    auto const package = q.view(self, mine);
    w.check(package.header.tag == tag, "a tag of who has said nothing");
    w.check(package.header.count <= columns, "a header that is not whole");
    for (std::uint32_t c = 0; c < package.header.count && c < columns; ++c) {
      std::uint32_t const i = self.load(package.row(0) + c);
      w.check(self.load(package.row(1) + c) == ~i, "a message is torn");
      got.insert(i);
    }
    q.release(self, mine);
  }
}

template<class Mechanism>
void push_from_groups(std::uint32_t slots, std::uint32_t silent) {
  CAPTURE(slots);
  CAPTURE(silent);
  passes(1'000, [=](world& w) {
    explored_agent gpu(w.scheduler(), shape), other(w.scheduler(), shape);
    queue q(w.known(), slots, columns, slot_orders{});
    messages got;
    w.start_task("receiver", [&](world_core& self) { return take(self, w, q, 3, got); });
    auto const push = push_but_one<Mechanism>{};
    auto far = other.launch({.work_items = group, .work_items_per_group = group}, push, std::ref(q),
                            2 * group, silent);
    gpu.run({.work_items = 2 * group, .work_items_per_group = group}, push, std::ref(q), 0U, silent)
        .or_throw();
    far.wait().or_throw();
    w.join();
    messages expected;
    for (std::uint32_t i = 0; i < 3 * group; ++i)
      if ((i & 31U) < 2 && i % group / 32 != silent)
        expected.insert(i);
    w.check(got == expected, "a message was lost, or came twice");
  });
}

} // namespace

TEST_SUITE("emu.explored_packages") {
  TEST_CASE("a wavefront that has nothing to say waits for nobody, and its tag is nobody's") {
    for (std::uint32_t const slots : {1U, 2U})
      for (std::uint32_t const silent : {0U, 1U, 2U}) {
        push_from_groups<converged>(slots, silent);
        push_from_groups<reconverging_t>(slots, silent);
      }
  }

  TEST_CASE("by a fine-grain barrier who speaks in one round only") {
    passes(1'000, [](world& w) {
      explored_agent gpu(w.scheduler(), shape);
      queue q(w.known(), 1, columns, slot_orders{});
      messages got;
      w.start_task("receiver", [&](world_core& self) { return take(self, w, q, 2, got); });
      gpu.run({.work_items = 64, .work_items_per_group = 64}, push_finely{}, std::ref(q))
          .or_throw();
      w.join();
      w.check(got == messages{0, 1, 64, 65, 96, 97}, "a message was lost, or came twice");
    });
  }

  TEST_CASE("one message more than there are columns is refused before it is written") {
    verdict const v =
        explore({.executions = 10, .diagnoses = false, .keeps_failures = false}, [](world& w) {
          explored_agent gpu(w.scheduler(), shape);
          queue q(w.known(), 1, 2, slot_orders{});
          static_cast<void>(
              gpu.run({.work_items = 32, .work_items_per_group = 32}, push_three{}, std::ref(q)));
        });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "wrong shape");
    CHECK_SAYS(v.failure->report, "columns");
  }
}
