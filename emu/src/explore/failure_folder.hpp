// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exploration_mark.hpp"

#include <quarry/emu/replay_file.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace quarry {

/// A folder that somebody wants failures to be in, or nobody: that one may be impossible to make,
/// and is there only as long as something is in it.
struct kept_in {
  std::string folder; ///< empty: nothing is kept
  bool is_by_default = false;
};

/// Where the failures of one exploration are kept, and, while it runs, how far it has come: the
/// process may die in the midst of an execution.
class failure_folder {
public:
  /// Of an exploration by so many jobs.
  ///
  /// Errors   std::system_error – it cannot be made, or written to
  failure_folder(kept_in place, std::string const& name, std::uint64_t first_seed, unsigned jobs);
  failure_folder(failure_folder const&) = delete;
  failure_folder& operator=(failure_folder const&) = delete;
  /// The exploration has ended: its mark goes.
  ~failure_folder();

  /// The job's execution with this number, from 1 on, begins. A store to memory; thread-safe for
  /// different jobs.
  void begin(unsigned job, std::uint64_t execution) noexcept;
  /// What an exploration left behind that never ended; empty: none did.
  [[nodiscard]] std::string left_behind() const;
  /// Why the folder that nobody has asked for could not be made; empty: it could.
  [[nodiscard]] std::string const& why_not() const noexcept { return why_not_; }
  /// The mark; empty: there is none.
  [[nodiscard]] std::string mark() const { return running_ ? running_->path() : ""; }
  /// The file's path; empty if nothing is kept.
  ///
  /// Errors   std::system_error – it cannot be written
  [[nodiscard]] std::string save(replay_file const& failure);
  /// The same failure, in place of the file that save() gave, which is there until this one is.
  [[nodiscard]] std::string save_instead(std::string const& saved, replay_file const& failure);

private:
  std::string write(replay_file const& failure, std::string const& path);
  void mark_beginning(std::string const& name, std::uint64_t first_seed, unsigned jobs);

  kept_in place_;
  std::string why_not_;
  std::string stem_;                          ///< folder and the world's name
  std::unique_ptr<exploration_mark> running_; ///< null: nothing is kept
  char* mark_ = nullptr;                      ///< the mapped file
  std::size_t mark_bytes_ = 0;                ///< of it
  char* numbers_ = nullptr;                   ///< the digits in it, a line a job
};

} // namespace quarry
