// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/run_options.hpp"

#include <quarry/result.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace quarry::command {

/// What a program was asked for beyond the common options: a line of the table's head.
struct setting {
  std::string name;
  std::variant<std::uint64_t, double, std::string> value;
};

/// A column of the result table.
struct figure {
  std::string name;
  std::variant<std::uint64_t, double> value;
  std::string unit; ///< empty: a plain number
};

/// What a program found out. The wrong answers are a column of their own.
struct program_result {
  /// The answer was compared with the serial reference, and `wrong_count` is what came of it.
  bool is_checked = false;
  bool is_drawn = true; ///< from the seed, as far as the program draws
  std::uint64_t wrong_count = 0;
  std::vector<setting> settings{};
  std::vector<figure> figures{};
  std::vector<std::string> lines{}; ///< printed after the table, such as a list of the first ten
  std::vector<std::vector<setting>> rows{}; ///< what such a list says, for who reads JSON
  std::string reason{}; ///< of a wrong answer, for the verdict; empty: the number says all

  [[nodiscard]] bool is_verified() const { return is_checked && wrong_count == 0; }
};

/// What a command line makes of a program.
struct program_call {
  /// Refuses options that do not go together with the common ones: before any process is started.
  std::function<void(run_options const&)> check = [](run_options const&) {};

  /// Looks at the input before a process is started for each node, so that what is wrong with it is
  /// said once. Not called where the processes are there already, or there is only this one.
  ///
  /// Errors   as run(), of the input
  std::function<result<void>(run_options const&)> check_input = [](run_options const&) {
    return result<void>();
  };

  /// Runs it. Every node of a job does so; node 0's result is printed, but each node's verdict
  /// decides its exit status.
  ///
  /// Errors   of the world or the kernel; an exception is taken as one
  std::function<result<program_result>(run_options const&)> run;
};

/// One APP of `quarry run APP`.
struct program {
  char const* name;
  char const* summary;  ///< a line of `quarry run --help`
  char const* examples; ///< command lines at the end of `quarry run APP --help`

  /// Adds the program's own options and returns what will run. Wrong combinations of those alone
  /// are refused in check_when_read().
  program_call (*add_options)(CLI::App& command);
  bool has_styles = false; ///< its messages go through Gravel: it has the option --style
  bool draws = true;       ///< what it works on is made from --seed
};

/// The programs of this build.
[[nodiscard]] std::span<program const> programs();

} // namespace quarry::command
