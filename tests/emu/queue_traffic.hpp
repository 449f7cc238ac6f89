// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/emu/slot_turns.hpp>
#include <quarry/emu/spsc_queue.hpp>
#include <quarry/nursery.hpp>
#include <quarry/strand.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quarry_test {

/// An element in two words that must arrive together: a torn or stale one does not add up.
struct parcel {
  std::uint32_t number;
  std::uint32_t check;
  static parcel of(std::uint32_t n) { return {n, ~n * 2654435761U}; }
  [[nodiscard]] bool is_whole() const { return check == ~number * 2654435761U; }
};

/// Calls `test(executor&, allocations&)`: native with 1, 2 and 3 threads, and sequential with many
/// seeds.
template<class F>
void with_every_executor(F const& test, std::uint64_t seeds = 40) {
  for (std::size_t threads : {1U, 2U, 3U}) {
    CAPTURE(threads);
    quarry::native_scheduler s({.threads = threads, .stall_timeout = patience});
    quarry::emu::allocations known;
    test(static_cast<quarry::executor&>(s), known);
  }
  for (std::uint64_t seed = 0; seed <= seeds; ++seed) {
    CAPTURE(seed); // 0: round robin
    quarry::sequential_scheduler s(
        {.seed = seed == 0 ? std::optional<std::uint64_t>() : std::optional(seed)});
    quarry::emu::allocations known;
    test(static_cast<quarry::executor&>(s), known);
  }
}

/// A core of the calling coroutine's actor, with memory that decides at run time.
using core = quarry::emu::basic_core<quarry::emu::dynamic_memory>;
inline quarry::emu::memory_context context_of(quarry::actor& self,
                                              quarry::emu::allocations const& known) {
  return {&self, &self.home->owner(), &known};
}

/// Runs each task on a strand of its own, to the end.
class traffic {
public:
  explicit traffic(quarry::executor& s) : scheduler_(s) {}
  void start(quarry::task<> job, std::string const& name) {
    places_.push_back(std::make_unique<quarry::strand>(scheduler_, name));
    jobs_.start(*places_.back(), std::move(job), name);
  }
  void wait() { jobs_.wait(scheduler_); }

private:
  quarry::executor& scheduler_;
  std::vector<std::unique_ptr<quarry::strand>> places_;
  quarry::nursery jobs_;
};

} // namespace quarry_test
