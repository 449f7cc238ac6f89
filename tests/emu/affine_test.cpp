// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/affine.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

using namespace quarry::emu;

namespace {

using linear = linear_index<std::int32_t, 64>;
template<int N>
using constant = std::integral_constant<int, N>;

// The definition, lane by lane.
template<class I, int W, int S, int Size>
std::int64_t value(affine<I, W, S, Size> a, int l) {
  return a.base() + S * (l % W) + std::int64_t{a.row()} * (l / W);
}

template<class A, class F>
void check_each(A a, F expected) {
  auto const values = a.to_lanes();
  for (int l = 0; l < A::size; ++l) {
    CAPTURE(l);
    REQUIRE(a[l] == expected(l));
    REQUIRE(values[l] == expected(l));
  }
}

template<class A, class N>
void check_comparisons(A a, N n) {
  CAPTURE(n);
  auto const v = a.to_lanes();
  for (int l = 0; l < A::size; ++l) {
    CAPTURE(l);
    REQUIRE((a < n).test(l) == std::cmp_less(v[l], n));
    REQUIRE((a <= n).test(l) == std::cmp_less_equal(v[l], n));
    REQUIRE((a > n).test(l) == std::cmp_greater(v[l], n));
    REQUIRE((a >= n).test(l) == std::cmp_greater_equal(v[l], n));
    REQUIRE((a == n).test(l) == std::cmp_equal(v[l], n));
    REQUIRE((a != n).test(l) == std::cmp_not_equal(v[l], n));
    REQUIRE((n < a).test(l) == std::cmp_less(n, v[l]));
    REQUIRE((n <= a).test(l) == std::cmp_less_equal(n, v[l]));
    REQUIRE((n > a).test(l) == std::cmp_greater(n, v[l]));
    REQUIRE((n >= a).test(l) == std::cmp_greater_equal(n, v[l]));
    REQUIRE((n == a).test(l) == std::cmp_equal(n, v[l]));
    REQUIRE((n != a).test(l) == std::cmp_not_equal(n, v[l]));
  }
  CHECK(lane_mask::all(A::size).includes((a < n) | (a >= n) | (a != n)));
}

} // namespace

TEST_SUITE("emu.affine") {
  TEST_CASE("the lanes of every width and step have the values of the definition") {
    check_each(linear(7), [](int l) { return 7 + l; });
    check_each(uniform_index<std::int32_t, 32>(-4), [](int) { return -4; });
    check_each(row_broadcast<std::int32_t, 16, 64>(3, 10), [](int l) { return 3 + 10 * (l / 16); });
    check_each(tile_row<std::int32_t, 16, 64>(3, 10),
               [](int l) { return 3 + l % 16 + 10 * (l / 16); });
    check_each(tile_row<std::int64_t, 8, 32>(3, 10),
               [](int l) { return 3 + l % 8 + 10 * (l / 8); });
    check_each(affine<std::int32_t, 4, 3, 64>(1, -9),
               [](int l) { return 1 + 3 * (l % 4) - 9 * (l / 4); });
    check_each(affine<std::int64_t, 2, -2, 64>(1, 5),
               [](int l) { return 1 - 2 * (l % 2) + 5 * (l / 2); });
    check_each(affine<std::int32_t, 1, 0, 64>(1, 5), [](int l) { return 1 + 5 * l; });
  }

  TEST_CASE("with arbitrary lanes an index gives lanes, and converts when asked") {
    auto const v = lanes<std::int32_t, 64>::iota(100, 3);
    auto const sum = linear(2) + v;
    auto const difference = v - linear(2);
    auto const product = linear(2) * v;
    auto const as_float = linear(2).to_lanes<float>();
    static_assert(std::is_same_v<decltype(as_float), lanes<float, 64> const>);
    for (int l = 0; l < 64; ++l) {
      CHECK(sum[l] == 102 + 4 * l);
      CHECK(difference[l] == 98 + 2 * l);
      CHECK(product[l] == (2 + l) * (100 + 3 * l));
      CHECK(as_float[l] == static_cast<float>(2 + l));
      CHECK(as_lanes(linear(2))[l] == 2 + l);
    }
  }

  TEST_CASE("indices are constants") {
    constexpr auto at = row_broadcast<std::int32_t, 16, 64>(0, 1) * constant<16>{} + 3;
    static_assert(at[40] == 35);
    static_assert((linear(0) < 3).count() == 3);
  }
}

