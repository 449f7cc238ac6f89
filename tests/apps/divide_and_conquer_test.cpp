// SPDX-License-Identifier: Apache-2.0
// The programs of the thesis's chapter 4 without channels: serial answers, and what they rest on.
#include <quarry/emu/agent.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fibonacci/reference.hpp>
#include <functional>
#include <queens/flattened.hpp>
#include <queens/reference.hpp>
#include <sort/bitonic.hpp>
#include <sort/reference.hpp>
#include <sort/sort_in_lanes.hpp>
#include <span>
#include <strassen/reference.hpp>
#include <strassen/tiled.hpp>
#include <vector>

using namespace quarry;

namespace {

using both_targets = emu::targets<emu::memories<emu::native_memory, emu::interleaving_memory>, 64>;

struct sort_runs {
  void operator()(emu::any_wavefront auto& wf,
                  std::vector<std::span<std::uint32_t>> const& runs) const {
    sort::sort_in_lanes(wf, runs);
  }
};

/// Calls `test(agent)` with a native one and a deterministic one.
template<class F>
void with_agents(F const& test) {
  native_scheduler native({.threads = 2});
  emu::basic_agent<both_targets> one(native, {.compute_units = 2});
  test(one);
  sequential_scheduler sequential;
  emu::basic_agent<both_targets> other(sequential, {.compute_units = 2});
  test(other);
}

} // namespace

TEST_SUITE("apps.divide_and_conquer") {
  TEST_CASE("fibonacci: the recursion, the number, and how many calls it takes") {
    static_assert(fibonacci::reference(1) == 1 && fibonacci::reference(2) == 1);
    for (std::uint32_t n = 1; n <= 20; ++n)
      CHECK(fibonacci::reference(n) == fibonacci::number(n));
    CHECK(fibonacci::number(24) == 46'368);
    CHECK(fibonacci::number(35) == 9'227'465);
    CHECK(fibonacci::calls(1) == 1);
    CHECK(fibonacci::calls(3) == 3);
    CHECK(fibonacci::calls(24) == 92'735);
  }

  TEST_CASE("queens: the published numbers of solutions") {
    std::uint64_t const published[] = {1, 0, 0, 2, 10, 4, 40, 92, 352, 724};
    for (std::uint32_t size = 1; size <= std::size(published); ++size)
      CHECK(queens::reference(size) == published[size - 1]);
    CHECK(queens::tasks({}, queens::base_rows, queens::full_row(4)) == 1);
    CHECK(queens::tasks({}, 5, queens::full_row(5)) == 6);
    CHECK(queens::tasks({}, 6, queens::full_row(6)) == 1 + 6 + 20);
  }

  TEST_CASE("sort: four parts and two merges, whatever the count leaves over") {
    for (std::size_t const count : {0U, 1U, 64U, 65U, 66U, 67U, 256U, 1000U, 4099U}) {
      auto values = sort::values(count, 7);
      auto const right = sort::reference(values);
      std::vector<std::uint32_t> spare(count);
      sort::sort_serially(values, spare);
      CHECK(values == right);
    }
    CHECK(sort::values(100, 1) != sort::values(100, 2));
  }

  TEST_CASE("sort: a wavefront's runs of any lengths, a lane each") {
    with_agents([](auto& gpu) {
      for (std::size_t const most : {1U, 2U, 3U, 37U, 61U, 64U})
        for (int const run_count : {1, 17, 64})
          for (std::uint32_t const spread : {2U, 1'000'000U}) {
            auto all = gpu.template allocate<std::uint32_t>(64 * 64, "values");
            std::ranges::copy(sort::values(all.size(), most), all.host().begin());
            for (std::uint32_t& v : all.host())
              v %= spread;
            std::vector<std::uint32_t> right(all.host().begin(), all.host().end());
            std::vector<std::span<std::uint32_t>> runs;
            for (std::size_t i = 0; std::ssize(runs) < run_count; ++i) {
              std::size_t const size = i % 5 == 4 ? i % (most + 1) : most;
              runs.push_back(all.host().subspan(64 * i, size));
              std::sort(right.begin() + 64 * std::ptrdiff_t(i),
                        right.begin() + 64 * std::ptrdiff_t(i) + std::ptrdiff_t(size));
            }
            gpu.run({.work_items = 64, .work_items_per_group = 64}, sort_runs{}, std::cref(runs))
                .or_throw();
            CHECK(std::ranges::equal(all.host(), right));
          }
    });
  }

  TEST_CASE("sort: runs of any lengths are merged, from both ends") {
    for (std::uint32_t const first : {0U, 1U, 2U, 7U, 100U, 101U})
      for (std::uint32_t const second : {0U, 1U, 3U, 8U, 100U})
        for (std::uint32_t const spread : {1U, 5U, 1'000'000U}) { // many are equal, or few
          auto values = sort::values(first + second, first * 1000 + second);
          for (std::uint32_t& v : values)
            v %= spread;
          auto const middle = values.begin() + first;
          std::sort(values.begin(), middle);
          std::sort(middle, values.end());
          std::vector<std::uint32_t> merged(values.size());
          sort::merge({values.begin(), middle}, {middle, values.end()}, merged);
          CHECK(merged == sort::reference(values));
        }
  }

  TEST_CASE("strassen: seven products are the product, to the bit") {
    for (std::uint32_t const n : {16U, 32U, 128U}) {
      auto const a = strassen::matrix(n, 1);
      auto const b = strassen::matrix(n, 2);
      auto const right = strassen::reference(a, b, n);
      std::vector<float> c(std::size_t{n} * n);
      strassen::add_product_by_strassen({a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n});
      CHECK(c == right);
      CHECK(std::ranges::any_of(c, [](float x) { return x != 0; }));
    }
  }

  TEST_CASE("queens without channels: flattened") {
    with_agents([](auto& gpu) {
      for (std::uint32_t const size : {2U, 4U, 7U})
        CHECK(queens::count_flattened(gpu, size) == queens::reference(size));
      CHECK(queens::count_flattened(gpu, 9) == 352);
    });
  }

  TEST_CASE("sort without channels: bitonic, with lanes apart and side by side") {
    with_agents([](auto& gpu) {
      for (std::size_t const count : {std::size_t{2}, std::size_t{100}, std::size_t{1000}}) {
        auto const values = sort::values(count, 3);
        auto on_gpu = sort::bitonic_values(gpu, values);
        sort::sort_bitonic(gpu, on_gpu);
        CHECK(std::ranges::equal(on_gpu.host().first(count), sort::reference(values)));
      }
    });
  }

  TEST_CASE("strassen without channels: tiles in the LDS") {
    with_agents([](auto& gpu) {
      auto const a = strassen::matrix(64, 1);
      auto const b = strassen::matrix(64, 2);
      std::vector<float> c(a.size());
      auto const a_known = gpu.expose(const_cast<float*>(a.data()), a.size(), "a");
      auto const b_known = gpu.expose(const_cast<float*>(b.data()), b.size(), "b");
      auto const c_known = gpu.expose(c.data(), c.size(), "c");
      strassen::multiply_tiled(gpu, emu::global<float const>(a.data()),
                               emu::global<float const>(b.data()), emu::global<float>(c.data()),
                               64);
      CHECK(c == strassen::reference(a, b, 64));
    });
  }
}
