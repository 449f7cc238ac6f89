// SPDX-License-Identifier: Apache-2.0
#include "guarded_array.hpp"

#include <quarry/emu/lane_memory.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

using namespace quarry::emu;

namespace {

template<class T, int N>
struct shape {
  using value = T;
  static constexpr int size = N;
};

std::vector<lane_mask> some_masks() {
  std::vector<lane_mask> masks{lane_mask::none(),      lane_mask::all(64),
                               lane_mask::all(32),     lane_mask::only(0),
                               lane_mask::only(31),    lane_mask::only(63),
                               lane_mask::first_n(17), lane_mask::first_n(48),
                               lane_mask(0xffff'0000), lane_mask(0x5555'5555'5555'5555)};
  std::mt19937_64 random(5);
  for (int i = 0; i < 6; ++i)
    masks.emplace_back(random());
  return masks;
}

// The smallest array that holds what the active lanes touch; all else is out of bounds.
template<class A>
int extent_of(A at, lane_mask active) {
  int end = 0;
  (active & lane_mask::all(A::size)).for_each([&](int l) {
    end = static_cast<int>(at[l]) + 1 > end ? static_cast<int>(at[l]) + 1 : end;
  });
  return end;
}

template<class T, class A>
void check_load(A at, lane_mask active) {
  guarded_array<T> memory(static_cast<std::size_t>(extent_of(at, active)));
  for (std::size_t i = 0; i < memory.values().size(); ++i)
    memory.values()[i] = static_cast<T>(i * 7 + 1);
  auto const got = load_lanes<T, A::size>(static_cast<T const*>(memory.data()), at, active);
  for (int l = 0; l < A::size; ++l) {
    CAPTURE(l);
    REQUIRE(got[l] == (active.test(l) ? memory.data()[at[l]] : T{0}));
  }
}

template<class T, class A>
void check_store(A at, lane_mask active) {
  guarded_array<T> memory(static_cast<std::size_t>(extent_of(at, active)));
  std::vector<T> expected(memory.values().size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    memory.values()[i] = expected[i] = static_cast<T>(i + 100);
  auto const value = lanes<T, A::size>::iota(T{3}, T{5});
  (active & lane_mask::all(A::size)).for_each([&](int l) {
    expected[static_cast<std::size_t>(at[l])] = value[l];
  });
  store_lanes(memory.data(), at, value, active);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    REQUIRE(memory.values()[i] == expected[i]);
  }
}

template<class T, class A>
void check_shape(A at) {
  for (lane_mask const active : some_masks()) {
    CAPTURE(active.bits());
    check_load<T>(at, active);
    check_store<T>(at, active);
    check_load<T>(at.to_lanes(), active);
    check_store<T>(at.to_lanes(), active);
  }
}

} // namespace

// One of each width and kind: every one more costs seconds of compilation.
#define EVERY_SHAPE                                                                                \
  shape<std::int8_t, 64>, shape<std::uint16_t, 64>, shape<float, 64>, shape<double, 64>,           \
      shape<std::uint8_t, 32>, shape<std::uint32_t, 32>, shape<std::int64_t, 32>

