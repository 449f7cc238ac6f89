// SPDX-License-Identifier: Apache-2.0
// Packets in worlds that are explored: what is wrong is found, though nobody looks at it.
#include "served_agent.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Says that it has begun, and waits for the end.
struct waits {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> at) const {
    auto const is_set = [](std::uint32_t v) { return v != 0; };
    wf.store(at, 1U, order::release, scope::system);
    static_cast<void>(co_await wf.wait_until(at + 1, is_set, order::acquire, scope::system));
  }
};

struct sets {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> at) const { wf.store(at, 1U); }
};

verdict explored(std::function<void(world&)> const& f) {
  return explore({.executions = 300, .diagnoses = false, .keeps_failures = false}, f);
}

/// The world submits the packet, and looks at nothing but its signal.
void is_found(packet const& p, char const* kind, std::string const& what) {
  CAPTURE(what);
  verdict const v = explored([&](world& w) {
    explored_served s(w.scheduler(),
                      {{1, [](auto const&) -> std::uint64_t { throw std::logic_error("one"); }}});
    signal end(s.gpu.core().known(), 1, "end");
    packet mine = p;
    mine.words.back() = end.handle();
    s.processor.submit(mine).or_throw();
    static_cast<void>(s.processor.wait(end));
  });
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == kind);
  CHECK(v.failure->is_repeatable);
  CHECK_SAYS(v.failure->report, what);
}

} // namespace

