// SPDX-License-Identifier: Apache-2.0
#include "quarry_job.hpp"

#include "child_process.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace quarry::bench {
namespace {

std::string quarry_path() {
  return std::filesystem::path{program_folder()}.parent_path() / "quarry" / "quarry";
}

quarry_answer read(std::filesystem::path const& file) {
  std::ifstream text{file};
  auto const json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.value("verified", false))
    return {.failure = "the job wrote no verified result"};
  quarry_answer answer;
  for (auto const& one : json.at("figures"))
    answer.figures[one.at("name")] = one.at("value");
  return answer;
}

} // namespace

bool quarry_is_built() {
  return ::access(quarry_path().c_str(), X_OK) == 0;
}

quarry_answer run_quarry(std::vector<std::string> const& arguments) {
  auto const file = std::filesystem::temp_directory_path() /
                    ("quarry_bench." + std::to_string(::getpid()) + ".json");
  std::vector<std::string> command{quarry_path(), "run"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), {"--json", file});
  auto const job = run_child(command, std::chrono::minutes{1});
  quarry_answer answer{.failure = "the job failed, or its answer is wrong"};
  if (job.timed_out)
    answer.failure = "no answer within a minute";
  else if (job.exit_status == 0)
    answer = read(file);
  std::filesystem::remove(file);
  return answer;
}

} // namespace quarry::bench
