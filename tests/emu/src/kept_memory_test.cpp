// SPDX-License-Identifier: Apache-2.0
#include "kept_memory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

using namespace quarry::emu;

namespace {

/// Counts how many of its bytes are given back.
void note(void* memory, std::size_t bytes) noexcept {
  *static_cast<std::size_t*>(memory) += bytes;
}

} // namespace

TEST_SUITE("emu.kept_memory") {
  TEST_CASE("memory is freed at the end, each once, and not before") {
    kept_memory k;
    std::array<std::size_t, 2> freed{};
    CHECK(k.keep(&freed[0], 16, &note));
    CHECK(k.keep(&freed[1], 8, &note));
    CHECK(freed == std::array<std::size_t, 2>{0, 0});
    k.free();
    CHECK(freed == std::array<std::size_t, 2>{16, 8});
    CHECK(k.keep(&freed[1], 1, &note));
    k.free();
    CHECK(freed == std::array<std::size_t, 2>{16, 9});
  }
  TEST_CASE("or where nobody keeps it any more") {
    std::size_t freed = 0;
    {
      kept_memory k;
      CHECK(k.keep(&freed, 4, &note));
    }
    CHECK(freed == 4);
  }
}
