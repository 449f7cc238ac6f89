// SPDX-License-Identifier: Apache-2.0
#include "build_info.hpp"
#include "command_line/subcommand.hpp"
#include "command_line/unexpected_argument.hpp"
#include "exit_status.hpp"
#include "explore_command.hpp"
#include "gdb_command.hpp"
#include "graph_command.hpp"
#include "info_command.hpp"
#include "launch_command.hpp"
#include "litmus_command.hpp"
#include "output/standard_output.hpp"
#include "processes/file_size_signal.hpp"
#include "processes/standard_descriptors.hpp"
#include "programs/memory_need.hpp"
#include "run_command.hpp"
#include "study_command.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using quarry::command::bad_usage;
using quarry::command::world_fault;

constexpr char const* description =
    "Quarry runs GPU kernels, their queues and their networks on a plain CPU.";

constexpr char const* examples =
    "Examples:\n"
    "  quarry graph debian -o debian.mtx\n"
    "  quarry run pagerank --nodes 4 --transport loopback --graph debian.mtx\n"
    "  quarry run gups --nodes 4 --transport loopback --json gups.json\n"
    "  quarry launch -n 4 -- ./program\n"
    "  quarry litmus MP.litmus --outcomes\n"
    "  quarry study channels --output channels\n"
    "`quarry COMMAND --help` says more about each command.\n";

/// What CLI11 says in words of its own.
std::string message_of(CLI::App const& app, CLI::Error const& e) {
  bool const is_too_many = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (auto ours = is_too_many ? quarry::command::unexpected_argument(app)
                              : quarry::command::unknown_option(app);
      !ours.empty())
    return ours;
  std::string text = e.what();
  auto const say = [&text](std::string_view instead_of, std::string_view ours) {
    if (auto const at = text.find(instead_of); at != std::string::npos)
      text.replace(at, instead_of.size(), ours);
  };
  say(": At Most 1 required but received ", " is allowed once, and given this often: ");
  constexpr std::string_view override = " was given a disallowed flag override";
  if (text.find(override) != std::string::npos && !text.starts_with('-'))
    text.insert(0, "--"); // the flag's name has lost them
  say(override, " takes no value");
  return text;
}

int run(std::vector<std::string> arguments) {
  // What `launch` and `gdb` start is none of our business, whatever it looks like.
  std::vector<std::string> launched;
  if (auto const end = std::ranges::find(arguments, "--");
      end != arguments.end() && (arguments.front() == "launch" || arguments.front() == "gdb")) {
    launched.assign(end + 1, arguments.end());
    arguments.erase(end, arguments.end());
  }
  int exit_status = 0;
  CLI::App app{description, "quarry"};
  app.footer(examples);
  app.option_defaults()->disable_flag_override(); // of all commands: a flag takes no value
  app.set_version_flag("--version", std::string("quarry ") + quarry::command::version);
  quarry::command::add_run_command(app, quarry::command::programs(), arguments, exit_status);
  quarry::command::add_launch_command(app, launched, exit_status);
  quarry::command::add_explore_command(app, exit_status);
  quarry::command::add_replay_command(app, exit_status);
  quarry::command::add_gdb_command(app, launched, exit_status);
  quarry::command::add_graph_command(app, exit_status);
  quarry::command::add_litmus_command(app, exit_status);
  quarry::command::add_study_command(app, exit_status);
  quarry::command::add_info_command(app, exit_status);
  quarry::command::need_subcommand(app, "command");
  app.failure_message([](CLI::App const* a, CLI::Error const& e) {
    return fmt::format("quarry: {}\nRun with --help for more information.\n", message_of(*a, e));
  });
  try {
    app.parse(std::vector(arguments.rbegin(), arguments.rend())); // CLI11 starts at the back
  } catch (CLI::ParseError const& e) {
    return app.exit(e) == 0 ? 0 : bad_usage; // --help and --version are 0
  }
  return exit_status;
}

/// Nobody must take for an answer what has not arrived, so that all that is printed is looked after
/// here. A command that has noticed by itself has said so.
int check_output(int exit_status) {
  auto const printed = quarry::command::all_printed();
  if (printed || exit_status == world_fault)
    return exit_status;
  std::cerr << "quarry: " << printed.error().what << '\n';
  return world_fault;
}

} // namespace

int main(int argc, char** argv) {
  quarry::command::open_standard_descriptors();
  quarry::command::ignore_file_size_signal();
  quarry::command::terminate_for_want_of_memory();
  try {
    return check_output(run({argv + 1, argv + argc}));
  } catch (std::exception const& e) {
    std::cerr << "quarry: " << quarry::command::message_of(e) << '\n';
    return world_fault;
  }
}
