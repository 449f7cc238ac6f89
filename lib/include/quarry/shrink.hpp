// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>

#include <cstddef>
#include <functional>
#include <optional>

namespace quarry {

struct shrink_options {
  std::size_t most_runs = 10'000;
};

struct shrunk {
  /// The smallest one found that fails; the given one if none is smaller.
  choice_record record;
  std::size_t runs = 0;
  /// The given record failed when it was run again. If not, there is hidden state: nothing is done.
  bool is_reproduced = false;
  /// No non-zero choice can be 0 or less by one; else most_runs were not enough.
  bool is_minimal = false;
};

/// Runs an execution by a record (see `replay`): what it chose, if it failed in the same way.
///
/// What it chose, because a smaller choice changes which ones follow: the result then is a record
/// that replays without a divergence, but for what a run chooses by itself, behind the record.
using failing_execution = std::function<std::optional<choice_record>(choice_record const&)>;

/// Makes a failing execution as boring as it can be: fewer choices that are not 0, then fewer
/// choices up to the last of them, then smaller values.
///
/// Cuts the tail, sets choices to 0 and takes them out (delta debugging), tries smaller values,
/// until nothing helps. The same record and the same answers give the same result. No record is
/// tried twice.
///
/// Source   Zeller, Hildebrandt: Simplifying and isolating failure-inducing input, TSE'02;
///          MacIver, Donaldson: Test-case reduction via test-case generation, ECOOP'20
[[nodiscard]] shrunk shrink(choice_record const& failing, failing_execution const& run,
                            shrink_options o = {});
/// The same, where only whether it fails is known: records tried are as long as the given one at
/// most, and may not fit what the program asks for exactly.
[[nodiscard]] shrunk shrink(choice_record const& failing,
                            std::function<bool(choice_record const&)> const& still_fails,
                            shrink_options o = {});

} // namespace quarry
