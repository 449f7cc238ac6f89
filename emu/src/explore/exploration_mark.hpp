// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quarry {

/// An empty file for what an exploration has to say should its process die: STEM.running, or
/// STEM.2.running if that is another one's, and so on. It is locked while this lives: one that is
/// there and not locked is a dead process's, and becomes STEM.died, or STEM.2.died and so on.
class exploration_mark {
public:
  /// Errors   std::system_error – it cannot be made
  explicit exploration_mark(std::string const& stem);
  exploration_mark(exploration_mark const&) = delete;
  exploration_mark& operator=(exploration_mark const&) = delete;
  /// Removes the file.
  ~exploration_mark();

  [[nodiscard]] int file() const noexcept { return file_.number; }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// The last of those that are dead processes'; empty: there was none.
  [[nodiscard]] std::string const& left_behind() const noexcept { return left_behind_; }

private:
  struct descriptor {
    int number = -1;
    ~descriptor();
  };
  enum class state { ours, anothers, gone };

  [[nodiscard]] bool is_taken(std::string const& path);
  [[nodiscard]] state look(std::string const& path);

  std::string stem_;
  std::string path_;
  std::string left_behind_;
  descriptor file_;
};

} // namespace quarry
