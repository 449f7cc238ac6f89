// SPDX-License-Identifier: Apache-2.0
// One register's worth of lanes: each operation against the same on its elements.
#include <quarry/emu/native_vector.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

using namespace quarry::emu;

namespace {

template<class T>
constexpr int count = native_vector_bytes / static_cast<int>(sizeof(T));
template<class T>
using part = native_vector<T, count<T>>;
template<class T>
using vector = typename part<T>::type;

/// The bits of a value, by which NaNs and zeros are told apart.
template<class T>
auto bits_of(T x) {
  return std::bit_cast<typename part<T>::integer>(x);
}

template<class T>
std::uint64_t every() {
  return count<T> == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (count<T> % 64)) - 1;
}

/// The values where things go wrong, and random ones.
template<class T>
T a_value(std::mt19937_64& random) {
  using limits = std::numeric_limits<T>;
  std::array<T, 6> const special{T{0},          T{1},          T{2},
                                 limits::min(), limits::max(), static_cast<T>(limits::max() - 1)};
  auto const n = random() % 16;
  if constexpr (std::floating_point<T>) {
    if (n < 6)
      return std::array<T, 6>{
          T{0}, -T{0}, limits::infinity(), -limits::infinity(), T{-1}, limits::quiet_NaN()}[n];
    return static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000) / 8;
  } else {
    if (n < 6)
      return special[n];
    return static_cast<T>(n == 6 ? -1 : random());
  }
}
template<class T>
vector<T> some(std::mt19937_64& random) {
  vector<T> v;
  for (int i = 0; i < count<T>; ++i)
    v[i] = a_value<T>(random);
  return v;
}

template<class T, class F>
void check_each(vector<T> got, F const& expected) {
  for (int i = 0; i < count<T>; ++i) {
    CAPTURE(i);
    T const want = static_cast<T>(expected(i));
    if constexpr (std::floating_point<T>)
      if (std::isnan(want)) {
        REQUIRE(std::isnan(got[i]));
        continue;
      }
    REQUIRE(bits_of<T>(got[i]) == bits_of<T>(want));
  }
}

template<class F>
void rounds(F const& f) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i)
    f(random);
}

template<class T, comparison C, class F>
void check_comparison(vector<T> a, vector<T> b, F const& holds) {
  std::uint64_t expected = 0;
  for (int i = 0; i < count<T>; ++i)
    expected |= std::uint64_t{holds(a[i], b[i])} << i;
  CAPTURE(static_cast<int>(C));
  REQUIRE(part<T>::bits(part<T>::template compare<C>(a, b)) == expected);
}

/// As unsigned, where nothing overflows.
template<class T>
auto wide(T x) {
  if constexpr (std::floating_point<T>)
    return x;
  else
    return static_cast<std::uint64_t>(x);
}

} // namespace

#define EVERY_INTEGER                                                                              \
  std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,             \
      std::int64_t, std::uint64_t
#define EVERY_VALUE EVERY_INTEGER, float, double

