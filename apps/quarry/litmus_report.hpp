// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/litmus/expected.hpp>
#include <quarry/litmus/search.hpp>
#include <quarry/litmus/test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quarry::command {

/// What became of one test.
struct litmus_row {
  litmus::test what;     ///< of a file that is refused its name alone
  std::string refused{}; ///< why the file is no litmus test; empty: it is one
  std::optional<litmus::expected_class> expected{};
  std::optional<litmus::search_result> found{}; ///< none: refused, or something is unsupported

  [[nodiscard]] bool is_met() const;
};

[[nodiscard]] std::string litmus_heading(std::uint64_t most_states);
/// A line, or more: outcomes, what is unsupported.
[[nodiscard]] std::string to_text(litmus_row const& row, bool with_outcomes);
/// '#' lines: how many of each verdict and of each class, and whether all expectations are met.
[[nodiscard]] std::string litmus_summary(std::vector<litmus_row> const& rows);
/// All of it as one JSON object; `is_interrupted`: further executions were to come.
[[nodiscard]] std::string to_json(std::vector<litmus_row> const& rows, std::uint64_t most_states,
                                  bool is_interrupted = false);

} // namespace quarry::command
