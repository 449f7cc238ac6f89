// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lanes.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>

using namespace quarry::emu;

namespace {

/// All comparisons of lanes with a number agree with those of each lane's value.
template<class T, class N>
void check_wide_comparisons(lanes<T, 32> const& v, N n) {
  lane_mask less, less_equal, equal;
  for (int l = 0; l < 32; ++l) {
    if (std::cmp_less(v[l], n))
      less.set(l);
    if (std::cmp_less_equal(v[l], n))
      less_equal.set(l);
    if (std::cmp_equal(v[l], n))
      equal.set(l);
  }
  lane_mask const all = lane_mask::all(32);
  CAPTURE(n);
  CHECK((v < n).bits() == less);
  CHECK((v <= n).bits() == less_equal);
  CHECK((v > n).bits() == all.without(less_equal));
  CHECK((v >= n).bits() == all.without(less));
  CHECK((v == n).bits() == equal);
  CHECK((v != n).bits() == all.without(equal));
  CHECK((n > v).bits() == less);
  CHECK((n >= v).bits() == less_equal);
  CHECK((n < v).bits() == all.without(less_equal));
  CHECK((n <= v).bits() == all.without(less));
  CHECK((n == v).bits() == equal);
  CHECK((n != v).bits() == all.without(equal));
}

template<class T, int N>
struct shape {
  using value = T;
  static constexpr int size = N;
};

// Small numbers, zeros, and the extremes.
template<class T, int N>
lanes<T, N> arbitrary(unsigned seed) {
  std::mt19937_64 random(seed);
  return lanes<T, N>::generate([&](int) {
    auto const bits = random();
    if constexpr (std::floating_point<T>)
      return static_cast<T>(static_cast<int>(bits % 2001) - 1000) / T{8};
    else if (bits % 8 == 0)
      return std::numeric_limits<T>::min();
    else if (bits % 8 == 1)
      return std::numeric_limits<T>::max();
    else if (bits % 8 < 5)
      return static_cast<T>(bits >> 8);
    else
      return static_cast<T>(static_cast<int>((bits >> 8) % 9) - 4);
  });
}

// What C++ would give if signed integers wrapped.
template<class T, class F>
T wrapped(T a, T b, F f) {
  if constexpr (std::integral<T>) {
    using wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return static_cast<T>(f(static_cast<wide>(a), static_cast<wide>(b)));
  } else {
    return f(a, b);
  }
}

template<class T, int N, class F>
void check_each(lanes<T, N> const& got, F expected) {
  for (int i = 0; i < N; ++i) {
    CAPTURE(i);
    REQUIRE(got[i] == expected(i));
  }
}

template<int N, class P, class F>
void check_predicate(P const& got, F expected) {
  lane_mask const bits = got.bits();
  for (int i = 0; i < N; ++i) {
    CAPTURE(i);
    REQUIRE(bits.test(i) == expected(i));
    REQUIRE(got[i] == expected(i));
  }
  CHECK(lane_mask::all(N).includes(bits));
}

} // namespace

// Every type, and 32 lanes where they lie in registers differently; more costs minutes of sanitizer
// builds.
#define EVERY_SHAPE                                                                                \
  shape<std::int8_t, 64>, shape<std::uint8_t, 64>, shape<std::int16_t, 64>,                        \
      shape<std::uint16_t, 64>, shape<std::int32_t, 64>, shape<std::uint32_t, 64>,                 \
      shape<std::int64_t, 64>, shape<std::uint64_t, 64>, shape<float, 64>, shape<double, 64>,      \
      shape<std::int8_t, 32>, shape<std::uint16_t, 32>, shape<float, 32>

