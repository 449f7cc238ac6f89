// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bounded_output.hpp"

#include <quarry/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::command {

/// Hands a child's output on, a whole line at a time with a prefix, so that the lines of several
/// children do not run into each other.
class line_relay {
public:
  /// A line longer than this is handed on in pieces, each of them a line.
  static constexpr std::size_t longest_line = std::size_t{1} << 20;

  /// Errors   a std::errc – no pipe could be made
  [[nodiscard]] static result<line_relay> make(std::string prefix);

  line_relay(line_relay&& other) noexcept;
  line_relay& operator=(line_relay&&) = delete;
  ~line_relay();

  /// What the child writes to. Close-on-exec; closed here by close_writer().
  [[nodiscard]] int writer() const { return writer_; }
  /// Once the child has it: the end of its output is seen only when nobody else could write.
  void close_writer();

  /// What to poll for input; -1 when the output has ended.
  [[nodiscard]] int reader() const { return reader_; }
  /// Hands on what there is, without waiting for more, until `to` is full.
  void pump(bounded_output& to);
  /// Hands on what there is, and then a last line that has no end, even if `to` is full.
  void finish(bounded_output& to);

private:
  line_relay(int reader, int writer, std::string prefix);

  bool read_some(bounded_output& to);
  void hand_on(std::string_view lines, bounded_output& to) const;
  void flush_lines(bounded_output& to);

  int reader_;
  int writer_;
  std::string prefix_;
  std::string pending_; // the beginning of a line whose end has not come yet
};

} // namespace quarry::command
