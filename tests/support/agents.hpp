// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "repetitions.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quarry_test {

/// How long native agents of tests may be without progress: only failing tests come to it.
inline constexpr std::chrono::milliseconds patience{60'000};
/// For tests that expect the stall.
inline constexpr std::chrono::milliseconds impatience{100};

/// Calls `test(executor&)` with each: native ones of 1 to `threads` threads, and deterministic ones
/// of so many seeds.
template<class F>
void with_schedulers(F const& test, std::size_t threads = 3, std::uint64_t seeds = fewer(10)) {
  for (std::size_t n = 1; n <= threads; ++n) {
    CAPTURE(n);
    quarry::native_scheduler s({.threads = n, .stall_timeout = patience});
    test(static_cast<quarry::executor&>(s));
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    quarry::sequential_scheduler s({.seed = seed});
    test(static_cast<quarry::executor&>(s));
  }
}

/// Calls `test(executor&)` with a native one and a deterministic one, for waits in vain.
template<class F>
void with_impatient_schedulers(F const& test) {
  quarry::native_scheduler native({.threads = 2, .stall_timeout = impatience});
  test(static_cast<quarry::executor&>(native));
  quarry::sequential_scheduler sequential;
  test(static_cast<quarry::executor&>(sequential));
}

/// Calls `test(agent&)` with a new native agent each: 1 and 2 threads, unchecked and checked.
template<class F>
void with_native_agents(quarry::emu::machine const& m, F const& test,
                        std::chrono::milliseconds stall = patience) {
  for (std::size_t threads : {1U, 2U})
    for (bool checks : {false, true}) {
      CAPTURE(threads);
      CAPTURE(checks);
      quarry::native_scheduler s({.threads = threads, .stall_timeout = stall});
      quarry::emu::agent gpu(s, m, {.checks_bounds = checks});
      test(gpu);
    }
}

/// The same with deterministic agents: round robin, and a few seeds.
template<class F>
void with_sequential_agents(quarry::emu::machine const& m, F const& test, std::uint64_t seeds = 3) {
  {
    INFO("sequential, round robin");
    quarry::sequential_scheduler s;
    quarry::emu::agent gpu(s, m);
    test(gpu);
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    quarry::sequential_scheduler s({.seed = seed});
    quarry::emu::agent gpu(s, m);
    test(gpu);
  }
}

/// Calls `test(agent&)` under every scheduler, with wavefronts of 32 and of 64.
template<class F>
void with_every_agent(F const& test, quarry::emu::machine m = {},
                      std::chrono::milliseconds stall = patience) {
  for (std::uint32_t size : {32U, 64U}) {
    CAPTURE(size);
    m.wavefront_size = size;
    with_native_agents(m, test, stall);
    with_sequential_agents(m, test);
  }
}

/// The launch must have ended well.
inline void succeed(quarry::emu::outcome const& o) {
  CHECK_MESSAGE(o, (o.get_fault() ? o.get_fault()->report : std::string()));
}

/// The launch must have ended in this fault. Its report.
inline std::string fail_with(quarry::emu::outcome const& o, quarry::emu::fault::kind kind) {
  REQUIRE(o.get_fault());
  INFO(o.get_fault()->report);
  CHECK(to_string(o.get_fault()->what) == to_string(kind));
  return o.get_fault()->report;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

inline bool is_native(quarry::emu::agent& gpu) {
  return !gpu.core().scheduler().decides();
}
inline bool is_checked(quarry::emu::agent& gpu) {
  return gpu.core().checks_bounds();
}

} // namespace quarry_test

/// The report must say all of this.
#define CHECK_SAYS(report, part)                                                                   \
  do {                                                                                             \
    std::string const& said = (report);                                                            \
    INFO(said);                                                                                    \
    CHECK(quarry_test::contains(said, part));                                                      \
  } while (false)
