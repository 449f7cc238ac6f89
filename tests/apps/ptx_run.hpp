// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx_relation.hpp"

#include <quarry/litmus/test.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace ptx_model {

using quarry::litmus::value;

/// What a thread does that others may notice. A read-modify-write is a read and, if it writes, the
/// write that follows it.
struct event {
  enum class kind : std::uint8_t { read, write, fence, arrival, wait } what;
  std::uint32_t storage = 0;          ///< of a read or a write
  value of = 0;                       ///< what is read or written; a barrier's id
  quarry::litmus::access_order how{}; ///< none: weak
  bool is_update = false;             ///< a write that belongs to the read before it
  std::uint32_t barrier_instance = 0;
  event_set needs = 0; ///< the reads of its run that its value, or its being there, depends on
};

/// One way through a thread's program, for some values of what it reads.
struct run {
  std::vector<event> events;
  std::vector<value> registers; ///< at the end
};

/// The values that reads may find, by storage.
using value_sets = std::vector<std::set<value>>;

/// What in the test neither runs_of() nor the axioms have words for; empty if nothing.
[[nodiscard]] std::string inexpressible(quarry::litmus::test const& t);

/// Every run of a thread whose reads find these values, with at most `most_loops` jumps back.
[[nodiscard]] std::vector<run> runs_of(quarry::litmus::test const& t, std::size_t thread,
                                       value_sets const& found, int most_loops);

/// What some execution might read: first values, and what can be made of them.
[[nodiscard]] value_sets readable_values(quarry::litmus::test const& t, int most_loops);

} // namespace ptx_model
