// SPDX-License-Identifier: Apache-2.0
#include "guarded_array.hpp"

#include <quarry/emu/native_memory_access.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace quarry::emu;

namespace {

template<class T>
constexpr int count = native_vector_bytes / static_cast<int>(sizeof(T));
template<class T>
using access_of = native_access<T, count<T>>;
template<class T>
using vector = typename access_of<T>::vector;

template<class T>
constexpr std::uint64_t every =
    count<T> == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (count<T> % 64)) - 1;

template<class T>
T numbered(std::size_t i) {
  return static_cast<T>(3 * i + 1);
}
template<class T>
vector<T> values() {
  vector<T> v;
  for (int i = 0; i < count<T>; ++i)
    v[i] = numbered<T>(static_cast<std::size_t>(i) + 5);
  return v;
}

std::vector<std::uint64_t> some_masks() {
  std::vector<std::uint64_t> masks{0, 1, 0b110, ~std::uint64_t{0}, 0xaaaa'aaaa'aaaa'aaaa};
  for (int n = 1; n < 64; n += 3)
    masks.push_back((std::uint64_t{1} << n) - 1);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20; ++i)
    masks.push_back(random());
  return masks;
}

/// Masks whose elements lie in the first `n`, or in the last `n`, of a register's.
template<class T>
std::uint64_t first(std::uint64_t bits, int n) {
  return bits & every<T> >> (count<T> - n);
}
template<class T>
std::uint64_t last(std::uint64_t bits, int n) {
  return bits & every<T> & every<T> << (count<T> - n);
}

/// `n` elements are there, at the end of what may be touched or at its beginning; `at` is where a
/// whole register would begin.
template<class T, class F>
void with_few(F const& f) {
  for (int n = 1; n <= count<T>; n += 1 + n / 3)
    for (std::uint64_t const bits : some_masks())
      for (bool const at_end : {true, false}) {
        CAPTURE(n);
        CAPTURE(bits);
        CAPTURE(at_end);
        using array = guarded_array<T>;
        array memory(static_cast<std::size_t>(n),
                     at_end ? array::against::end : array::against::begin);
        for (std::size_t i = 0; i < memory.values().size(); ++i)
          memory.values()[i] = numbered<T>(i);
        int const offset = at_end ? 0 : n - count<T>; // the missing ones lie beyond the guard
        f(memory, memory.data() + offset, offset, at_end ? first<T>(bits, n) : last<T>(bits, n));
      }
}

} // namespace

#define EVERY_VALUE                                                                                \
  std::int8_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, float, double

TEST_SUITE("emu.native_memory_access") {
  TEST_CASE_TEMPLATE("a whole register goes to and comes from any place that is aligned for T", T,
                     EVERY_VALUE) {
    constexpr auto n = static_cast<std::size_t>(count<T>);
    for (std::size_t shift = 0; shift < n; ++shift) {
      alignas(64) std::array<T, 2 * n + 1> memory{};
      access_of<T>::store(&memory[shift], values<T>());
      for (std::size_t i = 0; i < memory.size(); ++i)
        REQUIRE(memory[i] == (i >= shift && i < shift + n ? numbered<T>(i - shift + 5) : T{0}));
      auto const back = access_of<T>::load(&memory[shift]);
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(back[static_cast<int>(i)] == numbered<T>(i + 5));
    }
  }

  TEST_CASE_TEMPLATE("masked-off elements read as zero and touch no memory", T, EVERY_VALUE) {
    with_few<T>([](guarded_array<T>& memory, T const* at, int offset, std::uint64_t bits) {
      auto const got = access_of<T>::load(at, bits);
      for (int i = 0; i < count<T>; ++i)
        REQUIRE(got[i] == ((bits >> i & 1) != 0 ? memory.data()[i + offset] : T{0}));
    });
  }

  TEST_CASE_TEMPLATE("a masked store writes its elements and touches no others", T, EVERY_VALUE) {
    auto const v = values<T>();
    with_few<T>([&v](guarded_array<T>& memory, T* at, int offset, std::uint64_t bits) {
      access_of<T>::store(at, v, bits);
      for (int i = 0; i < static_cast<int>(memory.values().size()); ++i) {
        int const element = i - offset;
        REQUIRE(
            memory.data()[i] ==
            ((bits >> element & 1) != 0 ? v[element] : numbered<T>(static_cast<std::size_t>(i))));
      }
    });
  }

  TEST_CASE_TEMPLATE("bits beyond the last element mean nothing", T, EVERY_VALUE) {
    constexpr auto n = static_cast<std::size_t>(count<T>);
    guarded_array<T> memory(n);
    std::uint64_t const bits = ~every<T> | 1; // with 64 elements there are none
    access_of<T>::store(memory.data(), values<T>(), bits);
    CHECK(memory.data()[0] == numbered<T>(5));
    for (std::size_t i = 1; i < n; ++i)
      CHECK(memory.data()[i] == T{0});
    auto const got = access_of<T>::load(memory.data(), bits);
    CHECK(got[0] == numbered<T>(5));
    CHECK(got[1] == T{0});
  }

  TEST_CASE_TEMPLATE("a gather reads each active element where its index says", T, EVERY_VALUE) {
    if constexpr (access_of<T>::gathers) {
      std::array<T, 200> memory;
      for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = numbered<T>(i);
      for (std::uint64_t const bits : some_masks()) {
        typename native_vector<T, count<T>>::integer_type index;
        for (int i = 0; i < count<T>; ++i) // of no element where it is off
          index[i] = (bits >> i & 1) != 0 ? i * 37 % 200 - 100 : 1 << 30;
        auto const got = access_of<T>::gather(&memory[100], index, bits);
        for (int i = 0; i < count<T>; ++i)
          REQUIRE(
              got[i] ==
              ((bits >> i & 1) != 0 ? numbered<T>(static_cast<std::size_t>(i * 37 % 200)) : T{0}));
      }
    } else // nobody takes it for there
      CHECK_FALSE(requires(typename native_vector<T, count<T>>::integer_type i) {
        access_of<T>::gather(static_cast<T const*>(nullptr), i, 0);
      });
  }
}
