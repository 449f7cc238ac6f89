// SPDX-License-Identifier: Apache-2.0
// Hosts that wait in vain, for a signal or for room in a queue.
#include "agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <atomic>
#include <cstdint>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_slots = 8, .wavefront_size = 32};

/// Waits until somebody counts the signal down.
struct wait_for {
  task<> operator()(any_wavefront auto& wf, global<std::int64_t> word) const {
    auto const is_over = [](std::int64_t v) { return v <= 0; };
    static_cast<void>(co_await wf.wait_until(word, is_over, order::acquire, scope::system));
  }
};

} // namespace

TEST_SUITE("emu.packet_waits") {
  TEST_CASE("a signal that nobody counts down is a deadlock, or a stall, and no hang") {
    sequential_scheduler scheduler;
    agent gpu(scheduler, shape);
    // Before the processor: the kernel polls until it is evicted.
    signal never(gpu.core().known()), end(gpu.core().known());
    loaded_kernel const kernel = gpu.load(wait_for{}, never.word());
    user_queue queue(gpu.core().known(), 4);
    packet_processor processor(gpu.core(), queue, {});
    REQUIRE(processor.submit(kernel.packet({.work_items = 32, .work_items_per_group = 32},
                                           packet_header{packet_type::kernel_dispatch}, end)));
    outcome const o = processor.wait(end);
    REQUIRE(!o);
    CHECK(o.get_fault()->what == fault::kind::deadlock);
    CHECK(o.get_fault()->report.find("wait_until") != std::string::npos);
    CHECK(o.get_fault()->report.find("command processor core 0") != std::string::npos);
  }

  TEST_CASE("who waits in vain is told which packet waits, and for which signals") {
    with_impatient_schedulers([](executor& scheduler) {
      agent gpu(scheduler, shape);
      allocations& known = gpu.core().known();
      signal never(known, 1, "never"), elsewhere(known, 1, "elsewhere"), end(known);
      user_queue queue(known, 4, {}, "the queue");
      packet_processor processor(gpu.core(), queue);
      REQUIRE(processor.submit(barrier_packet{.dep_signal = {0, 0, 0}})); // waits for nothing
      REQUIRE(processor.submit(
          barrier_packet{.header = packet_header{packet_type::barrier_or, true}.bits(),
                         .dep_signal = {never.handle(), 0, elsewhere.handle()},
                         .completion_signal = end.handle()}));
      outcome const o = processor.wait(end);
      REQUIRE(!o);
      CHECK_SAYS(o.get_fault()->report,
                 "the queue: packet 1 waits until every packet before it has completed, and for "
                 "one of its signals: 0x");
      CHECK_SAYS(o.get_fault()->report, "(never, byte 0) 0x");
      CHECK_SAYS(o.get_fault()->report, "(elsewhere, byte 0)");
      std::atomic_ref(never.word().get()[0]).store(0); // lets it go
      REQUIRE(processor.wait(end));
      signal third(known, 1, "third");
      outcome const over = processor.wait(third);
      REQUIRE(!over);
      CHECK(over.get_fault()->report.find("packet 1") == std::string::npos);
    });
  }

  TEST_CASE("who waits for room in vain is told so, too") {
    with_impatient_schedulers([](executor& scheduler) {
      agent gpu(scheduler, shape);
      allocations& known = gpu.core().known();
      signal never(known, 1, "never");
      user_queue queue(known, 2, {}, "the queue");
      packet_processor processor(gpu.core(), queue);
      outcome last;
      for (int i = 0; i < 3 && last; ++i)
        last = processor.submit(barrier_packet{.dep_signal = {never.handle()}});
      REQUIRE(!last);
      CHECK_SAYS(last.get_fault()->report, "wait for room in the queue");
      CHECK_SAYS(last.get_fault()->report, "the queue: packet 0 waits for all of its signals: 0x");
      CHECK_SAYS(last.get_fault()->report, "(never, byte 0)");
    });
  }

  TEST_CASE("a packet that waits when its processor goes is there for the next one") {
    with_impatient_schedulers([](executor& scheduler) {
      agent gpu(scheduler, shape);
      allocations& known = gpu.core().known();
      signal before(known), done(known, 2);
      user_queue queue(known, 4);
      {
        packet_processor first(gpu.core(), queue);
        REQUIRE(first.submit(
            barrier_packet{.dep_signal = {before.handle()}, .completion_signal = done.handle()}));
        REQUIRE(first.submit(barrier_packet{.completion_signal = done.handle()}));
        CHECK_FALSE(scheduler.run_until([] { return false; })); // it has seen what there is
      }
      std::atomic_ref(before.word().get()[0]).store(0);
      packet_processor second(gpu.core(), queue);
      REQUIRE(second.wait(done));
    });
  }

  TEST_CASE("so it is a failure of an exploration, though nobody looks at what wait() returns") {
    verdict const v = explore({.executions = 20, .keeps_failures = false}, [](world& w) {
      agent gpu(w.scheduler(), shape);
      signal never(gpu.core().known());
      user_queue queue(gpu.core().known(), 4);
      packet_processor processor(gpu.core(), queue);
      static_cast<void>(processor.wait(never));
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "deadlock");
    CHECK_SAYS(v.failure->report, "wait for a signal of ");
  }
}