TEST_SUITE("emu.lane_memory") {
  TEST_CASE_TEMPLATE("consecutive lanes touch exactly the active elements", S, EVERY_SHAPE) {
    check_shape<typename S::value>(linear_index<std::int32_t, S::size>(0));
    check_shape<typename S::value>(linear_index<std::int64_t, S::size>(3));
  }

  TEST_CASE_TEMPLATE("rows of every width touch exactly the active elements", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    check_shape<T>(tile_row<std::int32_t, 32, n>(1, 40));
    check_shape<T>(tile_row<std::int32_t, 16, n>(1, 16));
    check_shape<T>(tile_row<std::int64_t, 16, n>(0, 3));
    check_shape<T>(tile_row<std::int32_t, 8, n>(2, 11));
    check_shape<T>(tile_row<std::int32_t, 4, n>(0, 4));
    check_shape<T>(tile_row<std::int32_t, 2, n>(0, 9));
    check_shape<T>(tile_row<std::int32_t, 1, n>(5, 2));
  }

  TEST_CASE_TEMPLATE("row broadcasts of every width touch exactly the active rows", S,
                     EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    check_shape<T>(uniform_index<std::int32_t, n>(4));
    check_shape<T>(row_broadcast<std::int32_t, 32, n>(1, 40));
    check_shape<T>(row_broadcast<std::int32_t, 16, n>(1, 3));
    check_shape<T>(row_broadcast<std::int64_t, 8, n>(2, 11));
    check_shape<T>(row_broadcast<std::int32_t, 4, n>(0, 1));
    check_shape<T>(row_broadcast<std::int32_t, 2, n>(0, 9));
  }

  TEST_CASE_TEMPLATE("strides, also backwards, touch exactly the active elements", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    check_shape<T>(affine<std::int32_t, n, 3, n>(2));
    check_shape<T>(affine<std::int32_t, n, -1, n>(n - 1));
    check_shape<T>(affine<std::int64_t, 16, 2, n>(1, 40));
    check_shape<T>(affine<std::int32_t, 16, -1, n>(15, 16));
  }

  TEST_CASE_TEMPLATE("a masked-off lane before the array's begin is not touched either", S,
                     EVERY_SHAPE) {
    using T = typename S::value;
    guarded_array<T> memory(S::size, guarded_array<T>::against::begin);
    for (auto& x : memory.values())
      x = T{9};
    auto const upper = lane_mask::all(S::size).without(lane_mask::first_n(5));
    linear_index<std::int32_t, S::size> const at(-5);
    auto const got = load_lanes<T, S::size>(static_cast<T const*>(memory.data()), at, upper);
    store_lanes(memory.data(), at, got + T{1}, upper);
    for (int l = 0; l < S::size; ++l)
      CHECK(got[l] == (l < 5 ? T{0} : T{9}));
    CHECK(memory.values().front() == T{10});
    CHECK(memory.values().back() == T{9}); // the last five elements belong to no lane
  }

  TEST_CASE_TEMPLATE("gather and scatter take any index type", S, EVERY_SHAPE) {
    using T = typename S::value;
    constexpr int n = S::size;
    auto const with = [&]<class I>(I) {
      auto const index =
          lanes<I, n>::generate([](int l) { return static_cast<I>((l * 37 + 11) % 100); });
      for (lane_mask const active : some_masks()) {
        CAPTURE(active.bits());
        check_load<T>(index, active);
        check_store<T>(index, active);
      }
    };
    with(std::int8_t{});
    with(std::uint16_t{});
    with(std::int32_t{});
    with(std::uint32_t{});
    with(std::int64_t{});
    with(std::uint64_t{});
  }

  TEST_CASE("an unsigned index is not taken as a negative one") {
    std::vector<std::uint8_t> memory(256, 1);
    memory[200] = 42;
    auto const got = gather_lanes(static_cast<std::uint8_t const*>(memory.data()),
                                  lanes<std::uint8_t, 64>(200), lane_mask::all(64));
    CHECK((got == 42).bits().is_full(64));
  }

  TEST_CASE("an unsigned 32-bit index reaches beyond the signed range") {
    // The base lies 2^31 elements below the array, so that only a zero-extended index hits it.
    std::int32_t value[2] = {17, 18};
    auto const base = reinterpret_cast<std::uintptr_t>(&value[0]) - (std::uintptr_t{1} << 33);
    auto const got =
        gather_lanes(reinterpret_cast<std::int32_t const*>(base),
                     lanes<std::uint32_t, 64>(0x8000'0000U).with(3, 0x8000'0001U), lane_mask(0xf));
    CHECK(got[0] == 17);
    CHECK(got[3] == 18);
    CHECK(got[4] == 0);
  }

  TEST_CASE("where lanes meet, the highest active one's value stays") {
    std::vector<int> memory(4, -1);
    auto const index = lanes<int, 64>::generate([](int l) { return l % 4; });
    scatter_lanes(memory.data(), index, lanes<int, 64>::iota(), lane_mask::all(64));
    CHECK(memory == std::vector<int>{60, 61, 62, 63});
    scatter_lanes(memory.data(), index, lanes<int, 64>::iota(100), lane_mask::first_n(6));
    CHECK(memory == std::vector<int>{104, 105, 102, 103});
    store_lanes(memory.data(), row_broadcast<int, 16, 64>(0, 1), lanes<int, 64>::iota(),
                lane_mask::first_n(40));
    CHECK(memory == std::vector<int>{15, 31, 39, 103});
  }
}
