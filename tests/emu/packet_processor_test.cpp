// SPDX-License-Identifier: Apache-2.0
#include "served_agent.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr packet_header after_all{packet_type::kernel_dispatch, true};

/// Doubles each work-item's word.
struct twice {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    auto const i = wf.global_id();
    wf.store(words + i, wf.load(words + i) * 2U);
  }
};
/// Puts a packet into a queue, from the GPU.
struct enqueue {
  task<> operator()(any_wavefront auto& wf, user_queue& queue, packet p) const {
    task<> submitted = queue.submit(wf, p);
    co_await std::move(submitted);
  }
};
struct beyond {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    wf.store(words + 1'000'000, 1);
  }
};

} // namespace

TEST_SUITE("emu.packet_processor") {
  TEST_CASE("a dispatch packet runs its kernel, and counts its signal down") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      auto words = s.gpu.allocate<std::uint32_t>(1000);
      loaded_kernel const kernel = s.gpu.load(add{}, words.global(), 5U);
      signal end(s.gpu.core().known());
      REQUIRE(s.processor.submit(
          kernel.packet({.work_items = 1000, .work_items_per_group = 64}, plain, end)));
      REQUIRE(s.processor.wait(end));
      for (std::uint32_t const w : words.host())
        REQUIRE(w == 5);
    });
  }

  TEST_CASE("more packets than slots; the barrier bit keeps kernels apart") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      auto words = s.gpu.allocate<std::uint32_t>(64);
      loaded_kernel const plus = s.gpu.load(add{}, words.global(), 1U);
      loaded_kernel const times = s.gpu.load(twice{}, words.global());
      launch_config const all{.work_items = 64, .work_items_per_group = 32};
      constexpr int rounds = 10;
      signal end(s.gpu.core().known(), 2 * rounds);
      for (int r = 0; r < rounds; ++r) {
        REQUIRE(s.processor.submit(plus.packet(all, after_all, end)));
        REQUIRE(s.processor.submit(times.packet(all, after_all, end)));
      }
      REQUIRE(s.processor.wait(end));
      for (std::uint32_t const w : words.host())
        REQUIRE(w == (1U << (rounds + 1)) - 2);
    });
  }

  TEST_CASE("a barrier-and packet waits for all of its signals, barrier-or for one") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      allocations& known = s.gpu.core().known();
      signal one(known), other(known), both(known), any(known);
      barrier_packet b{.dep_signal = {one.handle(), 0, other.handle()},
                       .completion_signal = both.handle()};
      REQUIRE(s.processor.submit(b));
      user_queue second(known, 4);
      packet_processor processor(s.gpu.core(), second);
      b.header = packet_header{packet_type::barrier_or}.bits();
      b.completion_signal = any.handle();
      REQUIRE(processor.submit(b));
      // A kernel of the second queue stands behind the barrier, and lets the first one go.
      loaded_kernel const sets = s.gpu.load(
          [](any_wavefront auto& wf, global<std::int64_t> word) {
            wf.store(word, 0, order::release, scope::system);
          },
          other.word());
      REQUIRE(processor.submit(sets.packet(one_wave, plain)));
      CHECK(both.word().get()[0] == 1);
      CHECK(any.word().get()[0] == 1);
      loaded_kernel const first = s.gpu.load(
          [](any_wavefront auto& wf, global<std::int64_t> word) {
            wf.store(word, 0, order::release, scope::system);
          },
          one.word());
      CHECK(s.gpu.run(
          one_wave,
          [](any_wavefront auto& wf, global<std::int64_t> word) {
            wf.store(word, 0, order::release, scope::system);
          },
          one.word()));
      REQUIRE(processor.wait(any));
      REQUIRE(s.processor.wait(both));
      CHECK(other.word().get()[0] == 0);
    });
  }

  TEST_CASE("a barrier packet waits for a signal of another agent, or queue, in any schedule") {
    auto const body = [](executor& scheduler, packet_type kind, bool two_agents) -> std::string {
      agent first(scheduler, served_shape), other(scheduler, served_shape);
      agent& second = two_agents ? other : first;
      signal done(first.core().known()), end(second.core().known());
      auto words = first.allocate<std::uint32_t>(32);
      std::optional<registration> shared[2];
      if (two_agents) {
        shared[0].emplace(done.share_with(second.core().known()));
        shared[1].emplace(second.expose(words.global().get(), 32, "the first agent's words"));
      }
      user_queue queue(first.core().known(), 4), behind(second.core().known(), 4);
      packet_processor processor(first.core(), queue), waits(second.core(), behind);
      loaded_kernel const adds = first.load(add{}, words.global(), 1U);
      loaded_kernel const doubles = second.load(twice{}, words.global());
      barrier_packet b{.dep_signal = {done.handle()}};
      b.header = packet_header{kind}.bits();
      bool const is_submitted = waits.submit(b) &&
                                waits.submit(doubles.packet(one_wave, after_all, end)) &&
                                processor.submit(adds.packet(one_wave, plain, done));
      if (!is_submitted)
        return "not submitted";
      if (outcome const o = waits.wait(end); !o)
        return o.get_fault()->report;
      return words.host()[31] == 2 ? "" : "the barrier packet did not wait";
    };
    for (packet_type const kind : {packet_type::barrier_and, packet_type::barrier_or})
      for (bool const two_agents : {false, true}) {
        CAPTURE(two_agents);
        with_schedulers([&](executor& s) { CHECK(body(s, kind, two_agents) == ""); });
        verdict const v = explore({.executions = 300}, [&](world& w) {
          std::string const wrong = body(w.scheduler(), kind, two_agents);
          w.check(wrong.empty(), wrong);
        });
        CHECK_MESSAGE(v, v.to_string());
      }
  }

  TEST_CASE("a barrier packet on a signal that has failed fails, too") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      allocations& known = s.gpu.core().known();
      signal failed(known), good(known, 0), never(known), end(known);
      failed.word().get()[0] = -1;
      auto const ends = [&](barrier_packet b, packet_type type) {
        user_queue queue(known, 4);
        packet_processor processor(s.gpu.core(), queue);
        b.header = packet_header{type}.bits();
        b.completion_signal = end.handle();
        end.word().get()[0] = 1;
        REQUIRE(processor.submit(b));
        outcome const o = processor.wait(end);
        if (!o)
          CHECK_SAYS(fail_with(o, fault::kind::bad_packet), "a signal that is negative");
        return end.word().get()[0];
      };
      CHECK(ends({.dep_signal = {failed.handle()}}, packet_type::barrier_and) == -1);
      CHECK(ends({.dep_signal = {failed.handle()}}, packet_type::barrier_or) == -1);
      CHECK(ends({.dep_signal = {good.handle(), failed.handle()}}, packet_type::barrier_and) == -1);
      CHECK(ends({.dep_signal = {failed.handle(), good.handle()}}, packet_type::barrier_or) == 0);
      CHECK(ends({.dep_signal = {never.handle(), good.handle()}}, packet_type::barrier_or) == 0);
      CHECK(ends({.dep_signal = {good.handle()}}, packet_type::barrier_and) == 0);
    });
  }

  TEST_CASE("a service packet calls a function, and its result comes back") {
    with_schedulers([](executor& scheduler) {
      int calls = 0;
      served s(scheduler, {{3, [&](std::array<std::uint64_t, 4> const& a) {
                              ++calls;
                              return a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3];
                            }}});
      auto result = s.gpu.allocate<std::uint64_t>(1);
      signal end(s.gpu.core().known());
      service_packet const p{.function = 3,
                             .return_address =
                                 reinterpret_cast<std::uintptr_t>(result.global().get()),
                             .arguments = {1, 2, 3, 4},
                             .completion_signal = end.handle()};
      REQUIRE(s.processor.submit(p));
      REQUIRE(s.processor.wait(end));
      CHECK(calls == 1);
      CHECK(result.host()[0] == 4321);
    });
  }

  TEST_CASE("kernels enqueue kernels, several producers at a time") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      auto words = s.gpu.allocate<std::uint32_t>(32);
      loaded_kernel const child = s.gpu.load(
          [](any_wavefront auto& wf, global<std::uint32_t> count) {
            if (wf.linear_group_id() == 0)
              wf.fetch_add(count, 1, order::relaxed, scope::agent);
          },
          words.global());
      constexpr std::uint32_t parents = 12;
      signal end(s.gpu.core().known(), parents);
      packet const p = child.packet(one_wave, plain, end);
      REQUIRE(s.gpu.run({.work_items = 32 * parents, .work_items_per_group = 32}, enqueue{},
                        std::ref(s.queue), p));
      REQUIRE(s.processor.wait(end));
      CHECK(words.host()[0] == parents);
    });
  }

  TEST_CASE("a kernel's fault is the queue's: the signal is -1, and later packets are not done") {
    with_schedulers([](executor& scheduler) {
      agent gpu(scheduler, served_shape, {.checks_bounds = true});
      user_queue queue(gpu.core().known(), 4);
      packet_processor processor(gpu.core(), queue);
      auto words = gpu.allocate<std::uint32_t>(32, "words");
      loaded_kernel const bad = gpu.load(beyond{}, words.global());
      loaded_kernel const good = gpu.load(add{}, words.global(), 1U);
      signal end(gpu.core().known()), later(gpu.core().known());
      REQUIRE(processor.submit(bad.packet(one_wave, plain, end)));
      outcome const o = processor.wait(end);
      REQUIRE(!o);
      CHECK(o.get_fault()->what == fault::kind::out_of_bounds);
      REQUIRE(processor.submit(good.packet(one_wave, plain, later)));
      CHECK(!processor.wait(later));
      CHECK(words.host()[0] == 0);
      CHECK(processor.first_fault()->what == fault::kind::out_of_bounds);
    });
  }

  TEST_CASE("a signal in which another queue's packet counts, which has failed, is no success") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler), other(scheduler);
      signal end(s.gpu.core().known());
      auto const shared = end.share_with(other.gpu.core().known());
      packet const bad = barrier_packet{.header = packet_header{packet_type::barrier_and}.bits(),
                                        .dep_signal = {std::uint64_t{1}},
                                        .completion_signal = end.handle()};
      REQUIRE(other.processor.submit(bad));
      CHECK(!other.processor.wait(end));
      outcome const o = s.processor.wait(end);
      REQUIRE(!o);
      CHECK_SAYS(fail_with(o, fault::kind::bad_packet),
                 "a signal is -1: a packet that counts in it has failed, none of ");
    });
  }

  TEST_CASE("a signal that has failed stays -1, whatever else counts in it") {
    sequential_scheduler scheduler;
    served s(scheduler), other(scheduler);
    auto words = s.gpu.allocate<std::uint32_t>(32);
    loaded_kernel const kernel = s.gpu.load(add{}, words.global(), 1U);
    signal end(s.gpu.core().known(), 3), done(s.gpu.core().known());
    auto const shared = end.share_with(other.gpu.core().known());
    REQUIRE(other.processor.submit(
        barrier_packet{.header = packet_header{packet_type::barrier_and}.bits(),
                       .dep_signal = {std::uint64_t{1}},
                       .completion_signal = end.handle()}));
    CHECK(!other.processor.wait(end));
    for (signal* const counted : {&end, &end, &done})
      REQUIRE(s.processor.submit(kernel.packet(one_wave, after_all, *counted)));
    REQUIRE(s.processor.wait(done));
    CHECK(end.word().get()[0] == -1);
  }

  TEST_CASE("a queue has one processor, and no packet says that its groups are resident at once") {
    sequential_scheduler scheduler;
    served s(scheduler);
    CHECK_THROWS_WITH(packet_processor(s.gpu.core(), s.queue),
                      "user queue has a packet processor already");
    loaded_kernel const kernel = s.gpu.load(twice{}, s.gpu.allocate<std::uint32_t>(32).global());
    CHECK_THROWS_AS(
        static_cast<void>(kernel.packet({.work_items = 32, .cooperative = true}, plain)),
        std::invalid_argument);
  }

  TEST_CASE("packets that cannot be done are refused, and say what is wrong with them") {
    with_schedulers([](executor& scheduler) {
      auto const check = [&](auto const& spoil, char const* what) {
        served s(scheduler, {{3, [](auto const&) { return std::uint64_t{0}; }}});
        auto words = s.gpu.allocate<std::uint32_t>(32);
        loaded_kernel const kernel = s.gpu.load(add{}, words.global(), 1U);
        signal end(s.gpu.core().known());
        packet p = kernel.packet(one_wave, plain, end);
        spoil(p, end);
        std::string const text = refusal(s, p, end);
        CHECK_MESSAGE(text.find(what) != std::string::npos, text);
        CHECK(words.host()[0] == 0);
      };
      auto const dispatch = [](auto change) {
        return [change](packet& p, signal&) {
          auto d = p.as<dispatch_packet>();
          change(d);
          p = d;
        };
      };
      check([](packet& p, signal&) { p.words[0] = 9; }, "its type is 9; allowed are 2");
      check(dispatch([](dispatch_packet& d) { d.setup = 4; }), "4 dimensions; allowed are 1 to 3");
      check(dispatch([](dispatch_packet& d) { d.setup = 1, d.grid_size[1] = 2; }),
            "dimension 1 of 1 is not 1");
      check(dispatch([](dispatch_packet& d) { d.kernarg_address += 8; }), "not loaded");
      check(dispatch([](dispatch_packet& d) { d.grid_size[0] = 0; }), "the grid is empty");
      check(dispatch([](dispatch_packet& d) { d.group_segment_bytes = 1 << 20; }), "of LDS");
      check(dispatch([](dispatch_packet& d) { d.header |= 3U << 9; }), "fence scopes");
      check(
          [](packet& p, signal& end) {
            p = barrier_packet{.dep_signal = {0, 64}, .completion_signal = end.handle()};
          },
          "it waits for 0x40");
      check(
          [](packet& p, signal& end) {
            p = service_packet{.function = 4, .completion_signal = end.handle()};
          },
          "it calls function 4; those there are: 3");
      check(
          [](packet& p, signal& end) {
            p = service_packet{
                .function = 3, .return_address = 8, .completion_signal = end.handle()};
          },
          "its result goes to 0x8");
    });
  }

  TEST_CASE("what a service function throws is the queue's fault, and the core goes on") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler,
               {{1, [](auto const&) -> std::uint64_t { throw std::logic_error("one"); }}});
      allocations& known = s.gpu.core().known();
      signal end(known);
      service_packet p{.function = 1, .completion_signal = end.handle()};
      REQUIRE(s.processor.submit(p));
      std::string const report = fail_with(s.processor.wait(end), fault::kind::exception);
      CHECK_SAYS(report, "packet 0 threw: one");
      CHECK(end.word().get()[0] == -1);
      user_queue second(known, 4);
      packet_processor processor(s.gpu.core(), second,
                                 {{2, [](auto const&) -> std::uint64_t { throw 2; }},
                                  {3, [](auto const&) { return std::uint64_t{3}; }}});
      signal third(known), fourth(known);
      p.function = 3, p.completion_signal = third.handle();
      REQUIRE(processor.submit(p));
      succeed(processor.wait(third));
      p.function = 2, p.completion_signal = fourth.handle();
      REQUIRE(processor.submit(p));
      CHECK_SAYS(fail_with(processor.wait(fourth), fault::kind::exception), "no std::exception");
    });
  }
}
