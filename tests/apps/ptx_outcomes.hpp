// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx_execution.hpp"

#include <quarry/litmus/test.hpp>

#include <set>
#include <vector>

namespace ptx_model {

/// By the values of test::observed, as in litmus::search_result.
using outcomes = std::set<std::vector<value>>;

/// Every end of the test that the PTX memory model allows. The test is not inexpressible().
///
/// Shape    at most relation::most_events in an execution; threads jump back `most_loops` times
[[nodiscard]] outcomes allowed_outcomes(quarry::litmus::test const& t, axiom_set axioms = {},
                                        int most_loops = 2);

} // namespace ptx_model
