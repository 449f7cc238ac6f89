// SPDX-License-Identifier: Apache-2.0
// `quarry` with programs that only show what becomes of a program's result.
#include "run_command.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace quarry::command;

program_result right() {
  program_result result{.is_checked = true};
  result.settings = {{"answers", "two"}};
  result.figures = {{"updates", std::uint64_t{1} << 60, ""}, {"time", 1.5, "ms"}};
  result.figures.push_back({"messages", std::uint64_t{4}, ""});
  result.lines = {"1. libc6", "2. perl"};
  return result;
}

program_call wrong(CLI::App&) {
  return {.run = [](run_options const&) -> quarry::result<program_result> {
    auto result = right();
    result.wrong_count = 2;
    result.reason = "libc6 and perl";
    return result;
  }};
}

program_call unchecked(CLI::App&) {
  return {.run = [](run_options const&) -> quarry::result<program_result> {
    auto result = right();
    result.is_checked = false;
    return result;
  }};
}

program_call fault(CLI::App&) {
  return {.run = [](run_options const&) -> quarry::result<program_result> {
    return quarry::error{std::make_error_code(std::errc::connection_reset), "peer 3 is lost"};
  }};
}

program_call throwing(CLI::App&) {
  return {.run = [](run_options const&) -> quarry::result<program_result> {
    throw std::runtime_error("no more sockets");
  }};
}

/// Says in the file which nodes ran.
program_call ranks(CLI::App& command) {
  auto file = std::make_shared<std::string>();
  command.add_option("--file", *file);
  command.parse_complete_callback([file] {
    if (file->empty())
      throw CLI::ValidationError("ranks: --file is needed here");
  });
  return {.run = [file](run_options const& options) -> quarry::result<program_result> {
    std::ofstream(*file, std::ios::app)
        << (options.job ? std::to_string(options.job->self.id) : std::string("all")) + " of " +
               std::to_string(options.node_count) + "\n";
    return right();
  }};
}

program_call mortal(CLI::App&) {
  return {.run = [](run_options const& options) -> quarry::result<program_result> {
    ::raise(options.job && options.job->self.id == 1 ? SIGKILL : SIGSTOP);
    return right();
  }};
}

program_call progress(CLI::App&) {
  return {.run = [](run_options const& options) -> quarry::result<program_result> {
    progress_line line(options.progress_place(), "counting", 1000, "numbers");
    for (std::uint64_t done = 1; done <= 1000; ++done)
      line.update(done);
    return right();
  }};
}

program_call good(CLI::App&) {
  return {.run = [](run_options const&) -> quarry::result<program_result> { return right(); }};
}

constexpr auto examples = "Examples:\n  probe run good\n";

constexpr program table[] = {
    {"good", "is verified", examples, good, true},
    {"wrong", "has two wrong answers", examples, wrong},
    {"unchecked", "does not check its answer", examples, unchecked},
    {"fault", "meets an error of the world", examples, fault},
    {"throwing", "throws an exception", examples, throwing},
    {"ranks", "says which nodes ran", examples, ranks},
    {"mortal", "node 1 dies, the others stop", examples, mortal},
    {"progress", "shows a progress line", examples, progress},
};

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const arguments(argv + 1, argv + argc);
  int exit_status = 0;
  CLI::App app{"probe"};
  add_run_command(app, table, arguments, exit_status);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return exit_status;
}