TEST_SUITE("emu.affine_arithmetic") {
  TEST_CASE("an index moves by numbers, and widens for a wide one") {
    tile_row<std::int32_t, 16, 64> const a(3, 100);
    check_each(a + 5, [&](int l) { return value(a, l) + 5; });
    check_each(5 + a, [&](int l) { return value(a, l) + 5; });
    check_each(a - 5, [&](int l) { return value(a, l) - 5; });
    check_each(5 - a, [&](int l) { return 5 - value(a, l); });
    check_each(-a, [&](int l) { return -value(a, l); });
    static_assert(std::is_same_v<decltype(a + 1)::value_type, std::int32_t>);
    static_assert(std::is_same_v<decltype(a + std::size_t{1})::value_type, std::int64_t>);
    check_each(a + (std::int64_t{1} << 40),
               [&](int l) { return value(a, l) + (std::int64_t{1} << 40); });
    linear_index<std::int64_t, 64> const wide = linear(3);
    CHECK(wide[1] == 4);
  }

  TEST_CASE("indices of the same width add; a linear or a uniform one goes with every width") {
    row_broadcast<std::int32_t, 16, 64> const row(2, 1);
    tile_row<std::int32_t, 16, 64> const column(5, 0);
    auto const at = row * constant<20>{} + column;
    static_assert(std::is_same_v<decltype(at), tile_row<std::int32_t, 16, 64> const>);
    check_each(at, [&](int l) { return 20 * value(row, l) + value(column, l); });
    check_each(column - row, [&](int l) { return value(column, l) - value(row, l); });
    check_each(linear(4) + row, [&](int l) { return 4 + l + value(row, l); });
    check_each(row - linear(4), [&](int l) { return value(row, l) - 4 - l; });
    check_each(uniform_index<std::int32_t, 64>(9) + column,
               [&](int l) { return 9 + value(column, l); });
    check_each(linear(4) + linear(5), [](int l) { return 9 + 2 * l; });
    static_assert(std::is_same_v<decltype(linear(1) - linear(1)), uniform_index<std::int32_t, 64>>);
    check_each(linear(4) + row_broadcast<std::int64_t, 8, 64>(1, 2),
               [](int l) { return 4 + l + 1 + 2 * (l / 8); });
  }

  TEST_CASE("scaling is by a constant, or by any number where a row's lanes are alike") {
    int const pitch = 37;
    row_broadcast<std::int32_t, 8, 64> const row(2, 1);
    check_each(row * pitch, [&](int l) { return pitch * value(row, l); });
    check_each(pitch * row, [&](int l) { return pitch * value(row, l); });
    check_each(linear(3) * constant<4>{}, [](int l) { return 4 * (3 + l); });
    check_each(constant<-2>{} * linear(3), [](int l) { return -2 * (3 + l); });
    check_each(tile_row<std::int32_t, 16, 64>(1, 7) * constant<3>{},
               [](int l) { return 3 * (1 + l % 16 + 7 * (l / 16)); });
  }
}

TEST_SUITE("emu.affine_comparison") {
  TEST_CASE("a linear index compares to a prefix of the lanes") {
    CHECK((linear(0) < 10) == lane_mask::first_n(10));
    CHECK((linear(128) < 130U) == lane_mask::first_n(2));
    CHECK((linear(128) >= 130) == lane_mask::all(64).without(lane_mask::first_n(2)));
    CHECK((linear_index<std::int32_t, 32>(0) < 1000) == lane_mask::all(32));
    CHECK((linear(5) == 7) == lane_mask::only(2));
  }

  TEST_CASE("comparisons agree with the lanes, whatever the shape and the signedness") {
    for (int n : {-100, -6, -5, -4, 0, 1, 3, 17, 58, 59, 60, 100, 1000}) {
      check_comparisons(linear(-5), n);
      check_comparisons(linear_index<std::int64_t, 32>(-5), static_cast<std::int8_t>(n));
      check_comparisons(row_broadcast<std::int32_t, 16, 64>(-5, 3), n);
      check_comparisons(tile_row<std::int32_t, 8, 64>(-5, 2), n);
      check_comparisons(affine<std::int32_t, 8, -3, 32>(20, 5), n);
      check_comparisons(uniform_index<std::int32_t, 64>(17), n);
      check_comparisons(linear(-5), static_cast<std::uint32_t>(n));
      check_comparisons(linear(3), static_cast<std::size_t>(n));
    }
    check_comparisons(linear(3), std::numeric_limits<std::int64_t>::max());
    check_comparisons(linear(3), std::numeric_limits<std::int64_t>::min());
    check_comparisons(linear(3), std::numeric_limits<std::uint64_t>::max());
    check_comparisons(linear(3), std::numeric_limits<std::int32_t>::max());
    for (std::uint64_t const n :
         {std::uint64_t{1} << 63, ~std::uint64_t{0} - 60, ~std::uint64_t{0}})
      for (int const base : {-100, -5, 0, 3}) {
        check_comparisons(linear(base), n);
        check_comparisons(tile_row<std::int64_t, 8, 64>(base, -2), n);
      }
  }
}
