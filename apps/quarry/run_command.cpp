// SPDX-License-Identifier: Apache-2.0
#include "run_command.hpp"

#include "command_line/named_file.hpp"
#include "command_line/subcommand.hpp"
#include "exit_status.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"
#include "processes/process_group.hpp"
#include "programs/memory_need.hpp"
#include "programs/result_table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

namespace quarry::command {
namespace {

constexpr char const* examples =
    "Examples:\n"
    "  quarry run gups --nodes 4 --transport loopback\n"
    "  mpirun -n 4 --bind-to none --oversubscribe quarry run gups\n"
    "  quarry run pagerank --help\n"
    "Exit status: 0 the answer was verified, 1 it was wrong, 2 bad usage, 3 a fault of the world\n"
    "or of the kernel.\n";

/// What one subcommand of `run` needs when its turn comes.
struct request {
  program what;
  program_call call;
  run_options options;
};

int say_fault(request const& asked, std::string const& what) {
  std::fputs(fmt::format("quarry run {}: {}\n", asked.what.name, what).c_str(), stderr);
  return world_fault;
}

/// This binary once for each node, with the command line that it got itself.
int launch(request const& asked, std::vector<std::string> const& arguments) {
  if (auto const good = asked.call.check_input(asked.options); !good)
    return say_fault(asked, good.error().what);
  std::error_code none;
  auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none || !std::filesystem::exists(self, none))
    self = "/proc/self/exe"; // replaced by a newer build, or no such name here: still ours
  std::vector<std::string> program{self.string()};
  program.insert(program.end(), arguments.begin(), arguments.end());
  auto const status = run_process_group({
      .program = std::move(program),
      .node_count = asked.options.node_count,
      .timeout = asked.options.timeout,
      .lines = process_group_options::output::untouched,
      .speaker = "quarry run",
  });
  return status ? *status : say_fault(asked, status.error().what);
}

int report(request const& asked, program_result const& result) {
  auto const& [what, call, options] = asked;
  if (options.is_reporting()) {
    print(to_table(what.name, options, result));
    if (!options.json_file.empty()) {
      auto const written = write_text(options.json_file, to_json(what.name, options, result));
      if (!written)
        return say_fault(asked, written.error().what);
    }
    if (auto const printed = all_printed(); !printed)
      return say_fault(asked, printed.error().what);
  }
  return result.is_verified() ? 0 : wrong_answer;
}

int run_here(request const& asked) {
  auto const result = asked.call.run(asked.options);
  return result ? report(asked, *result) : say_fault(asked, result.error().what);
}

int launch_or_run(request const& asked, std::vector<std::string> const& arguments) {
  try {
    return needs_launch(asked.options) ? launch(asked, arguments) : run_here(asked);
  } catch (std::exception const& e) {
    return say_fault(asked, message_of(e));
  }
}

int run(CLI::App const& command, request& asked, std::vector<std::string> const& arguments) {
  check_run_options(asked.options);
  keep_apart({"--json", asked.options.json_file}, {standard_output_file()});
  if (auto const found = find_job(command, asked.options); !found)
    return say_fault(asked, found.error().what);
  asked.call.check(asked.options);
  if (asked.options.is_reporting())
    if (auto const can = check_writable(asked.options.json_file); !can)
      return say_fault(asked, can.error().what);
  return launch_or_run(asked, arguments);
}

} // namespace

void add_run_command(CLI::App& quarry, std::span<program const> programs,
                     std::vector<std::string> const& arguments, int& exit_status) {
  auto* group = quarry.add_subcommand("run", "run one of the programs and verify its answer");
  group->footer(examples);
  for (auto const& one : programs) {
    auto* command = group->add_subcommand(one.name, one.summary);
    command->footer(one.examples);
    auto asked = std::make_shared<request>();
    asked->what = one;
    asked->call = one.add_options(*command);
    if (one.has_styles)
      asked->options.style = style_kind::gravel;
    asked->options.has_seed = one.draws;
    add_run_options(*command, asked->options);
    command->callback([command, asked, &arguments, &exit_status] {
      exit_status = run(*command, *asked, arguments);
    });
  }
  need_subcommand(*group, "program");
}

} // namespace quarry::command