TEST_SUITE("emu.native_vector") {
  TEST_CASE_TEMPLATE("a register is as wide as the machine's, with an element for each value", T,
                     EVERY_VALUE) {
    static_assert(part<T>::bytes == native_vector_bytes);
    static_assert(sizeof(vector<T>) == native_vector_bytes);
    static_assert(sizeof(typename part<T>::integer) == sizeof(T));
    check_each<T>(part<T>::iota(), [](int i) { return i; });
    rounds([](std::mt19937_64& random) {
      T const x = a_value<T>(random); // -0.0, too
      check_each<T>(part<T>::broadcast(x), [x](int) { return x; });
    });
  }

  TEST_CASE_TEMPLATE("arithmetic is that of the elements; integers wrap around", T, EVERY_VALUE) {
    rounds([](std::mt19937_64& random) {
      auto const a = some<T>(random), b = some<T>(random);
      check_each<T>(part<T>::add(a, b), [&](int i) { return wide(a[i]) + wide(b[i]); });
      check_each<T>(part<T>::subtract(a, b), [&](int i) { return wide(a[i]) - wide(b[i]); });
      check_each<T>(part<T>::multiply(a, b), [&](int i) { return wide(a[i]) * wide(b[i]); });
      check_each<T>(part<T>::negate(a), [&](int i) { return -wide(a[i]); });
      check_each<T>(part<T>::minimum(a, b), [&](int i) { return b[i] < a[i] ? b[i] : a[i]; });
      check_each<T>(part<T>::maximum(a, b), [&](int i) { return a[i] < b[i] ? b[i] : a[i]; });
      check_each<T>(part<T>::absolute(a), [&](int i) {
        if constexpr (std::floating_point<T>)
          return std::fabs(a[i]);
        else
          return a[i] < 0 ? -wide(a[i]) : wide(a[i]);
      });
      auto const c = some<T>(random);
      check_each<T>(part<T>::fused_multiply_add(a, b, c), [&](int i) {
        if constexpr (std::floating_point<T>)
          return std::fma(a[i], b[i], c[i]);
        else
          return wide(a[i]) * wide(b[i]) + wide(c[i]);
      });
    });
  }

  TEST_CASE_TEMPLATE("a multiplication with an addition rounds once", T, float, double) {
    T const near_one = 1 + std::numeric_limits<T>::epsilon();
    T const minus = -(near_one * near_one);
    auto const v = part<T>::fused_multiply_add(
        part<T>::broadcast(near_one), part<T>::broadcast(near_one), part<T>::broadcast(minus));
    check_each<T>(v, [&](int) { return std::fma(near_one, near_one, minus); });
    CHECK(v[0] != 0);
  }

  TEST_CASE_TEMPLATE("square roots are rounded as one element's is", T, float, double) {
    rounds([](std::mt19937_64& random) {
      auto const a = some<T>(random);
      check_each<T>(part<T>::square_root(a), [&](int i) { return std::sqrt(a[i]); });
    });
  }

  TEST_CASE_TEMPLATE("a safe divisor is 1 where a division would trap, and itself elsewhere", T,
                     EVERY_INTEGER) {
    rounds([](std::mt19937_64& random) {
      auto const a = some<T>(random), b = some<T>(random);
      auto const safe = part<T>::safe_divisor(a, b);
      check_each<T>(safe, [&](int i) {
        bool const overflows = std::is_signed_v<T> && a[i] == std::numeric_limits<T>::min() &&
                               b[i] == static_cast<T>(-1);
        return b[i] == 0 || overflows ? T{1} : b[i];
      });
      check_each<T>(part<T>::divide(a, safe), [&](int i) { return a[i] / safe[i]; });
    });
  }

  TEST_CASE_TEMPLATE("bits are those of the elements; shifts count modulo the width", T,
                     EVERY_INTEGER) {
    constexpr unsigned last = sizeof(T) * 8 - 1;
    rounds([](std::mt19937_64& random) {
      auto const a = some<T>(random), b = some<T>(random);
      check_each<T>(part<T>::bit_and(a, b), [&](int i) { return a[i] & b[i]; });
      check_each<T>(part<T>::bit_or(a, b), [&](int i) { return a[i] | b[i]; });
      check_each<T>(part<T>::bit_xor(a, b), [&](int i) { return a[i] ^ b[i]; });
      check_each<T>(part<T>::shift_left(a, b),
                    [&](int i) { return wide(a[i]) << (wide(b[i]) & last); });
      check_each<T>(part<T>::shift_right(a, b), [&](int i) { return a[i] >> (wide(b[i]) & last); });
      for (int const n : {0, 1, static_cast<int>(last), static_cast<int>(last) + 2}) {
        check_each<T>(part<T>::shift_left_by(a, n),
                      [&](int i) { return wide(a[i]) << (n & last); });
        check_each<T>(part<T>::shift_right_by(a, n), [&](int i) { return a[i] >> (n & last); });
      }
    });
  }

  TEST_CASE_TEMPLATE("comparisons are those of the elements, NaN's too", T, EVERY_VALUE) {
    rounds([](std::mt19937_64& random) {
      auto const a = some<T>(random), b = some<T>(random);
      check_comparison<T, comparison::equal>(a, b, [](T x, T y) { return x == y; });
      check_comparison<T, comparison::less>(a, b, [](T x, T y) { return x < y; });
      check_comparison<T, comparison::less_equal>(a, b, [](T x, T y) { return x <= y; });
      check_comparison<T, comparison::not_equal>(a, b, [](T x, T y) { return x != y; });
      check_comparison<T, comparison::greater_equal>(a, b, [](T x, T y) { return x >= y; });
      check_comparison<T, comparison::greater>(a, b, [](T x, T y) { return x > y; });
    });
  }

  TEST_CASE_TEMPLATE("a mask is its lowest bits, and selects by them", T, EVERY_VALUE) {
    rounds([](std::mt19937_64& random) {
      std::uint64_t const bits = random();
      auto const m = part<T>::from_bits(bits);
      REQUIRE(part<T>::bits(m) == (bits & every<T>()));
      auto const a = some<T>(random), b = some<T>(random);
      check_each<T>(part<T>::select(m, a, b),
                    [&](int i) { return (bits >> i & 1) != 0 ? a[i] : b[i]; });
    });
    CHECK(part<T>::bits(part<T>::from_bits(0)) == 0);
    CHECK(part<T>::bits(part<T>::from_bits(~std::uint64_t{0})) == every<T>());
  }

  TEST_CASE_TEMPLATE("compressed, the elements of a mask stand next to each other, then zeros", T,
                     EVERY_VALUE) {
    rounds([](std::mt19937_64& random) {
      auto const v = some<T>(random);
      std::uint64_t const bits = random() & every<T>();
      std::array<T, count<T> + 2> out;
      out.fill(T{77});
      int const n = part<T>::compress(&out[1], v, bits);
      REQUIRE(n == std::popcount(bits));
      std::array<T, count<T> + 2> expected{};
      expected.front() = expected.back() = T{77}; // not touched
      int next = 1;
      for (int i = 0; i < count<T>; ++i)
        if ((bits >> i & 1) != 0)
          expected[static_cast<std::size_t>(next++)] = v[i];
      for (std::size_t i = 0; i < out.size(); ++i)
        REQUIRE(bits_of<T>(out[i]) == bits_of<T>(expected[i]));
    });
  }

  TEST_CASE_TEMPLATE("a permutation looks up in two registers, modulo their elements", T,
                     EVERY_VALUE) {
    if constexpr (part<T>::permutes)
      rounds([](std::mt19937_64& random) {
        auto const a = some<T>(random), b = some<T>(random);
        using integer = typename part<T>::integer;
        typename part<T>::integer_type index;
        for (int i = 0; i < count<T>; ++i)
          index[i] = static_cast<integer>(random());
        check_each<T>(part<T>::permute(a, b, index), [&](int i) {
          int const from = static_cast<int>(wide(index[i]) % (2 * count<T>));
          return from < count<T> ? a[from] : b[from - count<T>];
        });
      });
    else // nobody takes it for there
      CHECK_FALSE(
          requires(vector<T> v, typename part<T>::integer_type i) { part<T>::permute(v, v, i); });
  }
}
