// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/litmus/search.hpp>
#include <quarry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace quarry::litmus {

/// What a published verdict means for a machine that need not be as weak as the model.
enum class expected_class : std::uint8_t {
  exact_allowed,   ///< must be reached
  exact_forbidden, ///< must be shown never to be reached
  forbidden,       ///< must not be reached in what was seen
  model_stronger,  ///< allowed by the model; need not be reached
};
[[nodiscard]] std::string_view to_string(expected_class c);

struct expectation {
  std::filesystem::path test; ///< the file, in the folder of the list
  expected_class what;

  [[nodiscard]] bool is_met_by(verdict v) const;
};

/// The rows of a list: lines `test,verdict,class` under a first line that says so. The verdict is
/// allowed or forbidden, the class one of expected_class with a hyphen.
///
/// Errors   std::errc::bad_message – not such a list, or two rows that contradict each other; names
///          the file and the line
///          a std::errc – it cannot be read
[[nodiscard]] result<std::vector<expectation>> read_expectations(std::filesystem::path const& list);

/// The row for a test: the one for this file, or else one for a file of its name that is not there.
/// Null: there is none.
///
/// Errors   std::errc::bad_message – several rows are for such files, and say different things
[[nodiscard]] result<expectation const*> find_expectation(std::vector<expectation> const& rows,
                                                          std::filesystem::path const& test);

} // namespace quarry::litmus
