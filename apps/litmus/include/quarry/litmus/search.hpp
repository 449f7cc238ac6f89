// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/exhaustive.hpp>
#include <quarry/litmus/interpreter.hpp>
#include <quarry/litmus/test.hpp>

#include <atomic>
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
  bool is_interrupted = false;
  /// Why executions are missing, whatever the verdict; empty: none are.
  std::vector<std::string_view> bounded_by{};
  [[nodiscard]] bool is_bounded() const noexcept { return !bounded_by.empty(); }
  std::uint64_t state_count = 0;
  std::uint64_t execution_count = 0;
  std::uint64_t stuck_count = 0;
  std::map<std::vector<value>, outcome> outcomes; ///< by the values of test::observed
};

/// All executions of a test on emu::cache_machine. The test has nothing unsupported. Of the states
/// that `most` allows each further order in which the last writes of an end arrive takes one, too.
/// It ends early once `interrupted` is true; null: never.
[[nodiscard]] search_result explore(test const& t, exhaustive_search::limits most = {},
                                    std::atomic<bool> const* interrupted = nullptr);

/// The same on another machine, which is constructed from the choices.
template<class Machine>
[[nodiscard]] search_result explore_on(test const& t, exhaustive_search::limits most = {},
                                       std::atomic<bool> const* interrupted = nullptr) {
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
  auto const is_interrupted = [&] {
    return found.is_interrupted =
               interrupted != nullptr && interrupted->load(std::memory_order_relaxed);
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
  } while (choices.next() && !is_beyond() && !is_interrupted());
  if (found.is_interrupted)
    found.bounded_by.emplace_back("it was interrupted");
  if (choices.is_bounded() || is_beyond())
    found.bounded_by.emplace_back("it has more states than the limit (--max-states)");
  if (has_left_out)
    found.bounded_by.emplace_back("its caches remember no more");
  if (program.has_left_loops())
    found.bounded_by.emplace_back("a loop without memory was left after many steps");
  if (found.what == verdict::forbidden && found.is_bounded())
    found.what = verdict::inconclusive;
  else if (found.what == verdict::forbidden && found.outcomes.empty())
    found.what = verdict::no_end;
  found.state_count = choices.state_count();
  found.execution_count = choices.execution_count();
  return found;
}

} // namespace quarry::litmus
