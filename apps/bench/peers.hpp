// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "problems.hpp"

#include <functional>
#include <string>

namespace quarry::bench {

/// A kernel that is ready to run on one problem.
struct prepared {
  std::function<void()> run;     ///< timed: from the launch to the completion
  std::function<void()> collect; ///< not timed; may be empty: makes the answer visible to the host
};

/// Makes a kernel ready; the problem's memory outlives it. Not timed: it compiles and allocates
/// here.
template<class Problem>
using prepare = std::function<prepared(Problem const&)>;

/// Somebody who takes part in the benchmarks of kernels. What is empty is not taken part in.
struct peer {
  std::string who;    ///< the middle part of the names
  std::string absent; ///< why this peer cannot run on this machine; empty if it can

  prepare<saxpy_problem> saxpy = {};
  prepare<saxpy_problem> saxpy_prefetch = {};
  prepare<block_reduce_problem> block_reduce = {};
  prepare<block_reduce_problem> block_reduce_naive = {};
  prepare<matmul_problem> matmul = {};
  prepare<histogram_problem> histogram = {};
  prepare<barrier_problem> barrier = {};
  prepare<barrier_problem> barrier_work = {};
  prepare<launch_problem> launch = {};
  prepare<launch_problem> launch_coroutine = {};
  prepare<launch_problem> launch_packet = {};
  prepare<launch_problem> launch_straight = {};
  prepare<item_problem> item_plain = {};
  prepare<item_problem> item_coroutine = {};
  prepare<item_problem> item_plain_barrier = {};
  prepare<item_problem> item_coroutine_barrier = {};
};

/// Quarry's wave and item kernels under the native scheduler.
[[nodiscard]] peer quarry_peer();

/// oneTBB loops over work-groups, each with its kernel's phases fused by hand: what a programmer
/// without a GPU would write. No barrier is left in them, so `barrier` is empty.
[[nodiscard]] peer tbb_peer();

/// OpenCL kernels on the CPU, by PoCL.
[[nodiscard]] peer pocl_peer();

} // namespace quarry::bench
