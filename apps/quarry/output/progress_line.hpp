// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace quarry::command {

/// One line on standard error that says how far a program has come: percentage, rate, time left.
///
/// Written at most ten times a second, and only if standard error is a terminal; removed when the
/// object goes. For one thread.
class progress_line {
public:
  enum class place { terminal, nowhere };

  /// Shape    the total in whatever update() counts, 0 if nobody knows; `unit` is its plural, such
  ///          as "updates"
  progress_line(place where, std::string label, std::uint64_t total, std::string unit);
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line();

  /// `done` of the total are done. Cheap enough for a polling loop.
  void update(std::uint64_t done);

private:
  using clock = std::chrono::steady_clock;

  bool is_shown_;
  bool is_dirty_ = false; // there is something to remove
  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  clock::time_point started_ = clock::now();
  clock::time_point next_ = started_;
};

} // namespace quarry::command
