// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../named_pes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quarry::net::gravel {

/// When each node that is waited for was last heard, or last took a message.
class last_words {
public:
  using clock = std::chrono::steady_clock;

  explicit last_words(std::uint32_t nodes) : nodes_(nodes) {}

  /// Since the last look.
  void hear(std::uint32_t node) noexcept { nodes_[node].is_new = true; }
  /// `waits_for(node)`: now. One that was not waited for at the last look counts as heard.
  template<class WaitsFor>
  void look(clock::time_point now, WaitsFor const& waits_for) {
    std::uint32_t n = 0;
    for (word& w : nodes_) {
      bool const was_awaited = std::exchange(w.is_awaited, waits_for(n++));
      if (std::exchange(w.is_new, false) || !was_awaited)
        w.at = now;
    }
  }
  /// From now on none is waited for.
  void rest() noexcept {
    for (word& w : nodes_)
      w.is_awaited = false;
  }
  /// Whether anybody is missing().
  [[nodiscard]] bool are_missing(clock::time_point since) const noexcept {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [since](word const& w) { return w.is_missing(since); });
  }
  /// "pe 1, pe 2": who is waited for and has said nothing since then, as of the last look.
  [[nodiscard]] std::string missing(clock::time_point since) const {
    return named_pes(static_cast<std::uint32_t>(nodes_.size()),
                     [&](std::uint32_t n) { return nodes_[n].is_missing(since); });
  }

private:
  struct word {
    bool is_new = false; ///< it is cheaper to ask for the time once for all
    bool is_awaited = false;
    clock::time_point at{};
    [[nodiscard]] bool is_missing(clock::time_point since) const noexcept {
      return is_awaited && at <= since;
    }
  };
  std::vector<word> nodes_;
};

} // namespace quarry::net::gravel
