// SPDX-License-Identifier: Apache-2.0
#include "gdb_command.hpp"

#include "command_line/checked_option.hpp"
#include "command_line/unexpected_argument.hpp"
#include "exit_status.hpp"
#include "processes/file_size_signal.hpp"

#include <quarry/emu/replay_file.hpp>
#include <quarry/explore/target.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace quarry::command {
namespace {

namespace fs = std::filesystem;

constexpr char const* footer =
    "PROGRAM and its arguments come after --. In gdb: info agents, dispatches, waves, lanes,\n"
    "actors; wave N, wave bt, wave locals, wave step, wave next, wave back; lane N; decision N;\n"
    "step-back; `help wave` says more. A program that explores stops where it first fails.\n\n"
    "Examples:\n"
    "  quarry gdb -- ./my_program --its-option\n"
    "  quarry gdb --replay quarry-failures/spsc-queue-1.replay\n"
    "  quarry gdb --core core -- ./my_program\n"
    "  quarry gdb --batch -x commands.gdb -- ./my_program\n"
    "Exit status: that of gdb; 2 bad usage, 3 no gdb, or a file that cannot be used.\n";

struct request {
  std::string replay;
  std::string core;
  std::vector<std::string> command_files;
  bool is_batch = false;
};

int complain(std::string const& text) {
  std::fputs(fmt::format("quarry gdb: {}\n", text).c_str(), stderr);
  return world_fault;
}

/// Of the running program, without its name.
fs::path own_file() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none);
}

/// Beside the program in a build folder; in share/ where it is installed.
std::string find_script() {
  auto const folder = own_file().parent_path();
  for (auto const& place : {folder / "quarry-gdb.py",
                            folder.parent_path() / "share" / "quarry" / "gdb" / "quarry-gdb.py"})
    if (std::error_code none; fs::exists(place, none))
      return place.string();
  return {};
}

/// As gdb finds it: a path, or a name in the PATH; its symbols may be all that is wanted of it.
fs::path find_program(std::string const& name) {
  if (std::error_code none; fs::is_regular_file(name, none))
    return name;
  char const* const path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr)
    return {};
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::error_code none; fs::is_regular_file(fs::path(folder) / name, none))
      return fs::path(folder) / name;
  return {};
}

/// ELF's numbers for what a file is.
enum class elf_type : std::uint16_t { none = 0, executable = 2, shared = 3, core = 4 };

/// What gdb can use the file as: given anything else it goes on without, and ends well.
elf_type type_of(fs::path const& file) {
  std::array<char, 18> head{};
  std::ifstream(file, std::ios::binary).read(head.data(), head.size());
  if (std::string_view(head.data(), 4) != "\177ELF")
    return elf_type::none;
  std::uint16_t type = 0;
  std::memcpy(&type, &head[16], sizeof(type)); // in the machine's byte order
  return static_cast<elf_type>(type);
}
bool is_program(fs::path const& file) {
  elf_type const type = type_of(file);
  return type == elf_type::executable || type == elf_type::shared;
}

void check(CLI::App const& command, request const& r, std::vector<std::string> const& program) {
  auto const rest = command.remaining();
  if (!rest.empty() && rest.front().starts_with('-'))
    throw CLI::ValidationError(
        "gdb: " +
        not_expected(command, rest.front(), "of gdb's own options there are -x and --batch"));
  if (!rest.empty())
    throw CLI::ValidationError(fmt::format(
        "gdb: '{0}' was not expected; the program and its arguments come after --, as in: "
        "quarry gdb -- {0}",
        rest.front()));
  for (auto const& [option, file] : {std::pair("--replay", &r.replay), {"--core", &r.core}})
    if (command.count(option) > 0 && file->empty())
      throw CLI::ValidationError(fmt::format("gdb: {} is empty, allowed is a name", option));
  if (program.empty() == r.replay.empty())
    throw CLI::ValidationError(
        program.empty() ? "gdb: no program; it comes after --, as in: quarry gdb -- ./program"
                        : "gdb: --replay runs quarry itself; give either a file or a program");
  if (!r.core.empty() && !r.replay.empty())
    throw CLI::ValidationError("gdb: a replay is run; there is no core dump of it");
}

