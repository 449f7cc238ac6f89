// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/shmem/words.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace quarry::net::shmem;

namespace {

/// Where each word begins, and its bytes.
using words = std::vector<std::pair<std::size_t, std::size_t>>;

words words_of(std::byte const* at, std::size_t bytes) {
  words all;
  for_words(at, bytes, [&]<class T>(T, std::size_t i) { all.emplace_back(i, sizeof(T)); });
  return all;
}

} // namespace

TEST_SUITE("net.shmem_words") {
  TEST_CASE("a width gives the unsigned type of so many bytes, once") {
    for (std::size_t const bytes : {1U, 2U, 4U, 8U}) {
      std::vector<std::size_t> sizes;
      for_width(bytes, [&]<class T>(T value) {
        CHECK(static_cast<T>(value - 1) > value); // unsigned, and 0
        sizes.push_back(sizeof(T));
      });
      CHECK(sizes == std::vector<std::size_t>{bytes});
    }
  }

  TEST_CASE("a range is cut where its words would be misaligned, or too long") {
    alignas(8) std::array<std::byte, 32> const memory{};
    CHECK(words_of(memory.data(), 0) == words{});
    CHECK(words_of(memory.data(), 16) == words{{0, 8}, {8, 8}});
    CHECK(words_of(memory.data(), 7) == words{{0, 4}, {4, 2}, {6, 1}});
    CHECK(words_of(memory.data() + 1, 15) == words{{0, 1}, {1, 2}, {3, 4}, {7, 8}});
    CHECK(words_of(memory.data() + 4, 8) == words{{0, 4}, {4, 4}});
    CHECK(words_of(memory.data() + 7, 2) == words{{0, 1}, {1, 1}});
  }

  TEST_CASE("every byte is in one word, each is aligned, and none could be larger") {
    alignas(8) std::array<std::byte, 64> const memory{};
    for (std::size_t first = 0; first < 8; ++first)
      for (std::size_t bytes = 0; bytes <= 40; ++bytes) {
        CAPTURE(first);
        CAPTURE(bytes);
        std::size_t next = 0;
        for (auto const& [offset, size] : words_of(memory.data() + first, bytes)) {
          REQUIRE(offset == next);
          next += size;
          REQUIRE((first + offset) % size == 0);
          bool const may_be_larger =
              size < 8 && (first + offset) % (2 * size) == 0 && offset + 2 * size <= bytes;
          REQUIRE_FALSE(may_be_larger);
        }
        REQUIRE(next == bytes);
      }
  }
}
