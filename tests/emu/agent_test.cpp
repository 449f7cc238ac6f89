// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

// Three kinds of kernel that say which work-items ran: each adds 1 at its place in the grid.

struct count_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> counts, extent items) const {
    auto const x = wf.global_id(0);
    auto const y = wf.global_id(1);
    auto const z = wf.global_id(2);
    auto const at = (z * static_cast<int>(items.y) + y) * static_cast<int>(items.x) + x;
    wf.add(counts + at, 1, order::relaxed, scope::agent);
    co_return;
  }
};

std::uint64_t linear(extent at, extent items) {
  return (std::uint64_t{at.z} * items.y + at.y) * items.x + at.x;
}

struct count_item {
  task<> operator()(any_work_item auto& wi, global<std::uint32_t> counts, extent items) const {
    auto const at = linear(wi.global_position(), items);
    wi.fetch_add(counts + at, 1, order::relaxed, scope::agent);
    co_return;
  }
};

struct count_plain {
  void operator()(any_plain_work_item auto& wi, global<std::uint32_t> counts, extent items) const {
    auto const at = linear(wi.global_position(), items);
    wi.fetch_add(counts + at, 1, order::relaxed, scope::agent);
  }
};

template<class Kernel>
void every_work_item_runs_once(Kernel kernel, launch_config config, extent items) {
  with_every_agent([&](agent& gpu) {
    auto counts = gpu.allocate<std::uint32_t>(items.volume(), "counts");
    succeed(gpu.run(config, kernel, counts.global(), items));
    CHECK(std::all_of(counts.host().begin(), counts.host().end(),
                      [](std::uint32_t n) { return n == 1; }));
  });
}

void every_kind_runs_once(launch_config config, extent items) {
  every_work_item_runs_once(count_wave{}, config, items);
  every_work_item_runs_once(count_item{}, config, items);
  every_work_item_runs_once(count_plain{}, config, items);
}

struct must_not_run {
  void operator()(any_plain_work_item auto&, std::atomic<int>& ran) const { ++ran; }
};

/// Refused before anything ran, with both numbers in the text.
void refused(machine const& m, launch_config config, std::string_view argument,
             std::string_view limit) {
  native_scheduler s({.threads = 1});
  agent gpu(s, m);
  std::atomic<int> ran{0};
  std::string text;
  try {
    static_cast<void>(gpu.run(config, must_not_run{}, std::ref(ran)));
  } catch (std::invalid_argument const& e) {
    text = e.what();
  }
  INFO(text);
  CHECK(contains(text, argument));
  CHECK(contains(text, limit));
  CHECK(contains(text, "must_not_run"));
  CHECK(ran == 0);
  succeed(gpu.run({.work_groups = 1, .work_items_per_group = 32}, must_not_run{}, std::ref(ran)));
  CHECK(ran == 32); // the agent is as good as new
}

void refused_machine(machine const& m, std::string_view argument, std::string_view limit) {
  native_scheduler s({.threads = 1});
  std::string text;
  try {
    agent gpu(s, m);
  } catch (std::invalid_argument const& e) {
    text = e.what();
  }
  INFO(text);
  CHECK(contains(text, argument));
  CHECK(contains(text, limit));
}

/// Waits for `flag`, then counts.
struct wait_and_count {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag,
                    global<std::uint32_t> count) const {
    auto const is_set = [](std::uint32_t v) { return v != 0; };
    static_cast<void>(co_await wf.wait_until(flag, is_set, order::acquire, scope::system));
    wf.fetch_add(count, 1, order::relaxed, scope::agent);
  }
};

/// Groups that all wait for each other, three times.
struct meet_thrice {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> count,
                    std::uint32_t groups) const {
    for (std::uint32_t round = 1; round <= 3; ++round) {
      wf.fetch_add(count, 1, order::acq_rel, scope::agent);
      auto const are_here = [all = groups * round](std::uint32_t n) { return n >= all; };
      static_cast<void>(co_await wf.wait_until(count, are_here, order::acquire, scope::agent));
    }
  }
};

