// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::bench {

/// What all benchmark programs do: names without google-benchmark's own suffixes
/// (`saxpy/tbb`, not `saxpy/tbb/real_time`), repetitions of all rows in mixed order, so that a
/// change of the machine's speed meets everybody, a line that describes the machine, and an exit
/// status.
///
/// Called by main after all benchmarks are registered. Takes google-benchmark's options;
/// --benchmark_out writes JSON with the same names.
///
/// Returns the exit status: 0 only if no benchmark reported an error.
[[nodiscard]] int run(int argc, char** argv);

/// CPU, hardware threads and compiler, in one line.
[[nodiscard]] std::string machine();

/// Says on standard error, once for each `who`, that its rows are missing and why.
void report_absent(std::string_view who, std::string_view why);

/// Registers kernel/who/size, by wall clock.
template<class F>
void add(std::string const& kernel, char const* who, std::uint64_t size, F const& f) {
  benchmark::RegisterBenchmark((kernel + '/' + who + '/' + std::to_string(size)).c_str(), f)
      ->UseRealTime();
}

/// Fails the benchmark if its answer is wrong. Called after the timed loop.
inline void check(benchmark::State& state, bool answer_is_right, char const* what) {
  if (!answer_is_right)
    state.SkipWithError(what);
}

} // namespace quarry::bench
