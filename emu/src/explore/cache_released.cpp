// SPDX-License-Identifier: Apache-2.0
// Whose releases a write is part of: an acquire that reads it orders with those, and nobody else.
#include "cache_cells.hpp"

#include <algorithm>
#include <span>

namespace quarry::emu {

/// By the newest write.
void cache_machine::keep_release(actor_id by) {
  released_.resize(last_write_ + 1);
  released_[last_write_] = {by, now_};
}

/// Whether there is anything to acquire to the path's `level`: somebody else has released it since
/// the actor acquired last.
bool cache_machine::is_news_to(actor const& a, unsigned level, released r) const noexcept {
  auto const& since = nodes_[a.path[0]].since;
  return r.by != nobody && r.by != number_of(a) &&
         std::ranges::any_of(std::span(a.path).subspan(1, level),
                             [&](node_id n) { return since[nodes_[n].level] < r.at; });
}

/// To whom it is news, should they take it.
void cache_machine::mix_released(std::uint64_t& h, released r) const {
  mix(h, r.by);
  for (std::size_t i = 0; i < actor_count_; ++i) {
    unsigned known_to = 0; // so many levels: of those farther up an actor knows less
    while (known_to + 1U < actors_[i].levels && !is_news_to(actors_[i], known_to + 1, r))
      ++known_to;
    mix(h, known_to);
  }
}

} // namespace quarry::emu
