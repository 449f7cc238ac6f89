// SPDX-License-Identifier: Apache-2.0
// Plain item functions: what they need of fibers.
#include "agents.hpp"
#include "place_a.hpp"
#include "place_b.hpp"

#include <quarry/event.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// The fibers that each compute unit has made, as seen by the work-items that ran on it.
class fiber_counts {
public:
  void look(compute_unit& unit) {
    std::lock_guard const lock(mutex_);
    std::size_t& n = most_[&unit];
    n = std::max(n, unit.fibers().created_count());
  }
  [[nodiscard]] std::size_t unit_count() const { return most_.size(); }
  [[nodiscard]] std::size_t most() const {
    std::size_t n = 0;
    for (auto const& [unit, count] : most_)
      n = std::max(n, count);
    return n;
  }

private:
  std::mutex mutex_;
  std::map<compute_unit*, std::size_t> most_;
};

compute_unit& unit_of(auto& wi) {
  return *static_cast<compute_unit*>(wi.slot().home);
}

struct never_blocks {
  void operator()(any_plain_work_item auto& wi, global<int> out, fiber_counts& seen) const {
    auto const i = wi.global_id();
    wi.store(out + i, wi.load(out + i) + 1);
    wi.fetch_add(out + i, 1, order::acq_rel, scope::agent);
    static_cast<void>(wi.wait_until(
        out + i, [](int v) { return v != 0; }, order::acquire, scope::agent)); // holds at once
    seen.look(unit_of(wi));
  }
};

/// The first `count` work-items of the wavefront wait for the last one.
struct some_block {
  void operator()(any_plain_work_item auto& wi, global<int> word, std::uint32_t count,
                  fiber_counts& seen) const {
    auto const i = wi.local_linear_id();
    if (i < count)
      wi.wait_until(word, [](int v) { return v == 1; }, order::acquire, scope::agent);
    if (i == 31)
      wi.store(word, 1, order::release, scope::agent);
    seen.look(unit_of(wi));
  }
};

struct all_meet {
  void operator()(any_plain_work_item auto& wi, fiber_counts& seen) const {
    wi.barrier();
    wi.barrier();
    seen.look(unit_of(wi));
  }
};

struct item_coroutine {
  task<> operator()(any_work_item auto& wi, fiber_counts& seen) const {
    co_await wi.barrier();
    seen.look(unit_of(wi));
  }
};

/// The last lane of each wavefront wakes the others, and who waits for `go`, and throws.
struct wakes_and_throws {
  task<> operator()(any_work_item auto& wi, std::array<event, 4>& events, event& go) const {
    event& mine = events[wi.local_linear_id() / 64];
    if (wi.local_linear_id() % 64 == 63) {
      go.set();
      mine.set();
      throw std::runtime_error("awake");
    }
    co_await mine.wait();
  }
};

struct waits_for_go {
  task<> operator()(any_wavefront auto& wf, event& go, global<int> here) const {
    wf.store(here, 1, order::release, scope::system);
    co_await go.wait();
  }
};

/// Even and odd work-items count each other at the same line and column of two files.
struct counts_in_two_files {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    auto const i = wi.global_id();
    static_assert(place_a.line() == place_b.line() && place_a.column() == place_b.column());
    int const count = co_await wi.wavefront_reduce(1, plus{}, i % 2 == 0 ? place_a : place_b);
    wi.store(out + i, count);
  }
};

/// Work-item 0 waits for ever, two others come to one collective, the rest to another one.
struct polls_while_others_meet {
  task<> operator()(any_work_item auto& wi, global<int> word) const {
    auto const i = wi.local_linear_id();
    if (i == 0)
      co_await wi.wait_until(word, [](int v) { return v == 1; }, order::acquire, scope::agent);
    else if (i < 3)
      static_cast<void>(co_await wi.elect_leader());
    else
      static_cast<void>(co_await wi.ballot(true));
  }
};

} // namespace