TEST_SUITE("emu.lanes") {
  TEST_CASE_TEMPLATE("a number stands for every lane, {} for zeros, iota for a ramp", S,
                     EVERY_SHAPE) {
    using T = typename S::value;
    using L = lanes<T, S::size>;
    static_assert(std::is_trivially_copyable_v<L>);
    static_assert(sizeof(L) == S::size * sizeof(T));
    check_each(L(T{7}), [](int) { return T{7}; });
    check_each(L{}, [](int) { return T{0}; });
    check_each(L::iota(T{3}, T{2}), [](int i) { return static_cast<T>(3 + 2 * i); });
    check_each(L::generate([](int i) { return static_cast<T>(i); }),
               [](int i) { return static_cast<T>(i); });
  }

  TEST_CASE_TEMPLATE("arithmetic acts lane by lane and wraps around", S, EVERY_SHAPE) {
    using T = typename S::value;
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto const a = arbitrary<T, S::size>(seed);
      auto const b = arbitrary<T, S::size>(seed + 100);
      check_each(a + b, [&](int i) { return wrapped(a[i], b[i], std::plus<>{}); });
      check_each(a - b, [&](int i) { return wrapped(a[i], b[i], std::minus<>{}); });
      check_each(a * b, [&](int i) { return wrapped(a[i], b[i], std::multiplies<>{}); });
      check_each(-a, [&](int i) { return wrapped(T{0}, a[i], std::minus<>{}); });
      check_each(T{3} - a, [&](int i) { return wrapped(T{3}, a[i], std::minus<>{}); });
      check_each(a * 2, [&](int i) { return wrapped(a[i], T{2}, std::multiplies<>{}); });
      auto c = a;
      c += b;
      c *= a;
      c -= 1;
      check_each(c, [&](int i) {
        T const sum = wrapped(a[i], b[i], std::plus<>{});
        return wrapped(wrapped(sum, a[i], std::multiplies<>{}), T{1}, std::minus<>{});
      });
    }
  }

  TEST_CASE_TEMPLATE("division acts lane by lane; no integer lane traps", S, EVERY_SHAPE) {
    using T = typename S::value;
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto const a = arbitrary<T, S::size>(seed);
      auto const b = arbitrary<T, S::size>(seed + 100);
      if constexpr (std::floating_point<T>) {
        auto const d = select(b == T{0}, decltype(b)(T{1}), b);
        check_each(a / d, [&](int i) { return a[i] / d[i]; });
      } else {
        auto const traps = [&](int i) {
          return b[i] == 0 || (std::is_signed_v<T> && a[i] == std::numeric_limits<T>::min() &&
                               b[i] == static_cast<T>(-1));
        };
        check_each(a / b, [&](int i) { return traps(i) ? a[i] : static_cast<T>(a[i] / b[i]); });
        check_each(a % b, [&](int i) {
          return b[i] == 0 ? a[i] : traps(i) ? T{0} : static_cast<T>(a[i] % b[i]);
        });
        check_each(a / 7, [&](int i) { return static_cast<T>(a[i] / T{7}); });
        check_each(a % 10, [&](int i) { return static_cast<T>(a[i] % T{10}); });
      }
    }
  }

  TEST_CASE_TEMPLATE("bit operations and shifts act lane by lane; counts are modulo the width", S,
                     EVERY_SHAPE) {
    using T = typename S::value;
    if constexpr (std::integral<T>) {
      constexpr int width = sizeof(T) * 8;
      for (unsigned seed = 0; seed < 20; ++seed) {
        auto const a = arbitrary<T, S::size>(seed);
        auto const b = arbitrary<T, S::size>(seed + 100);
        check_each(a & b, [&](int i) { return static_cast<T>(a[i] & b[i]); });
        check_each(a | b, [&](int i) { return static_cast<T>(a[i] | b[i]); });
        check_each(a ^ b, [&](int i) { return static_cast<T>(a[i] ^ b[i]); });
        check_each(~a, [&](int i) { return static_cast<T>(~a[i]); });
        auto const left = [&](int i, int n) {
          return static_cast<T>(static_cast<std::uint64_t>(a[i]) << (n & (width - 1)));
        };
        auto const right = [&](int i, int n) { return static_cast<T>(a[i] >> (n & (width - 1))); };
        check_each(a << b, [&](int i) { return left(i, static_cast<int>(b[i])); });
        check_each(a >> b, [&](int i) { return right(i, static_cast<int>(b[i])); });
        check_each(a << 3, [&](int i) { return left(i, 3); });
        check_each(a >> (width + 1), [&](int i) { return right(i, 1); });
      }
    }
  }

  TEST_CASE_TEMPLATE("min, max and abs act lane by lane", S, EVERY_SHAPE) {
    using T = typename S::value;
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto const a = arbitrary<T, S::size>(seed);
      auto const b = arbitrary<T, S::size>(seed + 100);
      check_each(min(a, b), [&](int i) { return b[i] < a[i] ? b[i] : a[i]; });
      check_each(max(a, b), [&](int i) { return a[i] < b[i] ? b[i] : a[i]; });
      check_each(max(a, T{1}), [&](int i) { return a[i] < T{1} ? T{1} : a[i]; });
      check_each(abs(a),
                 [&](int i) { return a[i] < T{0} ? wrapped(T{0}, a[i], std::minus<>{}) : a[i]; });
    }
  }

  TEST_CASE("abs and broadcast treat negative zero as a float should") {
    auto const minus = lanes<float, 64>(-0.0F);
    CHECK(std::signbit(minus[0]));
    CHECK_FALSE(std::signbit(abs(minus)[0]));
    CHECK(std::signbit((-lanes<float, 64>(0.0F))[63]));
  }

  TEST_CASE_TEMPLATE("fma rounds once, sqrt as the library", S, shape<float, 64>, shape<double, 64>,
                     shape<float, 32>, shape<double, 32>) {
    using T = typename S::value;
    std::mt19937_64 random(11);
    std::uniform_real_distribution<T> number(T{0.5}, T{2});
    auto const draw = [&](int) { return number(random); };
    bool differs = false;
    for (int round = 0; round < 20; ++round) {
      auto const a = lanes<T, S::size>::generate(draw);
      auto const b = lanes<T, S::size>::generate(draw);
      auto const c = -(a * b);
      check_each(fma(a, b, c), [&](int i) { return std::fma(a[i], b[i], c[i]); });
      check_each(sqrt(a), [&](int i) { return std::sqrt(a[i]); });
      differs = differs || (fma(a, b, c) != T{0}).bits().any();
    }
    CHECK(differs); // an unfused one would give 0 in every lane
  }
}