std::vector<std::string> command_line(request const& r, std::string const& script,
                                      std::vector<std::string> program) {
  std::vector<std::string> line{"gdb", "-q"};
  if (r.is_batch)
    line.emplace_back("-batch");
  // In a build folder the script has the name that gdb looks for beside `quarry`.
  line.insert(line.end(), {"-iex", "add-auto-load-safe-path " + script, "-x", script});
  for (auto const& file : r.command_files)
    line.insert(line.end(), {"-x", file});
  if (!r.core.empty()) {
    line.insert(line.end(), {program.front(), r.core});
    return line;
  }
  if (!r.replay.empty())
    program = {own_file().string(), "replay", r.replay};
  line.emplace_back("--args");
  line.insert(line.end(), program.begin(), program.end());
  return line;
}

/// Becomes gdb: it has the terminal, its signals and the exit status. Returns only if it cannot.
int become(std::vector<std::string> line) {
  std::vector<char*> words;
  words.reserve(line.size() + 1);
  for (auto& word : line)
    words.push_back(word.data());
  words.push_back(nullptr);
  std::fflush(nullptr);
  restore_file_size_signal();
  ::execvp("gdb", words.data());
  return complain(errno == ENOENT ? "there is no gdb; install it: apt install gdb"
                                  : fmt::format("gdb: {}", std::strerror(errno)));
}

/// Why it is no failure of one of our own targets; empty: it is one.
std::string refusal_of_replay(std::string const& path) {
  auto const file = replay_file::read(path);
  if (!file)
    return file.error().what;
  try {
    static_cast<void>(exploration::find_explored(file->name));
    return {};
  } catch (std::invalid_argument const& e) {
    return fmt::format("{}\nWhat another program has saved: quarry gdb -- PROGRAM "
                       "--quarry-replay={}",
                       e.what(), path);
  }
}

int run(request const& r, std::vector<std::string> const& program) {
  if (!r.replay.empty())
    if (std::string const refusal = refusal_of_replay(r.replay); !refusal.empty())
      return complain(refusal);
  for (auto const& file : r.command_files)
    if (std::error_code none; !fs::exists(file, none) || fs::is_directory(file, none))
      return complain(fmt::format("-x {}: no such file", file));
  if (std::error_code none; !r.core.empty() && !fs::exists(r.core, none))
    return complain(fmt::format("--core {}: no such file", r.core));
  if (!r.core.empty() && type_of(r.core) != elf_type::core)
    return complain(fmt::format("--core {}: not a core dump", r.core));
  if (!program.empty()) {
    auto const file = find_program(program.front());
    if (file.empty())
      return complain(fmt::format("{}: no such program", program.front()));
    if (!is_program(file))
      return complain(fmt::format("{}: not a program that gdb can read", program.front()));
  }
  auto const script = find_script();
  if (script.empty())
    return complain("quarry-gdb.py is neither beside this program nor in ../share/quarry/gdb");
  return become(command_line(r, script, program));
}

} // namespace

void add_gdb_command(CLI::App& quarry, std::vector<std::string> const& program, int& exit_status) {
  auto* command = quarry.add_subcommand("gdb", "debug a program, or a saved failure, by waves");
  command->footer(footer);
  command->allow_extras(); // to say what is wrong with them
  auto r = std::make_shared<request>();
  command->add_option("--replay", r->replay, "a failure that `quarry explore` has saved")
      ->type_name("FILE");
  command->add_option("--core", r->core, "a core dump of the program")->type_name("FILE");
  command->add_option("-x,--command", r->command_files, "gdb commands to begin with")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--batch", r->is_batch, "end after those commands");
  command->callback([command, r, &program, &exit_status] {
    check(*command, *r, program);
    exit_status = run(*r, program);
  });
}

} // namespace quarry::command
