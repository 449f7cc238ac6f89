// SPDX-License-Identifier: Apache-2.0
// What updates release: an update takes place at once, but the stores before it need not be there
// before somebody has seen it.
#include "cache_cells.hpp"

#include <algorithm>
#include <iterator>

namespace quarry::emu {

/// Whether a release to the path's `level` would change anything, but for who sees the cell. What
/// the actor has just taken there may bring along something.
bool cache_machine::has_to_release(actor const& a, cell_id c, unsigned level) const {
  auto const below = std::span(a.path).first(level);
  return !a.delayed.empty() || !open_.empty() ||
         std::ranges::any_of(below, [&](node_id n) { return !nodes_[n].dirty.empty(); }) ||
         std::ranges::any_of(lingering_, [&](lingering_version const& v) { return v.of != c; }) ||
         (unseen_count_ != 0 && std::ranges::any_of(actors_, [&](actor const& other) {
            return &other != &a && std::ranges::any_of(other.unseen, [&](unseen_release const& u) {
              return u.id == taken_;
            });
          }));
}

/// Somebody may still take a version of its write.
bool cache_machine::can_be_seen(unseen_release const& u) const {
  for (node_id n = 0; n < node_count_; ++n)
    if (has(n, u.of) && nodes_[n].places[u.of].find_copy(u.id) != unknown)
      return true;
  return false;
}

/// The actor's next write, an update of the cell, releases to the path's `level`.
void cache_machine::release_when_seen(actor& a, cell_id c, unsigned level) {
  if (!has_to_release(a, c, level))
    return;
  unseen_count_ -=
      std::erase_if(a.unseen, [&](unseen_release const& u) { return !can_be_seen(u); });
  if (a.unseen.size() == most_unseen) {
    leave_out();
    perform_unseen(a, 0);
  }
  a.unseen.push_back({c, last_write_ + 1, now_++, static_cast<std::uint8_t>(level),
                      static_cast<std::uint8_t>(a.delayed.size())});
  ++unseen_count_;
  log_path(a, level); // what is there now goes along
}

/// With all that comes before it; the word itself is there.
void cache_machine::perform_unseen(actor& a, std::size_t which) {
  unseen_release const u = a.unseen[which];
  drain(a, u.delayed);
  flush(a, u.level, u.since); // while it is still to come, see arrival_of()
  forget_unseen(a, u.level, u.since + 1);
}

/// What came before that time, and has been released to the path's `level`, need not be any more:
/// it is there now.
void cache_machine::forget_unseen(actor& a, unsigned level, time before) {
  unseen_count_ -= std::erase_if(a.unseen, [&](unseen_release const& u) {
    bool const is_there = u.level <= level && u.since < before && u.delayed == 0;
    if (is_there && u.id < released_.size())
      released_[u.id].at = now_;
    return is_there;
  });
}

void cache_machine::perform_unseen_of(actor& a, cell_id c, unsigned covered) {
  for (std::size_t i = a.unseen.size(); i-- != 0; i = std::min(i, a.unseen.size()))
    if (a.unseen[i].of == c && a.unseen[i].level > covered)
      perform_unseen(a, i);
}

/// True if there were any.
bool cache_machine::perform_all_unseen(cell_id c) {
  std::size_t const before = unseen_count_;
  for (actor& a : actors_)
    perform_own_unseen(a, c, 0);
  return unseen_count_ != before;
}

/// Nobody will see the cell.
void cache_machine::drop_unseen(cell_id c) {
  if (unseen_count_ == 0) [[likely]]
    return;
  for (actor& a : actors_)
    unseen_count_ -= std::erase_if(a.unseen, [c](unseen_release const& u) { return u.of == c; });
}

/// Of what the actor has taken a version of, a write of another one.
void cache_machine::perform_seen(actor const& by, std::uint32_t id) {
  if (unseen_count_ == 0) [[likely]]
    return;
  for (actor& a : actors_)
    if (&a != &by)
      for (std::size_t i = 0; i < a.unseen.size(); ++i)
        if (a.unseen[i].id == id)
          return perform_unseen(a, i);
}

/// Where their writes are decides who may see them.
void cache_machine::mix_unseen(std::uint64_t& h, actor const& a) const {
  mix(h, a.unseen.size());
  for (unseen_release const& u : a.unseen) {
    mix(h, cells_[u.of].at);
    mix(h, 256U * u.delayed + u.level);
    for (node_id n = 0; n < node_count_; ++n) {
      index const which = has(n, u.of) ? nodes_[n].places[u.of].find_copy(u.id) : unknown;
      mix(h, which == unknown ? 0 : nodes_[n].places[u.of].count - which);
    }
  }
}

} // namespace quarry::emu