struct set_flag {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag) const {
    if (wf.index_in_group() == 0)
      wf.store(flag, 1, order::release, scope::system);
    co_return;
  }
};

struct slow_sum {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> sum) const {
    for (int i = 0; i < 10; ++i)
      co_await wf.barrier();
    auto const n = static_cast<std::uint64_t>(wf.active().count());
    wf.fetch_add(sum, n, order::relaxed, scope::agent);
  }
};

} // namespace

TEST_SUITE("emu.agent") {
  TEST_CASE("every work-item of a one-dimensional grid runs once, in whole groups") {
    every_kind_runs_once({.work_groups = 7, .work_items_per_group = 256}, 7 * 256);
  }
  TEST_CASE("every work-item runs once when the last wavefront and the last group are partial") {
    every_kind_runs_once({.work_items = 1000, .work_items_per_group = 100}, 1000);
    every_kind_runs_once({.work_items = 999, .work_items_per_group = 100}, 999);
    every_kind_runs_once({.work_items = 1, .work_items_per_group = 1024}, 1);
    every_kind_runs_once({.work_items = 65, .work_items_per_group = 1}, 65);
  }
  TEST_CASE("every work-item runs once in two dimensions, with groups cut at both edges") {
    every_kind_runs_once({.work_groups = {3, 2}, .work_items_per_group = {16, 8}}, {48, 16});
    every_kind_runs_once({.work_items = {37, 21}, .work_items_per_group = {16, 8}}, {37, 21});
  }
  TEST_CASE("every work-item runs once in three dimensions, with groups cut at all edges") {
    every_kind_runs_once({.work_groups = {2, 2, 2}, .work_items_per_group = {5, 4, 3}}, {10, 8, 6});
    every_kind_runs_once({.work_items = {11, 7, 5}, .work_items_per_group = {4, 4, 4}}, {11, 7, 5});
  }
  TEST_CASE("a group of 1024 work-items runs, 32 wavefronts of 32 included") {
    every_kind_runs_once({.work_groups = 2, .work_items_per_group = 1024}, 2048);
    every_kind_runs_once({.work_items = 1025, .work_items_per_group = 1024}, 1025);
  }

  TEST_CASE("an empty grid is refused") {
    refused({}, {.work_groups = 0}, "grid is empty", "at least 1");
    refused({}, {.work_groups = {4, 0}}, "grid is empty", "at least 1");
    refused({}, {.work_items = {4, 4, 0}}, "grid is empty", "at least 1");
    refused({}, {.work_items = {0, 4}}, "grid is empty", "at least 1");
  }
  TEST_CASE("a grid given in both forms is refused") {
    refused({}, {.work_groups = 4, .work_items = 1024}, "both are given", "either");
    refused({}, {.work_groups = 4, .work_items = {1024, 0}}, "both are given", "either");
    refused({}, {.work_groups = {4, 0}, .work_items = 1024}, "both are given", "either");
  }
  TEST_CASE("an oversized grid is refused") {
    refused({}, {.work_groups = {65536, 65536}}, "65536 x 65536 x 1", "4294967295");
    refused({}, {.work_groups = {~0U, ~0U, ~0U}}, "4294967295 x 4294967295", "4294967295 in all");
    refused({}, {.work_groups = {1U << 31, 1U << 31, 4}, .work_items_per_group = 1},
            "2147483648 x 2147483648 x 4", "4294967295 in all");
    refused({}, {.work_groups = 1U << 30, .work_items_per_group = 256}, "work-items in a dimension",
            "4294967295");
  }
  TEST_CASE("a group with no or more than 1024 work-items is refused") {
    refused({}, {.work_groups = 1, .work_items_per_group = 1025}, "1025 work-items", "1 to 1024");
    refused({}, {.work_groups = 1, .work_items_per_group = {32, 33}}, "32 x 33 x 1 = 1056", "1024");
    refused({}, {.work_groups = 1, .work_items_per_group = {16, 0}}, "= 0 work-items", "1 to 1024");
    refused({}, {.work_groups = 1, .work_items_per_group = {1U << 31, 1U << 31, 4}},
            "2147483648 x 2147483648 x 4", "1 to 1024");
  }
  TEST_CASE("more LDS than a compute unit has is refused") {
    refused({.lds_bytes = 1024}, {.work_groups = 1, .lds_bytes = 1025}, "1025 bytes of LDS",
            "1024");
  }
  TEST_CASE("a group that needs more wavefront slots than a unit has is refused") {
    refused({.wavefront_slots = 3}, {.work_groups = 1, .work_items_per_group = 256}, "4 wavefront",
            "has 3");
  }
  TEST_CASE("a cooperative launch that cannot be resident at once is refused, one that can runs") {
    machine const m{.compute_units = 2, .wavefront_slots = 8, .lds_bytes = 4096};
    refused(m, {.work_groups = 5, .cooperative = true}, "5 groups", "only 4");
    refused(m, {.work_groups = 3, .lds_bytes = 2049, .cooperative = true}, "3 groups", "only 2");
    every_work_item_runs_once(count_wave{}, {.work_groups = 4, .cooperative = true}, 1024);
  }
  TEST_CASE("an impossible machine is refused") {
    refused_machine({.wavefront_size = 16}, "wavefront size 16", "32 and 64");
    refused_machine({.wavefront_size = 128}, "wavefront size 128", "32 and 64");
    refused_machine({.compute_units = 0}, "0 compute units", "1 to 4096");
    refused_machine({.compute_units = 4097}, "4097 compute units", "1 to 4096");
    refused_machine({.wavefront_slots = 0}, "0 wavefront slots", "1 to 1024");
    refused_machine({.wavefront_slots = 1025}, "1025 wavefront slots", "1 to 1024");
    refused_machine({.lds_bytes = 16 * 1024 * 1024 + 1}, "16777217 bytes", "16777216");
  }

  TEST_CASE("a thousand launches in a row leave nothing behind") {
    with_every_agent([](agent& gpu) {
      auto sum = gpu.allocate<std::uint64_t>(1, "sum");
      int const launches = is_native(gpu) ? 1000 : 20;
      for (int i = 0; i < launches; ++i)
        succeed(
            gpu.run({.work_groups = static_cast<unsigned>(i % 12 + 1)}, slow_sum{}, sum.global()));
      std::uint64_t expected = 0;
      for (int i = 0; i < launches; ++i)
        expected += static_cast<std::uint64_t>(i % 12 + 1) * 256;
      CHECK(sum.host()[0] == expected);
    });
  }

  TEST_CASE("two launches are in flight at once: the first waits for what the second does") {
    with_every_agent([](agent& gpu) {
      auto flag = gpu.allocate<std::uint32_t>(1, "flag");
      auto count = gpu.allocate<std::uint32_t>(1, "count");
      auto waiting =
          gpu.launch({.work_groups = 16}, wait_and_count{}, flag.global(), count.global());
      CHECK_FALSE(waiting.is_done());
      succeed(gpu.run({.work_groups = 1}, set_flag{}, flag.global()));
      succeed(waiting.wait());
      CHECK(waiting.is_done());
      CHECK(count.host()[0] == 16 * 256 / gpu.core().shape().wavefront_size);
    });
  }

  TEST_CASE("a launch of one group finds the unit that is free when the first ones are full") {
    // 4 waiting groups fill the units 0 and 1 or any others; the one that frees them must fit.
    machine const m{.compute_units = 5, .wavefront_slots = 8};
    with_every_agent(
        [](agent& gpu) {
          auto flag = gpu.allocate<std::uint32_t>(1, "flag");
          auto count = gpu.allocate<std::uint32_t>(1, "count");
          unsigned const per_group = 8 * gpu.core().shape().wavefront_size; // fills a unit
          auto waiting = gpu.launch({.work_groups = 4, .work_items_per_group = per_group},
                                    wait_and_count{}, flag.global(), count.global());
          succeed(gpu.run({.work_groups = 1, .work_items_per_group = per_group}, set_flag{},
                          flag.global()));
          succeed(waiting.wait());
          CHECK(count.host()[0] == 32);
        },
        m);
  }

  TEST_CASE("a later launch does not take the places of groups that wait for each other") {
    native_scheduler s({.threads = 4, .stall_timeout = patience});
    machine const m;
    agent gpu(s, m);
    std::uint32_t const groups = m.compute_units * m.wavefront_slots; // all places
    std::atomic<int> failed{0};
    std::vector<std::thread> hosts;
    for (int h = 0; h < 3; ++h)
      hosts.emplace_back([&] {
        for (int i = 0; i < 300 && failed == 0; ++i) {
          auto count = gpu.allocate<std::uint32_t>(1, "count");
          auto const end =
              gpu.run({.work_groups = groups, .work_items_per_group = 1, .cooperative = true},
                      meet_thrice{}, count.global(), groups);
          failed += end ? 0 : 1;
        }
      });
    for (std::thread& h : hosts)
      h.join();
    CHECK(failed == 0);
  }

  TEST_CASE("a completion is waited for once; the second time is an error") {
    with_every_agent([](agent& gpu) {
      auto launched =
          gpu.launch({.work_groups = 1, .work_items_per_group = 1}, [](any_wavefront auto&) {});
      CHECK(launched.wait());
      CHECK_THROWS_AS(static_cast<void>(launched.wait()), std::logic_error);
      CHECK(launched.is_done());
    });
  }

  TEST_CASE("a completion that nobody waits for waits when it is destroyed") {
    with_every_agent([](agent& gpu) {
      auto sum = gpu.allocate<std::uint64_t>(1, "sum");
      {
        auto const running = gpu.launch({.work_groups = 40}, slow_sum{}, sum.global());
      }
      CHECK(sum.host()[0] == 40 * 256);
    });
  }

  TEST_CASE("an asynchronous launch owns its kernel's arguments") {
    with_every_agent([](agent& gpu) {
      auto sum = gpu.allocate<std::uint64_t>(1, "sum");
      auto const held = std::make_shared<std::vector<int>>(3, 1);
      auto running = gpu.launch(
          {.work_groups = 4, .work_items_per_group = 32},
          [](any_plain_work_item auto& wi, global<std::uint64_t> s, auto const& numbers) {
            wi.fetch_add(s, numbers->size(), order::relaxed, scope::agent);
          },
          sum.global(), std::shared_ptr<std::vector<int> const>(held));
      succeed(running.wait());
      CHECK(sum.host()[0] == 4 * 32 * 3);
      CHECK(held.use_count() == 1);
    });
  }

  TEST_CASE("host threads launch on one agent at once") {
    for (std::uint32_t size : {32U, 64U}) {
      native_scheduler s({.threads = 2, .stall_timeout = patience});
      agent gpu(s, {.wavefront_size = size});
      auto sums = gpu.allocate<std::uint64_t>(3, "sums");
      std::atomic<int> bad{0};
      std::vector<std::thread> hosts;
      for (int t = 0; t < 3; ++t)
        hosts.emplace_back([&, t] {
          for (int i = 0; i < 50; ++i)
            if (!gpu.run({.work_groups = 30}, slow_sum{}, sums.global() + t))
              ++bad;
        });
      for (auto& h : hosts)
        h.join();
      CHECK(bad == 0);
      for (auto const sum : sums.host())
        CHECK(sum == 50 * 30 * 256);
    }
  }

  TEST_CASE("agents come and go while their scheduler stays") {
    native_scheduler s({.threads = 2, .stall_timeout = patience});
    for (int i = 0; i < 200; ++i) {
      agent gpu(s);
      auto sum = gpu.allocate<std::uint64_t>(1, "sum");
      succeed(gpu.run({.work_groups = 16}, slow_sum{}, sum.global()));
      CHECK(sum.host()[0] == 16 * 256);
    }
  }
}