TEST_SUITE("emu.lane_predicate") {
  TEST_CASE_TEMPLATE("comparisons give the lanes where they hold", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto const a = arbitrary<T, n>(seed);
      auto const b = select(arbitrary<T, n>(seed + 50) < T{5}, a, arbitrary<T, n>(seed + 100));
      check_predicate<n>(a == b, [&](int i) { return a[i] == b[i]; });
      check_predicate<n>(a != b, [&](int i) { return a[i] != b[i]; });
      check_predicate<n>(a < b, [&](int i) { return a[i] < b[i]; });
      check_predicate<n>(a <= b, [&](int i) { return a[i] <= b[i]; });
      check_predicate<n>(a > b, [&](int i) { return a[i] > b[i]; });
      check_predicate<n>(a >= b, [&](int i) { return a[i] >= b[i]; });
      check_predicate<n>(T{2} < a, [&](int i) { return T{2} < a[i]; });
      check_predicate<n>((a < b) & !(a < T{0}), [&](int i) { return a[i] < b[i] && !(a[i] < 0); });
      check_predicate<n>((a < b) | (a < T{1}), [&](int i) { return a[i] < b[i] || a[i] < T{1}; });
      check_predicate<n>((a < b) ^ (a < T{1}),
                         [&](int i) { return (a[i] < b[i]) != (a[i] < T{1}); });
    }
  }

  TEST_CASE_TEMPLATE("a NaN is unequal to everything and not less", S, shape<float, 64>,
                     shape<double, 32>) {
    using T = typename S::value;
    constexpr int n = S::size;
    auto const nan = lanes<T, n>(std::numeric_limits<T>::quiet_NaN());
    CHECK((nan == nan).bits().empty());
    CHECK((nan != nan).bits().is_full(n));
    CHECK(((nan < T{1}) | (nan >= T{1}) | (nan <= nan) | (nan > T{0})).bits().empty());
    check_each(min(lanes<T, n>(T{1}), nan), [](int) { return T{1}; });
    check_each(max(lanes<T, n>(T{1}), nan), [](int) { return T{1}; });
  }

  TEST_CASE_TEMPLATE("a predicate and a lane mask say the same", S, EVERY_SHAPE) {
    using T = typename S::value;
    std::mt19937_64 random(7);
    for (int round = 0; round < 50; ++round) {
      lane_mask const m(random());
      lane_predicate<T, S::size> const p(m);
      CHECK(p.bits() == (m & lane_mask::all(S::size)));
      CHECK((!p).bits() == lane_mask::all(S::size).without(m));
      CHECK(lane_predicate<std::int8_t, S::size>(p).bits() == p.bits());
      CHECK(lane_predicate<double, S::size>(p).bits() == p.bits());
    }
  }

  TEST_CASE("predicates of different widths meet as a lane mask") {
    auto const small = lanes<std::int8_t, 64>::iota();
    auto const large = lanes<double, 64>::iota();
    auto const both = (small >= 10) & (large < 20);
    static_assert(std::same_as<decltype(both), lane_mask const>);
    CHECK(both == (lane_mask::first_n(20).without(lane_mask::first_n(10))));
    CHECK(((small < 3) | (large >= 62)).count() == 5);
    auto const same = (lanes<float, 64>::iota() < 9) & (lanes<int, 64>::iota() >= 3);
    static_assert(std::same_as<decltype(same), lane_predicate<float, 64> const>);
    CHECK(same.bits().count() == 6);
    CHECK((lane_mask::first_n(5) & (small > 2)).count() == 2);
  }
}

