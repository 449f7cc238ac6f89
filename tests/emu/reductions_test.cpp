// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/reductions.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <random>

using namespace quarry::emu;

namespace {

/// `op` on lanes is `op` on each lane's numbers; the identity changes nothing; order and grouping
/// do not matter.
template<class T, class Op>
void is_reduction(Op op) {
  static_assert(reduction_of<Op, T>);
  T const none = Op::template identity<T>();
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    // Small integers: their sums are exact in floating point too.
    auto const draw = [&] { return static_cast<T>(static_cast<int>(random() % 201) - 100); };
    T const a = draw(), b = draw(), c = draw();
    CHECK(op(a, none) == a);
    CHECK(op(none, a) == a);
    CHECK(op(a, b) == op(b, a));
    CHECK(op(op(a, b), c) == op(a, op(b, c)));
    auto const by_lanes = op(lanes<T, 32>(a), lanes<T, 32>(b));
    CHECK(by_lanes[31] == op(a, b));
  }
}

struct no_identity {
  int operator()(int a, int) const { return a; }
};

} // namespace

TEST_SUITE("emu.reductions") {
  TEST_CASE("sums, extremes and bits are associative and commutative, with an identity") {
    is_reduction<std::int32_t>(plus{});
    is_reduction<std::int8_t>(plus{}); // wraps around
    is_reduction<double>(plus{});
    is_reduction<std::int64_t>(minimum{});
    is_reduction<float>(minimum{});
    is_reduction<std::uint16_t>(maximum{});
    is_reduction<float>(maximum{});
    is_reduction<std::int32_t>(bit_and{});
    is_reduction<std::uint8_t>(bit_or{});
    is_reduction<std::int64_t>(bit_xor{});
  }

  TEST_CASE("what inactive lanes submit is beyond every number of the type") {
    CHECK(minimum::identity<std::int8_t>() == 127);
    CHECK(maximum::identity<std::int8_t>() == -128);
    CHECK(maximum::identity<std::uint32_t>() == 0);
    CHECK(minimum::identity<float>() == std::numeric_limits<float>::infinity());
    CHECK(maximum::identity<double>() == -std::numeric_limits<double>::infinity());
    CHECK(bit_and::identity<std::uint16_t>() == 0xffff);
    CHECK(bit_and::identity<std::int64_t>() == -1);
    CHECK_FALSE(std::signbit(plus::identity<float>()));
  }

  TEST_CASE("integers wrap around, without undefined behaviour") {
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    CHECK(plus{}(most, 1) == std::numeric_limits<std::int32_t>::min());
    CHECK(plus{}(std::uint8_t{200}, std::uint8_t{100}) == 44);
  }

  TEST_CASE("of equal numbers the left one stays; a NaN on the right does too") {
    CHECK(std::signbit(minimum{}(-0.0F, 0.0F)));
    CHECK(std::signbit(maximum{}(-0.0F, 0.0F)));
    CHECK_FALSE(std::signbit(minimum{}(0.0F, -0.0F)));
    float const nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(minimum{}(3.0F, nan) == 3.0F);
    CHECK(maximum{}(3.0F, nan) == 3.0F);
  }

  TEST_CASE("a reduction knows its identity, and bits are of integers only") {
    CHECK_FALSE(reduction_of<no_identity, int>);
    CHECK_FALSE(reduction_of<bit_or, float>);
    CHECK(reduction_of<plus, float>);
  }
}
