// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/exhaustive.hpp>
#include <quarry/litmus/interpreter.hpp>
#include <quarry/litmus/test.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace quarry::litmus {

enum class verdict : std::uint8_t {
  allowed,      ///< the end that the test is about was reached
  forbidden,    ///< all executions were seen, and it was not
  inconclusive, ///< it was not reached within the limits
  no_end,       ///< all executions were seen, and none came to an end that the filter lets count
};
[[nodiscard]] std::string_view to_string(verdict v);

struct search_result {
  struct outcome {
    std::uint64_t count = 0; ///< of the executions that were followed to their end
    bool is_target = false;
  };

  verdict what = verdict::forbidden;
  bool is_bounded = false; ///< executions are missing, whatever the verdict
  std::uint64_t state_count = 0;
  std::uint64_t execution_count = 0;
  std::uint64_t stuck_count = 0;
  std::map<std::vector<value>, outcome> outcomes; ///< by the values of test::observed
};

/// All executions of a test on emu::cache_machine. The test has nothing unsupported. Of the states
/// that `most` allows each further order in which the last writes of an end arrive takes one, too.
[[nodiscard]] search_result explore(test const& t, exhaustive_search::limits most = {});

/// The same on another machine, which is constructed from the choices.
template<class Machine>
[[nodiscard]] search_result explore_on(test const& t, exhaustive_search::limits most = {}) {
  exhaustive_search choices(most);
  Machine machine(choices);
  interpreter<Machine> program(t, machine);
  search_result found;
  bool has_left_out = false;
  if constexpr (requires { machine.note_left_out(&has_left_out); })
    machine.note_left_out(&has_left_out);
  // Once all threads have ended there are no new states, but factorially many orders of writes.
  auto const is_beyond = [&] {
    return choices.state_count() + program.further_end_count() > most.states;
  };
  do {
    choices.begin();
    auto const end = program.run(choices);
    found.stuck_count += end == ending::stuck;
    if (end != ending::complete || (t.filter && !t.filter->is_met(program.outcome())))
      continue;
    auto const values = program.outcome();
    auto& one = found.outcomes[{values.begin(), values.end()}];
    ++one.count;
    one.is_target = t.final.is_target(values);
    if (one.is_target)
      found.what = verdict::allowed;
  } while (choices.next() && !is_beyond());
  found.is_bounded =
      choices.is_bounded() || has_left_out || is_beyond() || program.has_left_loops();
  if (found.what == verdict::forbidden && found.is_bounded)
    found.what = verdict::inconclusive;
  else if (found.what == verdict::forbidden && found.outcomes.empty())
    found.what = verdict::no_end;
  found.state_count = choices.state_count();
  found.execution_count = choices.execution_count();
  return found;
}

} // namespace quarry::litmus
