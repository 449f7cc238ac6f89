// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace quarry::emu {

/// What the actors of an execution have thrown, and whether somebody has joined them since: others
/// may wait in vain for who has thrown.
class thrown_exceptions {
public:
  struct entry {
    std::exception_ptr what;
    std::string who;
    bool is_child = false; ///< of a nursery, and no actor of a world
    bool is_heard = false; ///< somebody has joined
  };

  void add(entry e) { all_.push_back(std::move(e)); }
  void hear(std::exception_ptr const& what) noexcept;
  /// Null: nobody has thrown it.
  [[nodiscard]] entry const* find(std::exception_ptr const& what) const noexcept;
  /// The oldest that nobody has heard of; of a child's, too, or not. Null: there is none.
  [[nodiscard]] entry const* first_unheard(bool with_children) const noexcept;
  void clear() noexcept { all_.clear(); }

private:
  std::vector<entry> all_; ///< oldest first
};

} // namespace quarry::emu
