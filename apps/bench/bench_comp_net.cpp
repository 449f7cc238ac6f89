// SPDX-License-Identifier: Apache-2.0
// ComP-Net's experiments, wall clock, two nodes in process:
//   get_latency/<configuration>/<bytes>             one work-group's gets (§5.2, Figure 8a)
//   get_rate/<configuration>/<service threads>      480 work-groups of 64 at once, 8 bytes each
//                                                   (Figure 8b); an item is a get
//   jacobi/<configuration>/<rows>                   a sweep (§5.3, Figure 9)
//   multi_ring/<configuration>/<elements>           an allreduce of floats (§5.4, Figure 10)
//   sgd/<configuration>                             a step (§5.4.1)
#include "bench.hpp"
#include "quarry_job.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

/// A program, and how a figure of its own becomes an iteration's time.
struct experiment {
  std::vector<std::string> arguments;
  std::string figure;  ///< a time
  double seconds;      ///< in one of that figure
  std::string items{}; ///< the figure that counts them; empty: the time is one's
};

void measure(benchmark::State& state, experiment const& e) {
  double items = 0;
  for (auto _ : state) {
    quarry_answer job;
    try {
      job = run_quarry(e.arguments);
    } catch (std::exception const& problem) {
      job.failure = problem.what();
    }
    if (!job.failure.empty())
      return state.SkipWithError(job.failure.c_str());
    state.SetIterationTime(job.figures.at(e.figure) * e.seconds);
    items += e.items.empty() ? 1 : job.figures.at(e.items);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(items));
}

void add(std::string const& name, benchmark::TimeUnit unit, experiment e) {
  e.arguments.insert(e.arguments.end(), {"--nodes", "2"});
  benchmark::RegisterBenchmark(name.c_str(),
                               [e = std::move(e)](benchmark::State& state) { measure(state, e); })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(unit);
}

/// Those of §5.2: where the service of kernels' operations runs.
constexpr std::array<char const*, 3> with_device_calls{"comp_net", "apu", "dgpu"};
constexpr std::array<char const*, 5> all{"comp_net", "apu", "dgpu", "inter_kernel", "cpu"};

void add_gets() {
  for (std::string const c : with_device_calls)
    for (std::uint64_t const bytes : {8, 64, 512, 4096, 32768, 262144})
      add("get_latency/" + c + "/" + std::to_string(bytes), benchmark::kMicrosecond,
          {.arguments = {"ping_pong", "--pattern", "get", "--configuration", c, "--work-groups",
                         "1", "--rounds", "2000", "--words", std::to_string(bytes / 8)},
           .figure = "latency",
           .seconds = 1e-6});
  for (std::string const c : with_device_calls)
    for (std::uint32_t const threads : {1, 2, 4})
      add("get_rate/" + c + "/" + std::to_string(threads), benchmark::kMillisecond,
          {.arguments = {"ping_pong", "--pattern", "get", "--configuration", c, "--work-groups",
                         "480", "--compute-units", "12", "--service-threads",
                         std::to_string(threads), "--rounds", "100", "--words", "1"},
           .figure = "time",
           .seconds = 1e-3,
           .items = "messages"});
}

void add_programs() {
  for (std::string const c : all) {
    for (std::uint32_t const rows : {16, 128, 1024})
      add("jacobi/" + c + "/" + std::to_string(rows), benchmark::kMicrosecond,
          {.arguments = {"jacobi", "--configuration", c, "--rows", std::to_string(rows),
                         "--columns", std::to_string(rows), "--sweeps", "100"},
           .figure = "time/sweep",
           .seconds = 1e-6});
    for (std::uint32_t const elements : {64, 4096, 262144})
      add("multi_ring/" + c + "/" + std::to_string(elements), benchmark::kMicrosecond,
          {.arguments = {"allreduce", "--configuration", c, "--elements", std::to_string(elements),
                         "--sums", "50"},
           .figure = "time/sum",
           .seconds = 1e-6});
    add("sgd/" + c, benchmark::kMicrosecond,
        {.arguments = {"sgd", "--configuration", c, "--steps", "400"},
         .figure = "time",
         .seconds = 1e-3 / 400});
  }
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  if (quarry_is_built()) {
    add_gets();
    add_programs();
  } else {
    report_absent("quarry", "its command is not built (ninja apps/quarry/quarry)");
  }
  return run(argc, argv);
}