TEST_SUITE("emu.packet_findings") {
  TEST_CASE("a packet that is refused, or throws, is a failure though nobody looks at it") {
    is_found(barrier_packet{.dep_signal = {64}}, "bad packet", "packet 0 is refused: it waits for");
    is_found(service_packet{.function = 7}, "bad packet", "it calls function 7");
    is_found(service_packet{.function = 1}, "exception", "packet 0 threw: one");
  }

  TEST_CASE("so is a completion signal that has gone when the packet ends") {
    verdict const v = explored([](world& w) {
      explored_served s(w.scheduler());
      allocations& known = s.gpu.core().known();
      auto words = w.allocate<std::uint32_t>(2, "words");
      std::optional<signal> end(std::in_place, known, 1, "end");
      loaded_kernel const kernel = s.gpu.load(waits{}, words.global());
      signal last(known, 1, "last");
      s.processor.submit(kernel.packet(one_wave, plain, *end)).or_throw();
      w.check(w.scheduler().run_until([&] {
        return w.host().load(words.global(), order::acquire, scope::system) != 0;
      }),
              "it has not begun");
      end.reset();
      w.host().store(words.global() + 1, 1U, order::release, scope::system);
      s.processor
          .submit(barrier_packet{.header = packet_header{packet_type::barrier_and, true}.bits(),
                                 .completion_signal = last.handle()})
          .or_throw();
      static_cast<void>(s.processor.wait(last));
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "bad packet");
    CHECK_SAYS(v.failure->report, "the completion signal of packet 0, 0x");
    CHECK(v.failure->is_repeatable);
  }

  TEST_CASE("natively and by turns it is a fault of the queue, which goes on") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      allocations& known = s.gpu.core().known();
      auto words = s.gpu.allocate<std::uint32_t>(2, "words");
      std::optional<signal> end(std::in_place, known);
      signal last(known); // before that one goes, whose place it might have
      loaded_kernel const kernel = s.gpu.load(waits{}, words.global());
      REQUIRE(s.processor.submit(kernel.packet(one_wave, plain, *end)));
      std::atomic_ref const has_begun(words.host()[0]);
      REQUIRE(scheduler.run_until([&] { return has_begun.load() != 0; }));
      end.reset();
      std::atomic_ref(words.host()[1]).store(1);
      REQUIRE(s.processor.submit(
          barrier_packet{.header = packet_header{packet_type::barrier_and, true}.bits(),
                         .completion_signal = last.handle()}));
      outcome const o = s.processor.wait(last);
      REQUIRE_MESSAGE(o, o.get_fault()->report);
      auto const first = s.processor.first_fault();
      REQUIRE(first);
      CHECK_SAYS(first->report, "has gone before the packet has ended");
    });
  }

  TEST_CASE("hosts that wait for room, which others take before them, come to it") {
    verdict const v = explored([](world& w) {
      explored_served s(w.scheduler(), {}, 1);
      signal end(s.gpu.core().known(), 4, "end");
      barrier_packet const p{.completion_signal = end.handle()};
      for (int host = 0; host < 2; ++host)
        w.start("host", [&](world_core&) {
          for (int i = 0; i < 2; ++i)
            s.processor.submit(p).or_throw();
        });
      w.join();
      s.processor.wait(end).or_throw();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("who waits for a signal by itself is told which packet waits") {
    verdict const v = explored([](world& w) {
      explored_served s(w.scheduler());
      allocations& known = s.gpu.core().known();
      signal never(known, 1, "never"), end(known, 1, "end");
      for (std::uint64_t const before : {std::uint64_t{0}, never.handle()})
        s.processor
            .submit(barrier_packet{.dep_signal = {before}, .completion_signal = end.handle()})
            .or_throw();
      w.start_task("waits", [&](world_core& self) -> task<> {
        auto const is_over = [](std::int64_t v) { return v < 0; };
        static_cast<void>(
            co_await self.wait_until(end.word(), is_over, order::acquire, scope::system));
      });
      w.join();
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "deadlock");
    CHECK_SAYS(v.failure->report, "user queue: packet 1 waits for all of its signals: 0x");
  }

  TEST_CASE("a queue that goes before its processor is misuse, unless the execution is left so") {
    auto const of = [](auto const& f) {
      verdict const v = explored(f);
      REQUIRE_MESSAGE(v.failure, v.to_string());
      return v.failure->kind + ": " + v.failure->where;
    };
    CHECK(of([](world& w) {
            user_queue queue(w.known(), 4, {}, "the queue");
            w.start_task("serves", [&](world_core&) -> task<> {
              explored_agent gpu(w.scheduler(), served_shape);
              packet_processor const processor(gpu.core(), queue);
              co_await event().wait();
            });
            throw std::logic_error("in the middle");
          }) == "exception: in the middle");
    CHECK(of([](world& w) {
            explored_agent gpu(w.scheduler(), served_shape);
            std::optional<user_queue> queue(std::in_place, w.known(), 4U);
            packet_processor const processor(gpu.core(), *queue);
            queue.reset();
          }) == "misuse: user queue");
  }

  TEST_CASE("addresses in packets have names in the history: it is the same wherever memory is") {
    auto const history_of_a_launch = [] {
      verdict const v = explored([](world& w) {
        explored_agent gpu(w.scheduler(), served_shape, {.launches = launch_path::packets});
        auto words = gpu.allocate<std::uint32_t>(1, "words");
        gpu.run({.work_items = 1}, sets{}, words.global()).or_throw();
        w.check(false, "the end");
      });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      return v.failure->history;
    };
    std::string const history = history_of_a_launch();
    CHECK_SAYS(history, "= &launch signal[0]");
    std::vector<std::vector<int>> elsewhere(1'000, std::vector<int>(50));
    CHECK(history_of_a_launch() == history);
  }

  TEST_CASE("packets are counted by their queue, whoever takes them") {
    sequential_scheduler scheduler;
    agent gpu(scheduler, served_shape);
    user_queue queue(gpu.core().known(), 4, {}, "the queue");
    for (int i = 0; i < 2; ++i) {
      packet_processor processor(gpu.core(), queue);
      signal end(gpu.core().known());
      REQUIRE(processor.submit(barrier_packet{.completion_signal = end.handle()}));
      REQUIRE(processor.wait(end));
    }
    packet_processor third(gpu.core(), queue);
    signal end(gpu.core().known());
    REQUIRE(third.submit(service_packet{.function = 7, .completion_signal = end.handle()}));
    outcome const o = third.wait(end);
    REQUIRE(!o);
    CHECK_SAYS(o.get_fault()->report, "packet 2 is refused");
  }
}
