// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failure_folder.hpp"
#include "watch_thread.hpp"

#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <mutex>
#include <vector>

namespace quarry {

class explorer;

/// Looks, on the watch_thread, whether executions go on; ends the process if one does not for
/// explore_options::patience, with what there is to say of it. The time in which a debugger holds
/// the process does not count, and nobody looks where one has started it.
///
/// Source   design §2: a decision that does not return is reported with actor and source line
class watchdog final : watched_regularly {
public:
  /// Both are borrowed.
  watchdog(explore_options const& options, failure_folder& folder);
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog();

  // From any thread.
  void begin(explorer& of);
  void end(explorer const& of);

private:
  struct watched {
    explorer* worlds;
    std::uint64_t seen = 0; ///< of its progress
    int looks = 0;          ///< since that has changed
  };
  void look() override;
  [[noreturn]] void give_up(explorer& stuck);

  explore_options const& options_;
  failure_folder& folder_;
  std::mutex mutex_; ///< guards what follows
  std::vector<watched> all_;
};

} // namespace quarry
