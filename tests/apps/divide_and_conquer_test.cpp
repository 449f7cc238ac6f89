// SPDX-License-Identifier: Apache-2.0
// The programs of the thesis's chapter 4 without channels: serial answers, and what they rest on.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fibonacci/reference.hpp>
#include <queens/reference.hpp>
#include <sort/reference.hpp>
#include <strassen/reference.hpp>
#include <vector>

using namespace quarry;

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
    for (std::size_t const count : {0, 1, 64, 65, 66, 67, 256, 1000, 4099}) {
      auto values = sort::values(count, 7);
      auto const right = sort::reference(values);
      std::vector<std::uint32_t> spare(count);
      sort::sort_serially(values, spare);
      CHECK(values == right);
    }
    CHECK(sort::values(100, 1) != sort::values(100, 2));
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
}
