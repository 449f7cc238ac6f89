// SPDX-License-Identifier: Apache-2.0
#include "info_command.hpp"

#include "build_info.hpp"
#include "command_line/checked_option.hpp"
#include "command_line/named_file.hpp"
#include "exit_status.hpp"
#include "output/json_text.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"
#include "programs/program.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/net/mpi.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace quarry::command {
namespace {

using nlohmann::ordered_json;

template<class T, std::size_t N>
ordered_json names_of(std::array<choice<T>, N> const& choices) {
  auto names = ordered_json::array();
  for (auto const& one : choices)
    names.push_back(one.name);
  return names;
}

/// The transports of this build.
ordered_json transports() {
  auto names = ordered_json::array();
  for (auto const& one : transport_choices)
    if (one.value != transport_kind::mpi || net::mpi::is_available())
      names.push_back(one.name);
  return names;
}

/// The widest vector that the compiler may use in the kernels of this build.
constexpr int vector_bytes() {
#if defined(__AVX512F__)
  return 64;
#elif defined(__AVX__)
  return 32;
#else
  return 16;
#endif
}

ordered_json info() {
  ordered_json facts{
      {"version", version},
      {"compiler", compiler},
      {"build type", build_type},
      {"march", march},
      {"vector bytes", vector_bytes()},
      {"sanitizers", sanitizers},
      {"oneTBB", tbb_version},
      {"Boost", boost_version},
      {"fmt", fmt_version},
      {"MPI", mpi_version},
      {"hardware threads", usable_threads()},
      {"schedulers", names_of(scheduler_choices)},
      {"transports", transports()},
      {"styles", names_of(style_choices)},
      {"wavefront sizes", names_of(wavefront_size_choices)},
      {"programs", ordered_json::array()},
  };
  for (auto const& one : programs())
    facts["programs"].push_back(one.name);
  return facts;
}

std::string to_text(ordered_json const& value) {
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_array())
    return value.dump();
  std::string text;
  for (auto const& one : value)
    text += (text.empty() ? "" : ", ") + one.get<std::string>();
  return text.empty() ? "none" : text;
}

/// To standard output, and to the file if there is one.
result<void> print_info(std::string const& file) {
  if (auto const can = check_writable(file); !can)
    return can;
  auto const facts = info();
  for (auto const& [name, value] : facts.items())
    print(fmt::format("{:<17} {}\n", name, to_text(value)));
  return file.empty() ? result<void>{} : write_text(file, json_text(facts));
}

} // namespace

void add_info_command(CLI::App& quarry, int& exit_status) {
  auto* command = quarry.add_subcommand("info", "say what this build has");
  command->footer("Examples:\n  quarry info\n  quarry info --json build.json\n");
  auto file = std::make_shared<std::string>();
  add_output_file(*command, "--json", *file, "write it to this file as well");
  check_when_read(*command, [file] { keep_apart({"--json", *file}, {standard_output_file()}); });
  command->callback([file, &exit_status] {
    if (auto const done = print_info(*file); !done) {
      std::fputs(fmt::format("quarry info: {}\n", done.error().what).c_str(), stderr);
      exit_status = world_fault;
    }
  });
}

} // namespace quarry::command
