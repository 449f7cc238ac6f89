// SPDX-License-Identifier: Apache-2.0
// What is left of kernels that have a fault: nothing, and an agent that works.
#pragma once

#include "agents.hpp"

#include <atomic>

namespace quarry_test {

/// Counts those that live.
class tally {
public:
  explicit tally(std::atomic<int>& count) : count_(count) { ++count_; }
  tally(tally const&) = delete;
  ~tally() { --count_; }

private:
  std::atomic<int>& count_;
};

/// One of each work-item.
struct sum {
  quarry::task<> operator()(quarry::emu::any_wavefront auto& wf,
                            quarry::emu::global<int> out) const {
    int const n = co_await wf.group_reduce(wf.local_id(0) * 0 + 1, quarry::emu::plus{});
    if (wf.index_in_group() == 0)
      wf.fetch_add(out, n, quarry::emu::order::relaxed, quarry::emu::scope::agent);
  }
};

/// The agent, after a fault.
inline void still_works(quarry::emu::agent& gpu) {
  auto out = gpu.allocate<int>(1, "out");
  succeed(gpu.run({.work_groups = 30}, sum{}, out.global()));
  CHECK(out.host()[0] == 30 * 256);
}

} // namespace quarry_test
