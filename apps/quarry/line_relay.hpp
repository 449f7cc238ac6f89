// SPDX-License-Identifier: Apache-2.0
#pragma once

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

  /// Lines go to the descriptor `target`, which stays open for as long as this lives.
  ///
  /// Errors   a std::errc – no pipe could be made
  [[nodiscard]] static result<line_relay> to(int target, std::string prefix);

  line_relay(line_relay&& other) noexcept;
  line_relay& operator=(line_relay&&) = delete;
  ~line_relay();

  /// What the child writes to. Close-on-exec; closed here by close_writer().
  [[nodiscard]] int writer() const { return writer_; }
  /// Once the child has it: the end of its output is seen only when nobody else could write.
  void close_writer();

  /// What to poll for input; -1 when the output has ended.
  [[nodiscard]] int reader() const { return reader_; }
  /// Hands on what there is, without waiting for more.
  void pump();
  /// Hands on what there is, and then a last line that has no end.
  void finish();
  /// Nobody can read the target any more (EPIPE); what comes for it is dropped.
  [[nodiscard]] bool has_lost_reader() const { return has_lost_reader_; }

private:
  line_relay(int reader, int writer, int target, std::string prefix);

  void hand_on(std::string_view text);
  void flush_lines();

  int reader_;
  int writer_;
  int target_;
  std::string prefix_;
  bool has_lost_reader_ = false;
  std::string pending_; // the beginning of a line whose end has not come yet
};

} // namespace quarry::command
