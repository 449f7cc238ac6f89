// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>

#include <cstddef>
#include <cstring>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quarry {

/// One actor in a report.
struct report_row {
  std::string strand;
  std::string actor;
  actor_state state = actor_state::ready;
  wait_reason reason; ///< meaningful while waiting or polling
  std::string place;  ///< a name of `reason.on`, if somebody knows one: "flags[1]"
  std::string note;   ///< what only the actor's crate knows: "absent: wavefront 2", "not resident"
  quarry::actor const* who = nullptr;   ///< to tell actors apart, never to be followed
  quarry::actor const* owner = nullptr; ///< who must act before the wait can end, if that is known
};

/// Who waits for what: the table behind deadlock and stall reports and SIGQUIT.
struct report {
  std::vector<report_row> rows;
  /// Strands that did not come to a suspension point while the table was made.
  std::vector<std::string> busy;

  void add(std::string_view strand, actor const& a, std::string note = {});
  /// Actors that wait for each other in a ring, as indices of rows; each ring once.
  [[nodiscard]] std::vector<std::vector<std::size_t>> cycles() const;
  /// A line an actor, aligned; below the busy strands and the cycles: "cycle: a -> b -> a".
  [[nodiscard]] std::string to_string() const;
};

/// Thrown by who waits for actors that will not come to an end; what() has the report.
class stall_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] std::string_view to_string(actor_state state) noexcept;
/// "file.cpp:12", without the folders.
[[nodiscard]] std::string to_string(std::source_location where);
[[nodiscard]] inline bool is_same_line(std::source_location a, std::source_location b) noexcept {
  return a.line() == b.line() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

} // namespace quarry
