// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "owned_fd.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace quarry::command {

/// Text on its way to a descriptor of ours, whose reader may be slow or not read at all: nothing
/// here waits for that.
class bounded_output {
public:
  /// When so much waits to be written it is time to stop.
  static constexpr std::size_t room = std::size_t{1} << 16;

  /// `target` stays open for as long as this lives.
  explicit bounded_output(int target);

  /// To be written by flush(). Dropped if nobody can read it, or if this is full and drop_excess()
  /// has been called; else kept, however much it is.
  void put(std::string_view text);
  /// Writes what can be written at once. What meets an error is dropped.
  void flush();
  /// From now on what comes while this is full is dropped, and is_full() is false.
  void drop_excess() { drops_excess_ = true; }

  [[nodiscard]] bool is_empty() const { return waiting_.empty(); }
  [[nodiscard]] bool is_full() const { return !drops_excess_ && waiting_.size() >= room; }
  /// What to poll for room (POLLOUT) before the next flush(); -1 if nothing waits to be written.
  [[nodiscard]] int fd_to_wait_for() const { return waiting_.empty() ? -1 : fd(); }
  /// Why something was dropped that could not be written, as to a full disk; none: nothing was.
  [[nodiscard]] std::error_code loss() const { return loss_; }
  /// Nobody can read what we write any more (EPIPE). Only while SIGPIPE is ignored.
  [[nodiscard]] bool has_lost_reader() const { return has_lost_reader_; }

private:
  [[nodiscard]] int fd() const { return again_.get() >= 0 ? again_.get() : target_; }
  [[nodiscard]] std::size_t write_some(std::string_view text);

  int target_;
  owned_fd again_; // the target, opened once more, or -1
  std::string waiting_;
  bool drops_excess_ = false;
  std::error_code loss_; // the first
  bool has_lost_reader_ = false;
};

} // namespace quarry::command
