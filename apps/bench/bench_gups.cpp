// SPDX-License-Identifier: Apache-2.0
// Random increments of a distributed table: `gups/who/<nodes>`; an item is an update.
#include "../gups/update_stream.hpp"
#include "bench.hpp"
#include "child_process.hpp"
#include "huge_array.hpp"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace quarry::bench {
namespace {

// The same for everybody: 2^22 entries of 8 bytes on each node, and 2^26 updates in the job.
constexpr std::uint32_t log2_entries_per_node = 22;
constexpr std::uint64_t updates_per_job = std::uint64_t{1} << 26;
constexpr std::uint64_t updates_alone = std::uint64_t{1} << 24;
constexpr std::uint64_t seed = 1;

/// Runs a program that prints one line of JSON, and reports the rate that it measured itself.
/// Unused in a build without any such program.
[[maybe_unused]] void measure_job(benchmark::State& state,
                                  std::vector<std::string> const& command) {
  std::uint64_t updates = 0;
  double messages = 0, bytes = 0;
  for (auto _ : state) {
    auto const job = run_child(command, std::chrono::seconds{60});
    if (job.timed_out || job.exit_status != 0)
      return state.SkipWithError(job.timed_out ? "no answer within 60 s"
                                               : "the job failed or its table is wrong");
    auto const answer = nlohmann::json::parse(job.output, nullptr, false);
    if (answer.is_discarded() || !answer.value("correct", false))
      return state.SkipWithError("the job printed no line of JSON with a correct answer");
    state.SetIterationTime(answer.at("seconds").get<double>());
    updates += answer.at("updates").get<std::uint64_t>();
    messages += answer.at("messages").get<double>();
    bytes += answer.at("bytes").get<double>();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(updates));
  state.counters["message_bytes"] = bytes / messages;
}

#if QUARRY_BENCH_MPI
std::vector<std::string> mpi_job(std::string const& program, std::uint32_t nodes) {
  return {QUARRY_BENCH_MPIRUN, "-n", std::to_string(nodes), "--oversubscribe",
          "--allow-run-as-root",
          // Which process runs on which core is the kernel's to decide, as it is for everybody.
          "--bind-to", "none",
          // TCP over loopback, and no other way between the processes.
          "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo",
          program_folder() + "/gups_" + program, "--updates-per-node",
          std::to_string(updates_per_job / nodes), "--table-log2",
          std::to_string(log2_entries_per_node), "--seed", std::to_string(seed)};
}

void add_mpi(std::uint32_t nodes) {
  for (std::string const program : {"mpi_aggregator", "mpi_alltoallv"})
    benchmark::RegisterBenchmark(
        ("gups/" + program + "/" + std::to_string(nodes)).c_str(),
        [program, nodes](benchmark::State& state) { measure_job(state, mpi_job(program, nodes)); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
}
#endif

/// A plain loop of random atomic increments by all threads, on the table of one node.
void tbb_atomics(benchmark::State& state) {
  gups::table_shape const shape{1, log2_entries_per_node};
  gups::update_stream const stream{shape, seed, 0, updates_alone};
  huge_array<std::uint64_t> const table{shape.entries()};
  for (auto _ : state)
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>{0, updates_alone},
                      [&table, stream](auto const& range) {
                        for (std::uint64_t i = range.begin(); i != range.end(); ++i)
                          std::atomic_ref{table[stream[i]]}.fetch_add(1, std::memory_order_relaxed);
                      });
  auto const runs = static_cast<std::uint64_t>(state.iterations());
  std::vector<std::uint64_t> serial(table.size());
  for (std::uint64_t i = 0; i < updates_alone; ++i)
    serial[stream[i]] += runs;
  check(state, std::ranges::equal(serial, table.span()), "the table is wrong");
  state.SetItemsProcessed(static_cast<std::int64_t>(runs * updates_alone));
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  benchmark::RegisterBenchmark("gups/tbb_atomics", tbb_atomics)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
#if QUARRY_BENCH_MPI
  for (std::uint32_t const nodes : {2, 4, 8})
    add_mpi(nodes);
#else
  report_absent("mpi", "built without MPI (apt install libopenmpi-dev openmpi-bin, meson -Dmpi)");
#endif
  return run(argc, argv);
}
