// SPDX-License-Identifier: Apache-2.0
#include "launch_command.hpp"

#include "command_line/checked_option.hpp"
#include "exit_status.hpp"
#include "processes/process_group.hpp"

#include <quarry/net/job.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace quarry::command {
namespace {

constexpr char const* footer =
    "PROGRAM and its arguments come after --. Each of the N processes finds its place in\n"
    "QUARRY_RANK, QUARRY_SIZE, QUARRY_TOKEN, QUARRY_ADDRESSES, QUARRY_TIMEOUT_MS and\n"
    "QUARRY_LISTEN_FD. One that fails takes the job down and is named; the exit status is that\n"
    "of the first to fail, but 128 + N if one died by itself of signal N, or if signal N asked\n"
    "the job to end, and 3 if the job could not be started. Output that nobody reads any more\n"
    "ends it, too, with 141 (128 + SIGPIPE), or with 3 if it cannot be written. A signal that the\n"
    "launcher was started to ignore, as by nohup, does not. What the N processes have started and\n"
    "leave behind is killed when the last of them has ended.\n\n"
    "Examples:\n"
    "  quarry launch -n 4 -- quarry run gups\n"
    "  quarry launch -n 2 --timeout 60 -- ./my_program --its-option\n"
    "  quarry launch -n 3 -- sh -c 'echo I am node $QUARRY_RANK of $QUARRY_SIZE'\n";

void check_program(CLI::App const& command, std::vector<std::string> const& program) {
  auto const rest = command.remaining();
  if (!rest.empty())
    throw CLI::ValidationError(fmt::format(
        "launch: '{0}' was not expected; the program and its arguments come after --, as in: "
        "quarry launch -n 4 -- {0}",
        rest.front()));
  if (program.empty())
    throw CLI::ValidationError(
        "launch: no program; it comes after --, as in: quarry launch -n 4 -- ./program");
}

} // namespace

void add_launch_command(CLI::App& quarry, std::vector<std::string> const& program,
                        int& exit_status) {
  auto* command = quarry.add_subcommand("launch", "run N connected processes of a program");
  command->footer(footer);
  command->allow_extras(); // to say what is wrong with them
  auto options = std::make_shared<process_group_options>();
  add_number(*command, "-n,--nodes", options->node_count, 1, net::max_pe_count,
             "number of processes")
      ->default_str("")
      ->required();
  add_seconds(*command, "--timeout", options->timeout,
              "how long a node waits for another before it counts as lost");
  add_seconds(*command, "--grace", options->grace,
              "how long the others may take to end when one has failed, and again\nonce they were "
              "told to by SIGTERM, as they are at once when one dies of a signal");
  command->add_flag_callback(
      "--no-prefix", [options] { options->lines = process_group_options::output::untouched; },
      "leave out the \"[node R] \" before each line of output");
  command->callback([command, options, &program, &exit_status] {
    check_program(*command, program);
    options->program = program;
    auto const status = run_process_group(*options);
    if (!status)
      std::fputs(fmt::format("quarry launch: {}\n", status.error().what).c_str(), stderr);
    exit_status = status ? *status : world_fault;
  });
}

} // namespace quarry::command
