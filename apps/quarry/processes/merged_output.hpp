// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bounded_output.hpp"
#include "line_relay.hpp"

#include <cstddef>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace quarry::command {

/// What several children write, and what we say ourselves, line by line to one descriptor of ours.
/// While that has no room the children are not read, so that they wait as they would for it.
class merged_output {
public:
  explicit merged_output(int target) : out_(target) {}

  /// One more pipe that `child` writes to; for it alone once it runs and close_writers() is called.
  ///
  /// Errors   a std::errc – no pipe could be made
  [[nodiscard]] result<int> add_writer(std::size_t child, std::string prefix);
  /// Closes ours of what add_writer() has returned for `child`.
  void close_writers(std::size_t child);

  void put(std::string_view line) { out_.put(line); }
  /// Appends what to poll for before the next take().
  void add_inputs(std::vector<pollfd>& inputs) const;
  /// Hands on what it can without waiting. `inputs` begins with what add_inputs() appended; returns
  /// the rest.
  std::span<pollfd const> take(std::span<pollfd const> inputs);

  /// Takes all that `child` has written so far.
  void finish(std::size_t child);
  /// For when all children have ended: hands on what they have left, as far as there is room. True
  /// if that is all; otherwise more can be done after the next take().
  [[nodiscard]] bool finish_all();

  /// From now on what there is no room for is dropped, and no child waits for room.
  void drop_excess() { out_.drop_excess(); }
  [[nodiscard]] std::error_code loss() const { return out_.loss(); }
  [[nodiscard]] bool has_lost_reader() const { return out_.has_lost_reader(); }

private:
  struct source {
    std::size_t child;
    line_relay relay;
  };

  bounded_output out_;
  std::vector<source> sources_;
  std::size_t turn_ = 0;     // whose it is to be read first
  std::size_t finished_ = 0; // so many by finish_all(), the first ones
  bool is_finishing_ = false;
};

/// For our standard output and then our standard error; only one if both are the same pipe or
/// terminal, where the lines of one could break up those of the other.
[[nodiscard]] std::vector<merged_output> standard_outputs();

} // namespace quarry::command