TEST_SUITE("emu.lane_slot") {
  TEST_CASE("a plain function that never blocks uses one fiber a compute unit, for ever") {
    with_native_agents({.compute_units = 2}, [](agent& gpu) {
      auto out = gpu.allocate<int>(10'000, "out");
      fiber_counts seen;
      for (int launch = 1; launch <= 3; ++launch) {
        succeed(gpu.run({.work_items = 10'000}, never_blocks{}, out.global(), std::ref(seen)));
        for (int const n : out.host())
          REQUIRE(n == 2 * launch);
      }
      CHECK(seen.unit_count() >= 1);
      CHECK(seen.most() == 1);
    });
  }

  TEST_CASE("the same where every access may switch, one wavefront at a time") {
    with_sequential_agents({.compute_units = 2, .wavefront_slots = 1}, [](agent& gpu) {
      auto out = gpu.allocate<int>(500, "out");
      fiber_counts seen;
      succeed(gpu.run({.work_items = 500, .work_items_per_group = 64}, never_blocks{}, out.global(),
                      std::ref(seen)));
      CHECK(seen.unit_count() == 2);
      CHECK(seen.most() == 1);
    });
  }

  TEST_CASE("each work-item that blocks keeps a fiber, the others share one") {
    for (std::uint32_t const count : {1U, 2U, 30U}) {
      CAPTURE(count);
      with_native_agents({.compute_units = 1}, [&](agent& gpu) {
        auto word = gpu.allocate<int>(1, "word");
        fiber_counts seen;
        for (int launch = 0; launch < 3; ++launch) { // the fibers are used again
          word.host()[0] = 0;
          succeed(gpu.run({.work_groups = 1, .work_items_per_group = 32}, some_block{},
                          word.global(), count, std::ref(seen)));
        }
        CHECK(seen.most() == count + 1);
      });
    }
  }

  TEST_CASE("work-items that meet at a barrier need a fiber each; those of later groups the same") {
    with_native_agents({.compute_units = 1, .wavefront_slots = 1}, [](agent& gpu) {
      fiber_counts seen;
      succeed(gpu.run({.work_groups = 20, .work_items_per_group = 50}, all_meet{}, std::ref(seen)));
      CHECK(seen.most() == 50);
    });
  }

  TEST_CASE("item coroutines need no fiber") {
    with_native_agents({}, [](agent& gpu) {
      fiber_counts seen;
      succeed(gpu.run({.work_groups = 20}, item_coroutine{}, std::ref(seen)));
      CHECK(seen.unit_count() >= 1);
      CHECK(seen.most() == 0);
    });
  }

  TEST_CASE("lanes that are at the same line and column of different files do not meet") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(128, "out");
      succeed(gpu.run({.work_items = 128, .work_items_per_group = 128}, counts_in_two_files{},
                      out.global()));
      for (int const n : out.host())
        REQUIRE(n == size / 2);
    });
  }

  TEST_CASE("a report says where lanes wait at collectives while another one polls") {
    with_every_agent(
        [](agent& gpu) {
          std::uint32_t const size = gpu.core().shape().wavefront_size;
          auto word = gpu.allocate<int>(1, "word");
          auto const report =
              fail_with(gpu.run({.work_items = size, .work_items_per_group = size},
                                polls_while_others_meet{}, word.global()),
                        is_native(gpu) ? fault::kind::stall : fault::kind::deadlock);
          CHECK_SAYS(report, "wait_until at lane_slot_test.cpp:");
          CHECK_SAYS(report, "; 2 lanes at leader election at lane_slot_test.cpp:");
          CHECK_SAYS(report,
                     ", " + std::to_string(size - 3) + " lanes at ballot at lane_slot_test.cpp:");
        },
        {}, impatience);
  }

  TEST_CASE("lanes that are woken and then abandoned keep no wake-up of another launch") {
    native_scheduler s({.threads = 1, .stall_timeout = patience});
    agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
    for (int time = 0; time < 2; ++time) { // the second time with slots that have been left
      std::array<event, 4> events;
      event go;
      auto here = gpu.allocate<int>(1, "here");
      auto innocent = gpu.launch({.work_groups = 1, .work_items_per_group = 64}, waits_for_go{},
                                 std::ref(go), here.global());
      REQUIRE(s.run_until([&] { return std::atomic_ref(here.host()[0]).load() == 1; }));
      auto faulty = gpu.launch({.work_groups = 1, .work_items_per_group = 256}, wakes_and_throws{},
                               std::ref(events), std::ref(go));
      CHECK_SAYS(fail_with(faulty.wait(), fault::kind::exception), "awake");
      succeed(innocent.wait());
    }
  }
}
