// SPDX-License-Identifier: Apache-2.0
// What a packet says of a kernel and its grid, and how long it may name the kernel.
#include "served_agent.hpp"
#include "test_agents.hpp"

#include <quarry/emu/loaded_kernel.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr std::uint32_t most = ~0U;

struct nothing {
  void operator()(any_wavefront auto&, std::shared_ptr<int> const&) const {}
};

/// An agent that runs nothing here.
struct idle_agent {
  sequential_scheduler scheduler;
  wide_agent gpu{scheduler, {.compute_units = 1}};
  bool knows(loaded_kernel const& k) {
    auto const code = gpu.core().find_loaded(k.kernel_object());
    return code && reinterpret_cast<std::uintptr_t>(code->arguments.get()) == k.kernarg_address();
  }
};

std::array<std::uint32_t, 3> grid_of(launch_config const& c) {
  return packet_of(c, plain, "k").grid_size;
}
using sizes = std::array<std::uint32_t, 3>;

} // namespace

TEST_SUITE("emu.loaded_kernel") {
  TEST_CASE("a packet has the sizes of a grid in work-items, groups and LDS, and no kernel") {
    auto const p = packet_of(
        {.work_items = {1000, 20, 3}, .work_items_per_group = {64, 4, 2}, .lds_bytes = 4096}, plain,
        "k");
    CHECK(p.grid_size == sizes{1000, 20, 3});
    CHECK(p.work_group_size == std::array<std::uint16_t, 3>{64, 4, 2});
    CHECK(p.group_segment_bytes == 4096);
    CHECK(p.setup == 3);
    CHECK(p.kernel_object == 0);
    CHECK(p.kernarg_address == 0);
    CHECK(p.completion_signal == 0);
  }

  TEST_CASE("a grid in groups is one of whole groups in each dimension; an empty one is left so") {
    CHECK(grid_of({.work_groups = {5, 6, 7}, .work_items_per_group = {64, 4, 2}}) ==
          sizes{320, 24, 14});
    CHECK(grid_of({}) == sizes{0, 1, 1});
  }

  TEST_CASE("a grid that is given in groups and in work-items is refused, also where they agree") {
    for (extent const items : {extent{320, 1, 1}, extent{64, 1, 1}})
      CHECK_THROWS_WITH_AS(
          static_cast<void>(
              grid_of({.work_groups = 5, .work_items = items, .work_items_per_group = {64, 1, 1}})),
          "packet for k: both are given; say either work_groups or work_items",
          std::invalid_argument);
  }

  TEST_CASE("it is a dispatch, whatever the header says; the rest of the header stays") {
    packet_header const other{packet_type::barrier_or, true, fence_scope::agent, fence_scope::none};
    auto const h = packet_header::of(packet_of({.work_groups = 1}, other, "k").header);
    CHECK(h.type == packet_type::kernel_dispatch);
    CHECK(h.barrier);
    CHECK(h.acquire == fence_scope::agent);
    CHECK(h.release == fence_scope::none);
  }

  TEST_CASE("a group that 16 bits cannot say is refused, with the kernel's name") {
    auto const of_group = [](extent per) {
      return packet_of({.work_items = 1, .work_items_per_group = per}, plain, "saxpy");
    };
    CHECK(of_group({65535, 65535, 65535}).work_group_size[2] == 65535);
    CHECK_THROWS_WITH_AS(static_cast<void>(of_group({65536})),
                         "packet for saxpy: a group of 65536 x 1 x 1 work-items; at most 65535 in "
                         "a dimension",
                         std::invalid_argument);
    CHECK_THROWS_AS(static_cast<void>(of_group({1, 65536})), std::invalid_argument);
    CHECK_THROWS_AS(static_cast<void>(of_group({1, 1, most})), std::invalid_argument);
  }

  TEST_CASE("groups whose work-items 32 bits cannot say are refused, and no smaller grid is run") {
    CHECK(grid_of({.work_groups = 65537, .work_items_per_group = 65535}) == sizes{most, 1, 1});
    CHECK(grid_of({.work_groups = {1, most, 1}, .work_items_per_group = {2, 1, 1}}) ==
          sizes{2, most, 1});
    for (extent const groups :
         {extent{65538, 1, 1}, extent{1, 65538, 1}, extent{1, 1, 65538}, extent{most, most, most}})
      CHECK_THROWS_WITH_AS(
          static_cast<void>(
              grid_of({.work_groups = groups, .work_items_per_group = {65535, 65535, 65535}})),
          "packet for k: more than 4294967295 work-items in a dimension", std::invalid_argument);
  }

  TEST_CASE("its packets name the kernel, its arguments and the signal, if there is one") {
    idle_agent a;
    loaded_kernel const kernel = a.gpu.load(nothing{}, std::make_shared<int>(1));
    signal end(a.gpu.core().known());
    launch_config const c{.work_groups = 3, .work_items_per_group = 64};
    auto const silent = kernel.packet(c, plain);
    CHECK(silent.kernel_object == kernel.kernel_object());
    CHECK(silent.kernarg_address == kernel.kernarg_address());
    CHECK(silent.completion_signal == 0);
    CHECK(silent.grid_size == sizes{192, 1, 1});
    auto const telling = kernel.packet(c, plain, end);
    CHECK(telling.completion_signal == end.handle());
    CHECK(telling.kernel_object == kernel.kernel_object());
    CHECK_THROWS_AS(static_cast<void>(kernel.packet({.work_groups = most}, plain)),
                    std::invalid_argument);
  }

  TEST_CASE("an agent knows a kernel with its own arguments, while it lives") {
    idle_agent a, other;
    std::uint64_t object = 0;
    {
      loaded_kernel const one = a.gpu.load(nothing{}, std::make_shared<int>(1));
      loaded_kernel const two = a.gpu.load(nothing{}, std::make_shared<int>(2));
      CHECK(a.knows(one));
      CHECK(a.knows(two));
      CHECK_FALSE(other.knows(one));
      object = two.kernel_object();
    }
    CHECK_FALSE(a.gpu.core().find_loaded(object));
    loaded_kernel const later = a.gpu.load(nothing{}, std::make_shared<int>(3));
    CHECK(later.kernel_object() > object); // wherever it lies
  }

  TEST_CASE("it owns its arguments") {
    idle_agent a;
    auto const argument = std::make_shared<int>(7);
    {
      loaded_kernel const kernel = a.gpu.load(nothing{}, argument);
      CHECK(argument.use_count() == 2);
      CHECK(kernel.kernarg_address() != 0);
    }
    CHECK(argument.use_count() == 1); // the agent has let go of them, too
  }

  TEST_CASE("its agent may go first") {
    auto a = std::make_unique<idle_agent>();
    loaded_kernel const kernel = a->gpu.load(nothing{}, std::make_shared<int>(1));
    a.reset();
    CHECK(kernel.kernel_object() != 0);
  }

  TEST_CASE("a packet whose kernel has gone is refused, though another one lies there now") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      auto words = s.gpu.allocate<std::uint32_t>(32);
      signal end(s.gpu.core().known());
      std::optional<packet> first;
      for (std::uint32_t const n : {1U, 2U}) {
        loaded_kernel const kernel = s.gpu.load(add{}, words.global(), n);
        packet const p = kernel.packet(one_wave, plain, end);
        if (!first) {
          first = p;
          continue;
        }
        CHECK_SAYS(refusal(s, *first, end), "its loaded_kernel has gone, or is another agent's");
      }
      CHECK(words.host()[0] == 0);
    });
  }

  TEST_CASE("a kernel that has started keeps its arguments when its loaded_kernel goes") {
    with_schedulers([](executor& scheduler) {
      served s(scheduler);
      auto words = s.gpu.allocate<std::uint32_t>(3);
      signal end(s.gpu.core().known());
      auto const at = words.global();
      auto const value = [&](std::size_t i) {
        return s.gpu.core().with_host(
            [&](auto const& host) { return host.load(at + i, order::acquire, scope::system); });
      };
      std::weak_ptr<std::uint32_t const> lives;
      {
        auto const seven = std::make_shared<std::uint32_t const>(7);
        lives = seven;
        loaded_kernel const kernel = s.gpu.load(
            [seven](any_wavefront auto& wf, global<std::uint32_t> w) -> task<> {
              wf.store(w, 1, order::release, scope::system);
              auto const is_open = [](std::uint32_t v) { return v != 0; };
              static_cast<void>(
                  co_await wf.wait_until(w + 1, is_open, order::acquire, scope::system));
              wf.store(w + 2, *seven, order::release, scope::system);
            },
            at);
        REQUIRE(s.processor.submit(kernel.packet(one_wave, plain, end)));
        REQUIRE(scheduler.run_until([&] { return value(0) == 1; }));
      }
      CHECK_FALSE(lives.expired());
      s.gpu.core().with_host(
          [&](auto const& host) { host.store(at + 1, 1, order::release, scope::system); });
      scheduler.notify();
      REQUIRE(s.processor.wait(end));
      CHECK(value(2) == 7);
    });
  }
}
