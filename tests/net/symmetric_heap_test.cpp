// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/error.hpp>
#include <quarry/net/symmetric_heap.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry::net;

namespace {

bool contains(std::string const& text, std::uint64_t number) {
  return text.find(std::to_string(number)) != std::string::npos;
}

} // namespace

TEST_SUITE("net.symmetric_heap") {
  TEST_CASE("the same allocations give the same offsets on every pe, line-aligned and zeroed") {
    symmetric_heap a(10'000), b(10'000);
    std::uint64_t least = 0;
    for (std::size_t const count : {1u, 64u, 0u, 3u, 700u}) {
      auto const here = a.allocate<std::uint64_t>(count).value();
      auto const there = b.allocate<std::uint64_t>(count).value();
      auto const at = a.address_of(here.data()).value();
      CHECK(at == b.address_of(there.data()).value());
      CHECK(at.offset % 64 == 0);
      CHECK(reinterpret_cast<std::uintptr_t>(here.data()) % 64 == 0);
      CHECK(at.offset >= least);
      CHECK(here.size() == count);
      CHECK(std::ranges::all_of(here, [](auto word) { return word == 0; }));
      std::ranges::fill(here, ~std::uint64_t{0}); // the next one must not be in it
      least = at.offset + count * 8;
    }
  }

  TEST_CASE(
      "what does not fit is refused with what was asked and what is left, and takes nothing") {
    symmetric_heap heap(1000);
    REQUIRE(heap.allocate<char>(100).has_value());
    auto const left = heap.left();
    CHECK(left == 900);
    // 128 is the next line: 872 bytes are there for it.
    auto const refused = heap.allocate<char>(873);
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == net_errc::heap_exhausted);
    for (auto const number : {873, 872, 1000})
      CHECK(contains(refused.error().what, static_cast<std::uint64_t>(number)));
    CHECK(heap.left() == left);
    CHECK(heap.allocate<char>(872).has_value());
    CHECK(heap.left() == 0);
    CHECK(heap.allocate<char>(1).has_error());
  }

  TEST_CASE("a count whose bytes overflow is too large, not small") {
    symmetric_heap heap(4096);
    for (std::size_t const count :
         {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 8 + 1,
          std::size_t{1} << 61}) {
      auto const refused = heap.allocate<std::uint64_t>(count);
      REQUIRE(refused.has_error());
      CHECK(refused.error().code == net_errc::heap_exhausted);
    }
    CHECK(heap.left() == 4096);
  }

  TEST_CASE("a range is inside whole, or it is refused with its numbers") {
    symmetric_heap heap(4096);
    std::byte* const begin = heap.checked({0}, 4096).value();
    CHECK(heap.checked({4096}, 0).value() == begin + 4096);
    CHECK(heap.checked({4088}, 8, 8).value() == begin + 4088);
    struct range {
      std::uint64_t offset, bytes;
    };
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    for (auto const& [offset, bytes] : {range{0, 4097},
                                        {4096, 1},
                                        {4089, 8},
                                        {4097, 0},
                                        {most, 1},
                                        {8, most},
                                        {most, most},
                                        {most - 7, 8}}) {
      CAPTURE(offset);
      CAPTURE(bytes);
      auto const refused = heap.checked({offset}, bytes);
      REQUIRE(refused.has_error());
      CHECK(refused.error().code == net_errc::outside_heap);
      for (auto const number : {offset, bytes, std::uint64_t{4096}})
        CHECK(contains(refused.error().what, number));
    }
  }

  TEST_CASE("an address that its access cannot take is misaligned") {
    symmetric_heap heap(4096);
    for (std::size_t const alignment : {2u, 4u, 8u, 64u}) {
      CHECK(heap.checked({128}, 1, alignment).has_value());
      auto const refused = heap.checked({128 + alignment / 2}, 1, alignment);
      REQUIRE(refused.has_error());
      CHECK(refused.error().code == net_errc::misaligned);
      CHECK(contains(refused.error().what, 128 + alignment / 2));
      CHECK(contains(refused.error().what, alignment));
    }
  }

  TEST_CASE("a pointer that is not into the heap has no address") {
    symmetric_heap heap(4096);
    int elsewhere = 0;
    auto const words = heap.words();
    CHECK(words.size() == 512);
    CHECK(heap.address_of(&words[5]).value() == symmetric_address{40});
    CHECK(heap.address_of(words.data() + 513).error().code == net_errc::outside_heap);
    CHECK(heap.address_of(&elsewhere).error().code == net_errc::outside_heap);
  }

  TEST_CASE("a heap of nothing, or of more than an address has, is refused") {
    CHECK_THROWS_AS(symmetric_heap{0}, std::invalid_argument);
    CHECK_THROWS_AS(symmetric_heap{(std::size_t{1} << 47) + 1}, std::invalid_argument);
  }
}
