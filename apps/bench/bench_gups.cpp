// SPDX-License-Identifier: Apache-2.0
// Random increments of a distributed table: `gups/who/<nodes>`; an item is an update.
#include "../gups/update_stream.hpp"
#include "bench.hpp"
#include "gups_programs.hpp"
#include "huge_array.hpp"
#include "quarry_job.hpp"

#include <benchmark/benchmark.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace quarry::bench {
namespace {

// The same for everybody: 2^22 entries of 8 bytes on each node, and 2^26 updates in the job.
constexpr std::uint32_t log2_entries_per_node = 22;
constexpr std::uint64_t updates_per_job = std::uint64_t{1} << 26;
// A message for each update is so much slower that it gets a shorter job.
constexpr std::uint64_t updates_one_by_one = std::uint64_t{1} << 18;
constexpr std::uint64_t seed = 1;

/// Runs the programs of a job, and reports the rate that they measured themselves.
void measure_job(benchmark::State& state, gups_program const& program) {
  double updates = 0, messages = 0, bytes = 0, node_bytes = 0;
  for (auto _ : state) {
    gups_answer job;
    try {
      job = program();
    } catch (std::exception const& problem) {
      job.failure = problem.what();
    }
    if (!job.failure.empty())
      return state.SkipWithError(job.failure.c_str());
    state.SetIterationTime(job.seconds);
    updates += job.updates;
    messages += job.messages;
    bytes += job.bytes;
    node_bytes = job.node_bytes;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(updates));
  state.counters["message_bytes"] = bytes / messages;
  if (node_bytes != 0)
    state.counters["node_bytes"] = node_bytes;
}

void add_job(std::string const& who, std::uint32_t nodes, gups_program const& program) {
  benchmark::RegisterBenchmark(("gups/" + who + "/" + std::to_string(nodes)).c_str(),
                               [program](benchmark::State& state) { measure_job(state, program); })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

void add_jobs(std::uint32_t nodes) {
  gups_size const size{nodes, log2_entries_per_node, updates_per_job, seed};
  gups_size const small{nodes, log2_entries_per_node, updates_one_by_one, seed};
  if (quarry_is_built()) {
    add_job("gravel", nodes, quarry_gups("gravel", size));
    if (nodes > 1)
      add_job("no_aggregation", nodes, quarry_gups("no_aggregation", small));
  }
#if QUARRY_BENCH_MPI
  if (nodes > 1)
    for (std::string const who : {"mpi_aggregator", "mpi_alltoallv"}) {
      add_job(who, nodes, mpi_gups(who, size, 4)); // an update is what Gravel makes of it
      add_job(who + "_8_bytes", nodes, mpi_gups(who, size, 8));
    }
#endif
}

/// A plain loop of random atomic increments by all threads, on the table of one node.
void tbb_atomics(benchmark::State& state) {
  gups::table_shape const shape{1, log2_entries_per_node};
  gups::update_stream const stream{shape, seed, 0, updates_per_job};
  huge_array<std::uint64_t> const table{shape.entries()};
  for (auto _ : state)
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>{0, updates_per_job},
                      [&table, stream](auto const& range) {
                        for (std::uint64_t i = range.begin(); i != range.end(); ++i)
                          std::atomic_ref{table[stream[i]]}.fetch_add(1, std::memory_order_relaxed);
                      });
  auto const runs = static_cast<std::uint64_t>(state.iterations());
  std::vector<std::uint64_t> serial(table.size());
  for (std::uint64_t i = 0; i < updates_per_job; ++i)
    serial[stream[i]] += runs;
  check(state, std::ranges::equal(serial, table.span()), "the table is wrong");
  state.SetItemsProcessed(static_cast<std::int64_t>(runs * updates_per_job));
}

/// The whole command: its start, a short job, its answer, its end.
void start(benchmark::State& state) {
  gups_program const program = quarry_gups("gravel", {1, log2_entries_per_node, 1'000, seed});
  for (auto _ : state)
    if (auto const job = program(); !job.failure.empty())
      return state.SkipWithError(job.failure.c_str());
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  benchmark::RegisterBenchmark("gups/tbb_atomics", tbb_atomics)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  if (quarry_is_built())
    benchmark::RegisterBenchmark("start/quarry_run_gups/1000", start)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  else
    report_absent("quarry", "its command is not built (ninja bench_gups_jobs)");
#if !QUARRY_BENCH_MPI
  report_absent("mpi", "built without MPI (apt install libopenmpi-dev openmpi-bin, meson -Dmpi)");
#endif
  for (std::uint32_t const nodes : {1, 2, 4, 8})
    add_jobs(nodes);
  return run(argc, argv);
}
