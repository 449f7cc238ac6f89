// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace quarry_test {

constexpr quarry::emu::scope far = quarry::emu::scope::system;
using word_at = quarry::emu::global<std::uint32_t>;
/// A thread with two words, and what it has seen in the end.
using body = std::function<void(quarry::world_core&, word_at x, word_at y, std::uint32_t& saw)>;

/// What the threads may see, in all executions: each a decimal digit, the first one's first.
inline std::set<std::uint32_t> outcomes(std::vector<body> const& threads) {
  std::set<std::uint32_t> seen;
  quarry::verdict const v = quarry::explore(
      {.executions = 1'000'000, .strategy = "exhaustive", .reduces = true}, [&](quarry::world& w) {
        auto words = w.allocate<std::uint32_t>(32, "words");
        std::vector<std::uint32_t> saw(threads.size(), 0);
        for (std::size_t i = 0; i < threads.size(); ++i)
          w.start("thread", [&, i](quarry::world_core& self) {
            threads[i](self, words.global(), words.global() + 16, saw[i]);
          });
        w.join();
        std::uint32_t all = 0;
        for (std::uint32_t const s : saw)
          all = 10 * all + s;
        seen.insert(all);
      });
  REQUIRE_MESSAGE(v, v.to_string());
  REQUIRE(v.is_complete);
  return seen;
}

} // namespace quarry_test
