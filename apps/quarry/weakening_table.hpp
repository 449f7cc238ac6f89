// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/explore/target.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>

namespace quarry::command {

/// How `quarry explore TARGET --all-weakenings` looks for each of them.
struct weakening_search {
  explore_options options;
  std::uint64_t runs = 1; ///< seeds
  std::function<verdict(exploration::weakening const*, explore_options)> explore;
};

/// Each weakening, from `runs` seeds: how many executions until somebody notices. One that nobody
/// notices may do the work of another one: then both together are noticed. Prints a row for each,
/// and adds it to `rows`. Gives the exit status: 0 if nothing goes unnoticed that is not listed as
/// indistinguishable.
///
/// Errors   std::invalid_argument – the target has nothing that can be weakened
[[nodiscard]] int weaken_all(exploration::target const& t, weakening_search const& how,
                             nlohmann::ordered_json& rows);

} // namespace quarry::command
