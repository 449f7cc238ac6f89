// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>

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
  std::string note;   ///< what only the actor's crate knows: "absent: wavefront 2", "not resident"
};

/// Who waits for what: the table behind deadlock and stall reports and SIGQUIT.
struct report {
  std::vector<report_row> rows;
  /// Strands that did not come to a suspension point while the table was made.
  std::vector<std::string> busy;

  void add(std::string_view strand, actor const& a, std::string note = {});
  /// A line an actor, aligned; the busy strands below.
  [[nodiscard]] std::string to_string() const;
};

[[nodiscard]] std::string_view to_string(actor_state state) noexcept;
/// "file.cpp:12", without the folders.
[[nodiscard]] std::string to_string(std::source_location where);

} // namespace quarry
