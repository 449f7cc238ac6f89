// SPDX-License-Identifier: Apache-2.0
#include "litmus_command.hpp"

#include "command_line/checked_option.hpp"
#include "command_line/named_file.hpp"
#include "exit_status.hpp"
#include "litmus_report.hpp"
#include "output/progress_report.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"
#include "processes/interrupt.hpp"

#include <quarry/litmus/parse.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

namespace quarry::command {
namespace {

namespace fs = std::filesystem;

constexpr int not_met = 1;
constexpr int bad_input = 2;

constexpr char const* examples =
    "Examples:\n"
    "  quarry litmus MP.litmus --outcomes\n"
    "  quarry litmus ptx --expected ptx/expected.csv --json ptx.json\n"
    "The tests are in herd's style, for PTX or for Vulkan. A verdict is `allowed` if the end that\n"
    "the test asks about (for ~exists and forall: the counterexample) was reached, `forbidden` if\n"
    "all executions were seen and it was not, `no end` if they were and none came to an end, else\n"
    "`inconclusive`. A list of expectations has the columns test,verdict,class; the test is the "
    "name\n"
    "of its file, or a path to it; the class is exact-allowed, exact-forbidden (no end: met),\n"
    "forbidden (never reached, as far as was seen) or model-stronger (allowed, but need not be\n"
    "reached).\n"
    "A file that is no litmus test is refused, which its row says, and the others are run.\n"
    "Exit status: 0 all expectations are met, 1 one is not, 2 bad usage, or a file was refused,\n"
    "3 a fault of the world, 130 or 143 ended by Ctrl-C or SIGTERM.\n";

struct litmus_request {
  std::vector<std::string> paths;
  std::vector<std::string> lists;
  std::string json_file;
  std::uint64_t most_states = 1'000'000;
  bool with_outcomes = false;
};

void say(std::string const& line) {
  std::fputs(fmt::format("quarry litmus: {}\n", line).c_str(), stderr);
}

/// The file itself, or all in the folder that end in .litmus, in the order of their names.
result<std::vector<fs::path>> find_tests(fs::path const& path) {
  std::error_code code;
  if (!fs::is_directory(path, code))
    return std::vector{path};
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator it(path, code), end; !code && it != end; it.increment(code))
    if (it->path().extension() == ".litmus")
      found.push_back(it->path());
  if (code)
    return error{code, fmt::format("cannot read {}: {}", path.string(), code.message())};
  if (found.empty())
    return error{std::make_error_code(std::errc::no_such_file_or_directory),
                 fmt::format("no file in {} ends in .litmus", path.string())};
  std::ranges::sort(found);
  return found;
}

/// `is_found`: in a folder, where a pipe would be waited for by mistake.
litmus_row read_row(fs::path const& file, bool is_found) {
  litmus_row row;
  std::error_code code;
  if (is_found && fs::exists(file, code) && fs::is_other(file, code)) {
    row.what.file = file.string();
    row.refused = fmt::format("cannot read {}: it is no file", file.string());
  } else if (auto read = litmus::read_test(file)) {
    row.what = std::move(*read);
  } else {
    row.what.file = file.string();
    row.refused = read.error().what;
  }
  return row;
}

/// All tests that were asked for, those that are refused among them. Says everything that is wrong
/// with the folders, not only the first.
bool read_tests(litmus_request const& asked, std::vector<litmus_row>& rows) {
  bool is_good = true;
  std::set<fs::path> read; // by several paths, perhaps
  for (auto const& path : asked.paths) {
    auto const files = find_tests(path);
    if (!files) {
      say(files.error().what);
      is_good = false;
      continue;
    }
    std::error_code code;
    for (auto const& file : *files)
      if (auto const one = fs::weakly_canonical(file, code); code || read.insert(one).second)
        rows.push_back(read_row(file, fs::is_directory(path, code)));
  }
  return is_good;
}

/// Gives a row what a list expects of it. False if an earlier list expects something else.
bool expect(litmus_row& row, litmus::expected_class what, std::string const& list) {
  if (row.expected && *row.expected != what) {
    say(fmt::format("{}: an earlier list expects something else of {}: {}, and not {}", list,
                    row.what.file, to_string(*row.expected), to_string(what)));
    return false;
  }
  row.expected = what;
  return true;
}

bool read_lists(litmus_request const& asked, std::vector<litmus_row>& rows) {
  bool is_good = true;
  for (auto const& list : asked.lists) {
    auto const read = litmus::read_expectations(list);
    if (!read) {
      say(read.error().what);
      is_good = false;
      continue;
    }
    std::set<fs::path> those;
    bool is_clear = true;
    for (auto& row : rows) {
      auto const found = litmus::find_expectation(*read, row.what.file);
      if (!found) {
        say(fmt::format("{}: {}", list, found.error().what));
        is_clear = false;
      } else if (*found != nullptr) {
        is_good = expect(row, (*found)->what, list) && is_good;
        those.insert((*found)->test);
      }
    }
    if (!is_clear) {
      is_good = false;
      continue;
    }
    // Rows that say the same once more are used, too.
    auto const used = static_cast<std::size_t>(
        std::ranges::count_if(*read, [&](auto const& row) { return those.contains(row.test); }));
    if (used == 0) {
      say(fmt::format(
          "{}: no row is for a test that was asked for, so that nothing would be verified", list));
      is_good = false;
    } else if (used < read->size())
      say(fmt::format("{}: {} of {} rows are for tests that were not asked for", list,
                      read->size() - used, read->size()));
  }
  auto const unlisted = std::ranges::count_if(
      rows, [](auto const& row) { return row.refused.empty() && !row.expected; });
  if (is_good && !asked.lists.empty() && unlisted != 0)
    say(fmt::format("{} of {} tests are in no list: whatever they come to is taken", unlisted,
                    rows.size()));
  return is_good;
}

/// The report is no file that was read.
void check_json(litmus_request const& asked, std::vector<litmus_row> const& rows) {
  std::vector<named_file> others{standard_output_file()};
  for (auto const& row : rows)
    others.push_back({"PATH", row.what.file});
  for (auto const& list : asked.lists)
    others.push_back({"--expected", list});
  keep_apart({"--json", asked.json_file}, others);
}

/// Runs and prints them; those that no time was left for are not there any more. Of one that was
/// cut short nothing is expected. True if there was one, or any was left out.
bool try_tests(std::vector<litmus_row>& rows, litmus_request const& asked) {
  progress_report progress("quarry litmus", "tests");
  std::size_t ended = 0;
  std::size_t tried = 0;
  while (tried != rows.size() && !interrupt::is_wanted()) {
    litmus_row& row = rows[tried];
    progress.begin(row.what.file, rows.size(), tried++);
    if (row.refused.empty() && row.what.unsupported.empty())
      row.found = litmus::explore(row.what, {.states = asked.most_states}, &interrupt::flag());
    if (row.found && row.found->is_interrupted)
      row.expected.reset();
    else
      ++ended;
    print(to_text(row, asked.with_outcomes));
  }
  bool const is_cut = ended != rows.size();
  if (is_cut)
    say(fmt::format("interrupted: {} of {} tests were tried to their end", ended, rows.size()));
  rows.resize(tried);
  return is_cut;
}

int run(litmus_request const& asked) {
  std::vector<litmus_row> rows;
  bool const are_tests = read_tests(asked, rows);
  if (!read_lists(asked, rows) || !are_tests)
    return bad_input;
  check_json(asked, rows);
  if (auto const can = check_writable(asked.json_file); !can) {
    say(can.error().what);
    return world_fault;
  }
  interrupt const by_user;
  print(litmus_heading(asked.most_states));
  bool const is_cut = try_tests(rows, asked);
  print(litmus_summary(rows));
  if (!asked.json_file.empty())
    if (auto const written = write_text(asked.json_file, to_json(rows, asked.most_states, is_cut));
        !written) {
      say(written.error().what);
      return world_fault;
    }
  if (auto const printed = all_printed(); !printed) {
    say(printed.error().what);
    return world_fault;
  }
  if (!std::ranges::all_of(rows, &litmus_row::is_met))
    return not_met;
  if (is_cut)
    return interrupt::exit_status();
  bool const is_any_refused =
      std::ranges::any_of(rows, [](auto const& row) { return !row.refused.empty(); });
  return is_any_refused ? bad_input : 0;
}

} // namespace

void add_litmus_command(CLI::App& quarry, int& exit_status) {
  auto* command = quarry.add_subcommand("litmus", "run litmus tests on the emulator's caches");
  command->footer(examples);
  auto asked = std::make_shared<litmus_request>();
  command->add_option("PATH", asked->paths, "tests, or folders of files that end in .litmus")
      ->required()
      ->check(CLI::ExistingPath);
  command->add_option("--expected", asked->lists, "list of expected verdicts; may be given again")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false) // those after it are tests
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_number(*command, "--max-states", asked->most_states, std::uint64_t{1}, std::uint64_t{1} << 32,
             "states of a test, and orders of its last writes, beyond which it is inconclusive");
  command->add_flag("--outcomes", asked->with_outcomes,
                    "print how often each end was reached; * is what the test asks about");
  add_output_file(*command, "--json", asked->json_file, "write it to this file as well");
  command->callback([asked, &exit_status] { exit_status = run(*asked); });
}

} // namespace quarry::command
