// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exploration_mark.hpp"

#include <quarry/emu/replay_file.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quarry {

/// Where the failures of one exploration are kept, and, while it runs, how far it has come: the
/// process may die in the midst of an execution.
class failure_folder {
public:
  /// Of an exploration by so many jobs. An empty folder keeps nothing.
  ///
  /// Errors   std::system_error – it cannot be made, or written to
  failure_folder(std::string const& folder, std::string const& name, std::uint64_t first_seed,
                 unsigned jobs);
  failure_folder(failure_folder const&) = delete;
  failure_folder& operator=(failure_folder const&) = delete;
  /// The exploration has ended: its mark goes.
  ~failure_folder();

  /// The job's execution with this number, from 1 on, begins. A store to memory; thread-safe for
  /// different jobs.
  void begin(unsigned job, std::uint64_t execution) noexcept;
  /// What an exploration left behind that never ended; empty: none did.
  [[nodiscard]] std::string left_behind() const;
  /// The file's path; empty if nothing is kept.
  ///
  /// Errors   std::system_error – it cannot be written
  [[nodiscard]] std::string save(replay_file const& failure) const;

private:
  std::string stem_; ///< folder and the world's name
  std::optional<exploration_mark> running_;
  char* mark_ = nullptr;       ///< the mapped file
  std::size_t mark_bytes_ = 0; ///< of it
  char* numbers_ = nullptr;    ///< the digits in it, a line a job
};

} // namespace quarry
