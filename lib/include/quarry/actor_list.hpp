// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>

#include <utility>

namespace quarry {

/// A first-in first-out list of actors, linked by actor::next. Not thread-safe.
class actor_list {
public:
  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

  void push_back(actor& a) noexcept {
    a.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &a;
    last_ = &a;
  }

  /// The list must not be empty.
  actor& pop_front() noexcept {
    actor& a = *first_;
    first_ = std::exchange(a.next, nullptr);
    return a;
  }

  template<class F>
  void remove_if(F&& is_gone) {
    actor_list kept;
    while (!is_empty())
      if (actor& a = pop_front(); !is_gone(a))
        kept.push_back(a);
    *this = kept;
  }

private:
  actor* first_ = nullptr;
  actor* last_ = nullptr; ///< meaningless while the list is empty
};

} // namespace quarry
