// SPDX-License-Identifier: Apache-2.0
// Calls that one wavefront takes to their ends, without channels.
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/cilk_work_first.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fibonacci/kernel.hpp>
#include <functional>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using fib = fibonacci::call;

/// Calls itself `depth` times, the last of them spawns nothing.
struct chain {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 1;
  std::uint32_t depth;

  void operator()(auto& self) const {
    if (depth == 0)
      return self.returns(7);
    self.spawn({depth - 1});
  }
  void after_sync(auto& self, first_sync) const { self.returns(self[0] + 1); }
};

/// Writes down when it is called, and when its children have ended. For one thread.
struct noting {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 2;
  std::string* log;
  char name;
  std::uint32_t depth;

  void operator()(auto& self) const {
    log->push_back(name);
    for (std::uint32_t i = 0; depth != 0 && i < most_spawned; ++i)
      self.spawn({log, static_cast<char>(i == 0 ? name + 1 : name + 2), depth - 1});
  }
  void after_sync(auto&, first_sync) const { log->push_back(static_cast<char>(name - 'a' + 'A')); }
};

template<class F>
struct calls {
  std::vector<F> functions;
  std::vector<typename F::result> results;
  std::uint32_t levels = 64;
  std::uint32_t level = 0;
  cilk_counts counts{};
};

template<class F>
struct run_calls {
  template<any_wavefront W>
  task<> operator()(W& wf, calls<F>& of) const {
    cilk_work_first<F, W> stack(wf, of.counts, of.levels);
    task<> all = stack.run(
        {of.functions.data(), of.results.data(), static_cast<std::uint32_t>(of.functions.size())},
        of.level);
    co_await std::move(all);
  }
};

/// Each of two wavefronts takes its own half to the ends.
struct run_halves {
  template<any_wavefront W>
  task<> operator()(W& wf, std::vector<noting> const& all, cilk_counts& counts) const {
    cilk_work_first<noting, W> stack(wf, counts, 4);
    auto const half = static_cast<std::uint32_t>(all.size() / 2);
    no_result none;
    task<> mine = stack.run({all.data() + (wf.local_id().base() == 0 ? 0 : half), &none, half}, 0);
    co_await std::move(mine);
  }
};

template<class F>
outcome take_to_end(auto& gpu, calls<F>& of, std::uint32_t lanes = 64) {
  of.results.resize(std::max<std::size_t>(1, of.functions.size()));
  return gpu.run({.work_items = lanes, .work_items_per_group = 64}, run_calls<F>{}, std::ref(of));
}

} // namespace

TEST_SUITE("emu.cilk_work_first") {
  TEST_CASE("each call has its own result, however many calls and lanes there are") {
    constexpr std::uint64_t expected[] = {1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
    with_schedulers(
        [&](executor& s) {
          wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
          for (std::uint32_t const lanes : {1U, 5U, 64U})
            for (std::uint32_t const count : {0U, 1U, 63U, 65U, 300U}) {
              CAPTURE(lanes);
              CAPTURE(count);
              calls<fib> of;
              for (std::uint32_t i = 0; i < count; ++i)
                of.functions.push_back({1 + i * 7 % 10});
              succeed(take_to_end(gpu, of, lanes));
              for (std::uint32_t i = 0; i < count; ++i)
                REQUIRE(of.results[i] == expected[i * 7 % 10]);
            }
        },
        2, 2);
  }

  TEST_CASE("as many levels as there are, from the one where it begins, and no more") {
    sequential_scheduler s;
    wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
    for (std::uint32_t const level : {0U, 2U}) {
      calls<chain> deepest{.functions = {{0}, {4}, {1}}, .results = {}, .levels = 5 + level};
      deepest.level = level;
      succeed(take_to_end(gpu, deepest));
      CHECK(deepest.results == std::vector<std::uint32_t>{7, 11, 8});
      calls<chain> deeper{.functions = {{0}, {5}, {1}}, .results = {}, .levels = 5 + level};
      deeper.level = level;
      CHECK_SAYS(fail_with(take_to_end(gpu, deeper), fault::kind::wrong_shape),
                 "cilk: the recursion is deeper than its " + std::to_string(5 + level) + " levels");
    }
  }

  TEST_CASE("one lane goes depth first: a call's children have ended before the next call begins") {
    native_scheduler s({.threads = 1, .stall_timeout = patience});
    wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
    std::string log;
    calls<noting> of;
    of.functions = {{&log, 'a', 2}, {&log, 'p', 1}};
    succeed(take_to_end(gpu, of, 1));
    CHECK(log == "abcdBcdeCApqrP");
  }

  TEST_CASE("several lanes go level by level, as many calls at a time as are active") {
    native_scheduler s({.threads = 1, .stall_timeout = patience});
    wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
    std::string log;
    calls<noting> of;
    of.functions = {{&log, 'a', 1}, {&log, 'h', 1}, {&log, 'p', 1}};
    succeed(take_to_end(gpu, of, 2));
    CHECK(log == "ahbcijAHpqrP");
  }

  TEST_CASE("a wavefront that has much to do gives way now and then") {
    native_scheduler s({.threads = 1, .stall_timeout = patience});
    wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
    std::string log;
    cilk_counts counts;
    std::vector<noting> all;
    for (std::uint32_t i = 0; i < 50'000; ++i)
      all.push_back({&log, i < 25'000 ? 'a' : 'b', 0});
    succeed(gpu.run({.work_groups = 1, .work_items_per_group = 128}, run_halves{}, std::cref(all),
                    std::ref(counts)));
    REQUIRE(log.size() == all.size());
    std::size_t turns = 1;
    for (std::size_t i = 1; i < log.size(); ++i)
      turns += log[i] != log[i - 1] ? 1 : 0;
    CHECK(turns > 2);
  }

  TEST_CASE("parts that spawn, and those that do not, are counted where a scheduler decides") {
    auto const counted = [](executor& s) {
      wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
      calls<fib> of;
      of.functions.assign(3, fib{10});
      succeed(take_to_end(gpu, of));
      return of.counts;
    };
    sequential_scheduler decides;
    cilk_counts const exact = counted(decides);
    CHECK(exact.spawning == 3 * 54);      // of 109 calls
    CHECK(exact.leaves == 3 * (55 + 54)); // and what comes after a sync
    CHECK(exact.waves >= 2 * 9);
    CHECK(exact.diverged > 0);
    native_scheduler native({.threads = 1, .stall_timeout = patience});
    CHECK(counted(native).leaves == 0);
  }
}