TEST_SUITE("emu.lane_select") {
  TEST_CASE_TEMPLATE("select takes the first where the condition holds", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    std::mt19937_64 random(3);
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto const a = arbitrary<T, n>(seed);
      auto const b = arbitrary<T, n>(seed + 100);
      auto const other = arbitrary<std::int16_t, n>(seed);
      lane_mask const m(random());
      check_each(select(m, a, b), [&](int i) { return m.test(i) ? a[i] : b[i]; });
      check_each(select(m, a, T{1}), [&](int i) { return m.test(i) ? a[i] : T{1}; });
      check_each(select(m, T{1}, b), [&](int i) { return m.test(i) ? T{1} : b[i]; });
      check_each(select(a < b, a, b), [&](int i) { return a[i] < b[i] ? a[i] : b[i]; });
      check_each(select(other > 0, a, b), [&](int i) { return other[i] > 0 ? a[i] : b[i]; });
      check_each(a.with(5, T{9}), [&](int i) { return i == 5 ? T{9} : a[i]; });
      auto c = a;
      c.set(n - 1, T{4});
      check_each(c, [&](int i) { return i == n - 1 ? T{4} : a[i]; });
    }
  }
}

TEST_SUITE("emu.lane_conversion") {
  TEST_CASE_TEMPLATE("convert is a static_cast of every lane", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    auto const v = lanes<T, n>::generate([](int i) { return static_cast<T>(2 * i - (i % 3)); });
    auto const to = [&]<class U>(U) {
      auto const u = convert<U>(v);
      static_assert(std::same_as<decltype(u), lanes<U, n> const>);
      check_each(u, [&](int i) { return static_cast<U>(v[i]); });
    };
    to(std::int8_t{});
    to(std::uint8_t{});
    to(std::int16_t{});
    to(std::uint16_t{});
    to(std::int32_t{});
    to(std::uint32_t{});
    to(std::int64_t{});
    to(std::uint64_t{});
    to(float{});
    to(double{});
  }

  TEST_CASE("convert extends the sign and truncates towards zero") {
    CHECK(convert<std::int64_t>(lanes<std::int8_t, 64>(-5))[40] == -5);
    CHECK(convert<std::uint64_t>(lanes<std::uint8_t, 32>(250))[31] == 250);
    CHECK(convert<std::int32_t>(lanes<double, 64>(-2.75))[63] == -2);
    CHECK(convert<float>(lanes<std::int32_t, 64>(-3))[1] == -3.0F);
  }

  TEST_CASE("reinterpret keeps the bits") {
    auto const bits = reinterpret<std::uint32_t>(lanes<float, 64>(1.0F));
    CHECK((bits == 0x3f80'0000U).bits().is_full(64));
    CHECK(reinterpret<double>(lanes<std::int64_t, 32>(0x4000'0000'0000'0000))[31] == 2.0);
  }

  TEST_CASE("a fraction does not become an integer unasked") {
    static_assert(std::is_convertible_v<int, lanes<float, 64>>);
    static_assert(std::is_convertible_v<double, lanes<float, 64>>);
    static_assert(!std::is_convertible_v<double, lanes<int, 64>>);
    static_assert(!std::is_convertible_v<lanes<int, 64>, lanes<float, 64>>);
  }
}

TEST_SUITE("emu.lane_comparison") {
  TEST_CASE("a number of another type is compared as the number that it is") {
    for (std::int64_t const n :
         {std::int64_t{-1} << 40, std::int64_t{-1}, std::int64_t{0}, std::int64_t{5},
          std::int64_t{1} << 31, (std::int64_t{1} << 32) - 1, (std::int64_t{1} << 32) + 5}) {
      check_wide_comparisons(lanes<std::int32_t, 32>::iota(-3), n);
      check_wide_comparisons(lanes<std::uint32_t, 32>::iota(~0U - 3), n);
      check_wide_comparisons(lanes<std::int32_t, 32>::iota(-3), static_cast<std::uint64_t>(n));
      check_wide_comparisons(lanes<std::uint32_t, 32>::iota(0), static_cast<std::uint64_t>(n));
    }
    for (int const n : {-200, -1, 0, 7, 200, 255, 256, 70000}) {
      check_wide_comparisons(lanes<std::int8_t, 32>::iota(-128, 8), n);
      check_wide_comparisons(lanes<std::uint8_t, 32>::iota(0, 8), n);
      check_wide_comparisons(lanes<std::uint16_t, 32>::iota(0, 3000), n);
      check_wide_comparisons(lanes<std::uint32_t, 32>::iota(~0U - 10), n);
      check_wide_comparisons(lanes<std::int32_t, 32>::iota(-10), static_cast<unsigned>(n));
      check_wide_comparisons(lanes<std::uint64_t, 32>::iota(~std::uint64_t{0} - 10), n);
      check_wide_comparisons(lanes<std::uint64_t, 32>::iota(0), static_cast<std::int64_t>(n));
      check_wide_comparisons(lanes<std::int64_t, 32>::iota(-10), static_cast<std::uint64_t>(n));
    }
  }
}
