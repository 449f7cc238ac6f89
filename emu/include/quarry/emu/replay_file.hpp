// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>
#include <quarry/result.hpp>

#include <cstdint>
#include <string>

namespace quarry {

/// A failing execution on disk: one text file, a line for each of these.
///
/// Shape    "quarry-replay 3", a checksum of what follows, "key: value" lines; at most 256 MiB
struct replay_file {
  std::string name;  ///< of the world: explore_options::name
  std::string build; ///< the program's GNU build id, or "unknown"
  std::uint64_t seed = 0;
  bool detects_races = true; ///< explore_options, which decide what counts as a failure
  bool direct_lint = false;
  std::uint64_t most_decisions = 20'000; ///< which decide when an execution is given up
  std::string kind;                      ///< with `where`: the class of the failure
  std::string where;
  choice_record choices;

  /// The text of the file.
  [[nodiscard]] std::string to_text() const;
  /// How a name, a kind or a place stands in the file, and in what is read from it: no line breaks.
  [[nodiscard]] static std::string one_line(std::string text);
  /// Errors   what is wrong with the text, and in which line: first of all, that it was edited
  [[nodiscard]] static result<replay_file> from_text(std::string const& text);

  /// Errors   the file, and what the system says
  [[nodiscard]] result<void> write(std::string const& file) const;
  [[nodiscard]] static result<replay_file> read(std::string const& file);
};

/// The running program's GNU build id in hexadecimal; "unknown" where there is none.
[[nodiscard]] std::string build_id();

} // namespace quarry
