// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lane_algorithms.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace quarry::emu;

namespace {

template<class T, int N>
struct shape {
  using value = T;
  static constexpr int size = N;
};

template<class T, int N>
lanes<T, N> arbitrary(unsigned seed) {
  std::mt19937_64 random(seed);
  return lanes<T, N>::generate([&](int) {
    if constexpr (std::floating_point<T>)
      return static_cast<T>(static_cast<double>(random() % 1'000'003) / 977.0 - 300.0);
    else
      return static_cast<T>(random());
  });
}

std::vector<lane_mask> some_masks(unsigned seed) {
  std::mt19937_64 random(seed);
  return {lane_mask::none(),   lane_mask::all(64),     lane_mask::only(0),  lane_mask::only(31),
          lane_mask::only(63), lane_mask::first_n(17), lane_mask(random()), lane_mask(random())};
}

// The documented order, in scalars.
template<class T, int N, class Op>
T reduced_by_halves(lanes<T, N> const& v, Op op, lane_mask active) {
  std::vector<T> values;
  for (int l = 0; l < N; ++l)
    values.push_back(active.test(l) ? v[l] : Op::template identity<T>());
  for (std::size_t half = N / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l)
      values[l] = static_cast<T>(op(values[l], values[l + half]));
  return values[0];
}

template<class T, int N>
std::vector<T> sums_by_doubling(lanes<T, N> const& v, lane_mask active) {
  std::vector<T> values;
  for (int l = 0; l < N; ++l)
    values.push_back(active.test(l) ? v[l] : T{0});
  for (int distance = 1; distance < N; distance *= 2)
    for (int l = N - 1; l >= 0; --l) {
      auto const i = static_cast<std::size_t>(l);
      values[i] =
          plus{}(values[i], l >= distance ? values[i - static_cast<std::size_t>(distance)] : T{0});
    }
  return values;
}

template<class T, int N, class Op>
void check_reduce(Op op) {
  for (unsigned seed = 0; seed < 10; ++seed)
    for (lane_mask const active : some_masks(seed)) {
      CAPTURE(active.bits());
      auto const v = arbitrary<T, N>(seed);
      REQUIRE(reduce(v, op, active) == reduced_by_halves(v, op, active));
    }
}

// A reduction that knows numbers only.
struct greatest_common_divisor {
  template<class T>
  static constexpr T identity() {
    return T{0};
  }
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    while (b != 0) {
      auto const rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
};

} // namespace

#define EVERY_SHAPE                                                                                \
  shape<std::int8_t, 64>, shape<std::uint16_t, 64>, shape<std::int32_t, 64>,                       \
      shape<std::uint64_t, 64>, shape<float, 64>, shape<double, 64>, shape<std::uint8_t, 32>,      \
      shape<std::int16_t, 32>, shape<std::int64_t, 32>, shape<float, 32>

TEST_SUITE("emu.lane_algorithms") {
  TEST_CASE_TEMPLATE("a reduction is over the active lanes, in the documented order", S,
                     EVERY_SHAPE) {
    using T = typename S::value;
    check_reduce<T, S::size>(plus{});
    check_reduce<T, S::size>(minimum{});
    check_reduce<T, S::size>(maximum{});
    if constexpr (std::integral<T>) {
      check_reduce<T, S::size>(bit_and{});
      check_reduce<T, S::size>(bit_or{});
      check_reduce<T, S::size>(bit_xor{});
    }
  }

  TEST_CASE("the order of a float sum is seen in its rounding") {
    // 2^24 + 1 is no float: lanes 0 and 32 meet first, then 16 apart.
    auto const v = lanes<float, 64>(0.0F).with(0, 0x1p24F).with(32, 1.0F).with(16, 1.0F);
    CHECK(reduce(v, plus{}, lane_mask::all(64)) == 0x1p24F);
    auto const w = lanes<float, 64>(0.0F).with(0, 0x1p24F).with(16, 1.0F).with(48, 1.0F);
    CHECK(reduce(w, plus{}, lane_mask::all(64)) == 0x1p24F + 2.0F);
  }

  TEST_CASE("a float sum is the same to the last bit on every machine") {
    auto const v = lanes<float, 64>::generate(
        [](int l) { return 1.0F / static_cast<float>(l * l + 1) * (l % 3 == 0 ? -1.0F : 1.0F); });
    CHECK(std::bit_cast<std::uint32_t>(reduce(v, plus{}, lane_mask::all(64))) == 0xbe8a46d1U);
    CHECK(std::bit_cast<std::uint32_t>(reduce(v, plus{}, lane_mask::first_n(41))) == 0xbe8bb8aeU);
  }

  TEST_CASE("a sum of -0 alone is +0, whoever is active") {
    auto const is_plus_zero = []<int N>(lanes<float, N> const& v, lane_mask active) {
      return std::bit_cast<std::uint32_t>(reduce(v, plus{}, active)) == 0;
    };
    for (int const active : {0, 1, 31, 32})
      CHECK(is_plus_zero(lanes<float, 32>(-0.0F), lane_mask::first_n(active)));
    for (int const active : {0, 32, 63, 64})
      CHECK(is_plus_zero(lanes<float, 64>(-0.0F), lane_mask::first_n(active)));
  }

  TEST_CASE("no active lane gives the identity") {
    CHECK(reduce(lanes<int, 64>(5), plus{}, lane_mask::none()) == 0);
    CHECK(reduce(lanes<int, 64>(5), minimum{}, lane_mask::none()) ==
          std::numeric_limits<int>::max());
    CHECK(reduce(lanes<float, 64>(5), maximum{}, lane_mask::none()) ==
          -std::numeric_limits<float>::infinity());
    CHECK(reduce(lanes<std::uint8_t, 32>(5), bit_and{}, lane_mask::none()) == 255);
  }

  TEST_CASE("a reduction that knows numbers only goes lane by lane") {
    auto const v = lanes<std::uint32_t, 64>::iota(12, 18);
    CHECK(reduce(v, greatest_common_divisor{}, lane_mask::all(64)) == 6);
    CHECK(reduce(v, greatest_common_divisor{}, lane_mask::only(2)) == 48);
  }

  TEST_CASE_TEMPLATE("a prefix sum is exclusive, and leaves inactive lanes out", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    for (unsigned seed = 0; seed < 10; ++seed)
      for (lane_mask const active : some_masks(seed)) {
        CAPTURE(active.bits());
        auto const v = arbitrary<T, n>(seed);
        auto const expected = sums_by_doubling(v, active);
        T total;
        auto const sums = exclusive_prefix_sum(v, active, total);
        for (int l = 0; l < n; ++l) {
          CAPTURE(l);
          T const before = l == 0 ? T{0} : expected[static_cast<std::size_t>(l - 1)];
          REQUIRE(sums[l] == (active.test(l) ? before : T{0}));
        }
        REQUIRE(total == expected.back());
        REQUIRE((exclusive_prefix_sum(v, active) == sums).bits().is_full(n));
      }
  }

  TEST_CASE("prefix sums of ones are ranks") {
    lane_mask const active(0xf0f0'1234'5678'9abc);
    int total = 0;
    auto const slots = exclusive_prefix_sum(lanes<int, 64>(1), active, total);
    active.for_each([&](int l) { CHECK(slots[l] == active.rank(l)); });
    CHECK(total == active.count());
  }

  TEST_CASE_TEMPLATE("shuffles move values between lanes", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    std::mt19937 random(9);
    auto const v = arbitrary<T, n>(1);
    for (int round = 0; round < 10; ++round) {
      auto const source =
          lanes<std::int32_t, n>::generate([&](int) { return static_cast<int>(random() % n); });
      auto const shuffled = shuffle(v, source);
      for (int l = 0; l < n; ++l)
        REQUIRE(shuffled[l] == v[source[l]]);
    }
    for (int delta = 0; delta <= n; ++delta) {
      CAPTURE(delta);
      auto const down = shuffle_down(v, delta);
      auto const up = shuffle_up(v, delta);
      for (int l = 0; l < n; ++l) {
        REQUIRE(down[l] == v[l + delta < n ? l + delta : l]);
        REQUIRE(up[l] == v[l >= delta ? l - delta : l]);
      }
    }
    for (int pattern = 0; pattern < n; ++pattern) {
      auto const crossed = shuffle_xor(v, pattern);
      for (int l = 0; l < n; ++l)
        REQUIRE(crossed[l] == v[l ^ pattern]);
    }
    CHECK((broadcast(v, n - 1) == v[n - 1]).bits().is_full(n));
  }

  TEST_CASE("a shuffle's sources wrap around and may have any integer type") {
    auto const v = lanes<int, 64>::iota();
    CHECK((shuffle(v, lanes<int, 64>(-1)) == 63).bits().is_full(64));
    CHECK((shuffle(v, lanes<std::uint8_t, 64>(70)) == 6).bits().is_full(64));
    CHECK((shuffle(v, lanes<std::int64_t, 64>(-64)) == 0).bits().is_full(64));
    CHECK(shuffle(lanes<double, 32>::iota(), lanes<std::int16_t, 32>(33))[0] == 1.0);
  }

  TEST_CASE_TEMPLATE("compact packs the active lanes to the front and clears the rest", S,
                     EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    for (unsigned seed = 0; seed < 20; ++seed)
      for (lane_mask const any : some_masks(seed)) {
        CAPTURE(any.bits());
        lane_mask const active = any & lane_mask::all(n);
        auto const v = arbitrary<T, n>(seed);
        auto const packed = compact(v, any);
        active.for_each([&](int l) { REQUIRE(packed[active.rank(l)] == v[l]); });
        for (int l = active.count(); l < n; ++l)
          REQUIRE(packed[l] == T{0});
      }
  }
}
