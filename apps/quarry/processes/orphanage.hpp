// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "owned_fd.hpp"

#include <string>

namespace quarry::command {

/// While it lives, processes that our children have started and left behind become our children
/// (PR_SET_CHILD_SUBREAPER), so that they can be ended with the job that they belong to.
class orphanage {
public:
  orphanage();
  orphanage(orphanage const&) = delete;
  orphanage& operator=(orphanage const&) = delete;
  ~orphanage();

  /// Kills every child that we have, and those that come to us because of that, and waits for
  /// them. For when all children that somebody still wants to wait for have been waited for.
  void close();

private:
  [[nodiscard]] std::string children() const;

  owned_fd list_; // opened early: in the end there may be no descriptor left to open it with
  int before_ = 0;
};

} // namespace quarry::command
