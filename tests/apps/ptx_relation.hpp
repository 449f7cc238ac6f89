// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ptx_model {

/// A set of events of one execution, by number.
using event_set = std::uint64_t;

[[nodiscard]] constexpr event_set only(std::size_t event) {
  return event_set{1} << event;
}

/// A binary relation on the events of one execution.
class relation {
public:
  static constexpr std::size_t most_events = 64;

  explicit relation(std::size_t event_count) : count_(event_count) {}

  void add(std::size_t from, std::size_t to) { rows_[from] |= only(to); }
  [[nodiscard]] bool contains(std::size_t from, std::size_t to) const {
    return (rows_[from] & only(to)) != 0;
  }
  [[nodiscard]] event_set of(std::size_t from) const { return rows_[from]; }

  [[nodiscard]] friend relation operator|(relation left, relation const& right) {
    for (std::size_t i = 0; i < left.count_; ++i)
      left.rows_[i] |= right.rows_[i];
    return left;
  }
  [[nodiscard]] friend relation operator&(relation left, relation const& right) {
    for (std::size_t i = 0; i < left.count_; ++i)
      left.rows_[i] &= right.rows_[i];
    return left;
  }
  /// From a to c where this goes from a to some b and `next` from b to c.
  [[nodiscard]] relation then(relation const& next) const {
    relation both(count_);
    for (std::size_t i = 0; i < count_; ++i)
      for (event_set left = rows_[i]; left != 0; left &= left - 1)
        both.rows_[i] |= next.rows_[static_cast<std::size_t>(std::countr_zero(left))];
    return both;
  }
  [[nodiscard]] relation inverse() const {
    relation back(count_);
    for (std::size_t i = 0; i < count_; ++i)
      for (event_set left = rows_[i]; left != 0; left &= left - 1)
        back.add(static_cast<std::size_t>(std::countr_zero(left)), i);
    return back;
  }
  /// One step or more.
  [[nodiscard]] relation closure() const {
    relation all = *this;
    for (std::size_t via = 0; via < count_; ++via)
      for (std::size_t i = 0; i < count_; ++i)
        if (all.contains(i, via))
          all.rows_[i] |= all.rows_[via];
    return all;
  }

  [[nodiscard]] bool is_irreflexive() const {
    for (std::size_t i = 0; i < count_; ++i)
      if (contains(i, i))
        return false;
    return true;
  }
  [[nodiscard]] bool is_acyclic() const { return closure().is_irreflexive(); }
  [[nodiscard]] bool is_empty() const {
    for (std::size_t i = 0; i < count_; ++i)
      if (rows_[i] != 0)
        return false;
    return true;
  }

private:
  std::size_t count_;
  std::array<event_set, most_events> rows_{};
};

} // namespace ptx_model
