// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/buffer.hpp>
#include <quarry/sanitizers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

using namespace quarry::emu;

namespace {

struct alignas(256) wide {
  int value;
};

template<class T>
bool is_aligned(T const* p, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % bytes == 0;
}

} // namespace

TEST_SUITE("emu.buffer") {
  TEST_CASE("a buffer is zeroed, on a cache line of its own, and as long as was asked") {
    allocations known;
    for (std::size_t const count : {1U, 7U, 1000U}) {
      // The second time in memory that is dirty, wherever among that.
      for (std::uint64_t const dirt : {1, 2}) {
        std::vector<buffer<std::uint64_t>> many;
        for (int i = 0; i < 40; ++i) {
          buffer<std::uint64_t>& b = many.emplace_back(known, count, "b");
          CHECK(b.size() == count);
          CHECK(b.host().size() == count);
          CHECK(is_aligned(b.host().data(), 64));
          CHECK(std::ranges::all_of(b.host(), [](auto word) { return word == 0; }));
          std::ranges::fill(b.host(), dirt);
        }
      }
    }
    buffer<wide> const w(known, 3, "wide");
    CHECK(is_aligned(w.host().data(), 256));
  }

  TEST_CASE("host and kernels name the same elements, read-only ones of a const buffer") {
    allocations known;
    buffer<int> b(known, 10, "b");
    b.host()[4] = 7;
    CHECK(*(b.global() + 4).get() == 7);
    CHECK(std::as_const(b).global() == global<int const>(b.global()));
    CHECK(std::is_const_v<std::remove_reference_t<decltype(std::as_const(b).host()[0])>>);
  }

  TEST_CASE("kernels may touch a buffer's elements, those only, and while it lives") {
    allocations known;
    int const* at = nullptr;
    {
      buffer<int> const b(known, 10, "b");
      at = b.host().data();
      CHECK(known.contain(at, 40));
      CHECK_FALSE(known.contain(at, 41));
    }
    CHECK_FALSE(known.contain(at, 4));
  }

  TEST_CASE("a buffer that is moved keeps its place, and gives it up once") {
    allocations known;
    int const* at = nullptr;
    {
      buffer<int> first(known, 10, "b");
      first.host()[9] = 3;
      at = first.host().data();
      buffer<int> const second(std::move(first));
      CHECK(second.host().data() == at);
      CHECK(second.host()[9] == 3);
      CHECK(known.contain(at, 40));
    }
    CHECK_FALSE(known.contain(at, 4));
  }

  TEST_CASE("a registration that was moved from lets go of nothing") {
    allocations known;
    std::vector<int> mine(10);
    {
      registration first(known, mine.data(), 40, "first");
      {
        registration const second(std::move(first));
      }
      CHECK_FALSE(known.contain(mine.data(), 40));
      known.add(mine.data(), 40, "other");
    }
    CHECK(known.contain(mine.data(), 40));
    known.remove(mine.data());
  }

  TEST_CASE("a count whose bytes overflow, or that the machine has not, is refused") {
    allocations known;
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    for (std::size_t const count : {most, most / 8 + 2, most / 16 + 1, std::size_t{1} << 45})
      CHECK_THROWS_AS(buffer<std::uint64_t>(known, count, "too long"), std::length_error);
    CHECK_THROWS_WITH_AS(buffer<wide>(known, std::size_t{1} << 54, "too long"),
                         "buffer 'too long': 18014398509481984 elements of 256 bytes are more than "
                         "have an address",
                         std::length_error);
#if !QUARRY_ASAN && !QUARRY_TSAN // they end the program
    // As many as have one, from the pool of frames and from elsewhere.
    CHECK_THROWS_AS(buffer<char>(known, std::size_t{1} << 47, "all"), std::bad_alloc);
    CHECK_THROWS_AS(buffer<wide>(known, std::size_t{1} << 39, "all"), std::bad_alloc);
#endif
    CHECK(known.describe(&known).starts_with("far from every allocation")); // nothing is left
  }

  TEST_CASE("an empty buffer has no element, and empty ranges may be anywhere") {
    allocations known;
    buffer<int> const empty(known, 0, "empty");
    CHECK(empty.host().empty());
    CHECK_FALSE(known.contain(empty.host().data(), 1));
    std::vector<int> mine(10);
    registration const all(known, mine.data(), 40, "all");
    {
      registration const first(known, mine.data(), 0, "first");
      registration const inside(known, mine.data() + 5, 0, "inside");
      registration const nowhere(known, nullptr, 0, "nowhere");
      registration const nowhere_either(known, nullptr, 0, "nowhere either");
    }
    CHECK(known.contain(mine.data(), 40));
  }

  TEST_CASE("ranges that overlap are refused by name, and the known one stays as it was") {
    allocations known;
    std::vector<int> mine(30);
    int const* const at = mine.data() + 10;
    registration const middle(known, at, 40, "middle");
    struct range {
      std::ptrdiff_t first;
      std::size_t count;
    };
    // The same; a part at the beginning, inside, at the end; one that begins before it, or ends
    // after it, or both.
    for (auto const& [first, count] :
         {range{0, 10}, {0, 3}, {4, 2}, {7, 3}, {-5, 6}, {9, 5}, {-10, 30}, {-1, 11}, {0, 11}}) {
      CAPTURE(first);
      CAPTURE(count);
      CHECK_THROWS_WITH_AS(registration(known, at + first, 4 * count, "other"),
                           ("allocations: 'other' (" + std::to_string(4 * count) +
                            " bytes) overlaps 'middle' (40 bytes), which is known already")
                               .c_str(),
                           std::invalid_argument);
      CHECK(known.contain(at, 40));
      CHECK_FALSE(known.contain(at, 41));
      CHECK_FALSE(known.contain(at - 1, 4));
    }
    CHECK_THROWS_AS(known.add(at, 0, "empty"), std::invalid_argument); // whose would be removed?
    registration const before(known, at - 10, 40, "before");
    registration const after(known, at + 10, 40, "after");
    CHECK_FALSE(known.contain(at - 1, 8)); // neighbours, yet two objects
  }

  TEST_CASE("a buffer that was moved from is empty") {
    allocations known;
    buffer<int> from(known, 10, "numbers");
    buffer<int> const to(std::move(from));
    CHECK(from.size() == 0); // NOLINT(*-use-after-move): what is tested
    CHECK(from.host().empty());
    CHECK(to.size() == 10);
    CHECK(known.contain(to.host().data(), 40));
  }
}
