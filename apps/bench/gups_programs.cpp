// SPDX-License-Identifier: Apache-2.0
#include "gups_programs.hpp"

#include "child_process.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <unistd.h>

namespace quarry::bench {
namespace {

constexpr std::chrono::seconds limit{60};

gups_answer failed(char const* why) {
  return {.failure = why};
}

gups_answer read_mpi(std::string const& text) {
  auto const json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.value("correct", false))
    return failed("the job printed no line of JSON with a correct answer");
  return {.seconds = json.at("seconds"),
          .updates = json.at("updates"),
          .messages = json.at("messages"),
          .bytes = json.at("bytes")};
}

gups_answer read_quarry(std::string const& text) {
  auto const json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.value("verified", false))
    return failed("the job wrote no verified result");
  auto const figure = [&json](char const* name) -> double {
    for (auto const& one : json.at("figures"))
      if (one.at("name") == name)
        return one.at("value");
    throw std::out_of_range{name};
  };
  double const messages = figure("messages");
  return {.seconds = figure("time") / 1e3,
          .updates = figure("updates"),
          .messages = messages,
          .bytes = messages * figure("average message"),
          .node_bytes = figure("memory/node") * 1e6};
}

std::string text_of(std::string const& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator{in}, {}};
}

std::string quarry_path() {
  return std::filesystem::path{program_folder()}.parent_path() / "quarry" / "quarry";
}

} // namespace

#if QUARRY_BENCH_MPI
gups_program mpi_gups(std::string const& who, gups_size const& size) {
  return {.command = {QUARRY_BENCH_MPIRUN, "-n", std::to_string(size.nodes), "--oversubscribe",
                      "--allow-run-as-root",
                      // Which process runs on which core is the kernel's to decide, as it is for
                      // everybody.
                      "--bind-to", "none",
                      // TCP over loopback, and no other way between the processes.
                      "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca",
                      "btl_tcp_if_include", "lo", program_folder() + "/gups_" + who,
                      "--updates-per-node", std::to_string(size.updates / size.nodes),
                      "--table-log2", std::to_string(size.log2_entries_per_node), "--seed",
                      std::to_string(size.seed)},
          .json_file = {},
          .read = read_mpi};
}
#endif

gups_program quarry_gups(std::string const& style, gups_size const& size) {
  auto const file = std::filesystem::temp_directory_path() /
                    ("quarry_bench_gups." + std::to_string(::getpid()) + ".json");
  return {.command = {quarry_path(), "run", "gups", "--nodes", std::to_string(size.nodes),
                      "--transport", size.nodes == 1 ? "in-process" : "loopback", "--style", style,
                      "--updates", std::to_string(size.updates), "--table-size",
                      std::to_string(size.log2_entries_per_node), "--seed",
                      std::to_string(size.seed), "--json", file},
          .json_file = file,
          .read = read_quarry};
}

bool quarry_is_built() {
  return ::access(quarry_path().c_str(), X_OK) == 0;
}

gups_answer run_gups(gups_program const& program) {
  auto const job = run_child(program.command, limit);
  std::string const& file = program.json_file;
  std::string const text = file.empty() ? job.output : text_of(file);
  if (!file.empty())
    std::filesystem::remove(file);
  if (job.timed_out)
    return failed("no answer within 60 s");
  if (job.exit_status != 0)
    return failed("the job failed or its table is wrong");
  return program.read(text);
}

} // namespace quarry::bench
