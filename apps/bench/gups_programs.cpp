// SPDX-License-Identifier: Apache-2.0
#include "gups_programs.hpp"

#include "child_process.hpp"
#include "quarry_job.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <vector>

namespace quarry::bench {

#if QUARRY_BENCH_MPI
namespace {

gups_answer failed(char const* why) {
  return {.failure = why};
}

gups_answer run_mpi(std::vector<std::string> const& command) {
  auto const job = run_child(command, std::chrono::minutes{1});
  if (job.timed_out)
    return failed("no answer within a minute");
  if (job.exit_status != 0)
    return failed("the job failed or its table is wrong");
  auto const json = nlohmann::json::parse(job.output, nullptr, false);
  if (json.is_discarded() || !json.value("correct", false))
    return failed("the job printed no line of JSON with a correct answer");
  return {.seconds = json.at("seconds"),
          .updates = json.at("updates"),
          .messages = json.at("messages"),
          .bytes = json.at("bytes")};
}

} // namespace

gups_program mpi_gups(std::string const& who, gups_size const& size, std::uint32_t update_bytes) {
  std::vector<std::string> const command{
      QUARRY_BENCH_MPIRUN, "-n", std::to_string(size.nodes), "--oversubscribe",
      "--allow-run-as-root",
      // Which process runs on which core is the kernel's to decide, as it is for everybody.
      "--bind-to", "none",
      // TCP over loopback, and no other way between the processes.
      "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo",
      program_folder() + "/gups_" + who, "--updates-per-node",
      std::to_string(size.updates / size.nodes), "--table-log2",
      std::to_string(size.log2_entries_per_node), "--seed", std::to_string(size.seed),
      "--update-bytes", std::to_string(update_bytes)};
  return [command] { return run_mpi(command); };
}
#endif

gups_program quarry_gups(std::string const& style, gups_size const& size) {
  std::vector<std::string> const arguments{"gups",
                                           "--nodes",
                                           std::to_string(size.nodes),
                                           "--transport",
                                           size.nodes == 1 ? "in-process" : "loopback",
                                           "--style",
                                           style,
                                           "--updates",
                                           std::to_string(size.updates),
                                           "--table-size",
                                           std::to_string(size.log2_entries_per_node),
                                           "--seed",
                                           std::to_string(size.seed)};
  return [arguments]() -> gups_answer {
    auto const job = run_quarry(arguments);
    if (!job.failure.empty())
      return {.failure = job.failure};
    auto const& of = job.figures;
    double const messages = of.at("messages");
    return {.seconds = of.at("time") / 1e3,
            .updates = of.at("updates"),
            .messages = messages,
            .bytes = messages * of.at("average message"),
            .node_bytes = of.at("memory/node") * 1e6};
  };
}

} // namespace quarry::bench
