// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/native_scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

namespace quarry_test {

/// Calls `test(executor&)` with a new scheduler of every model and setting. The native ones give up
/// after `stall` without progress.
template<class F>
void with_every_scheduler(F test,
                          std::chrono::milliseconds stall = std::chrono::milliseconds(60'000)) {
  for (std::size_t threads : {1U, 2U, 4U}) {
    CAPTURE(threads);
    quarry::native_scheduler s({.threads = threads, .stall_timeout = stall});
    test(static_cast<quarry::executor&>(s));
  }
  {
    INFO("sequential, round robin");
    quarry::sequential_scheduler s;
    test(static_cast<quarry::executor&>(s));
  }
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    quarry::sequential_scheduler s({.seed = seed});
    test(static_cast<quarry::executor&>(s));
  }
}

} // namespace quarry_test
