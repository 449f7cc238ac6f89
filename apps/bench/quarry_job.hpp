// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quarry::bench {

/// What a run of `quarry run` said of itself.
struct quarry_answer {
  std::string failure = {}; ///< why there is no answer, or no right one; then there are no figures
  std::map<std::string, double> figures = {};
};

/// Is there a `quarry` beside the benchmarks?
[[nodiscard]] bool quarry_is_built();

/// `quarry run` with these arguments: a program, then its options. Its standard error passes
/// through; it has a minute.
///
/// Errors throws std::system_error if the command cannot be started
[[nodiscard]] quarry_answer run_quarry(std::vector<std::string> const& arguments);

} // namespace quarry::bench
