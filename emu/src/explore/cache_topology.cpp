// SPDX-License-Identifier: Apache-2.0
// Which caches there are and whose; all of them anew for the next execution.
#include "cache_machine.hpp"

namespace quarry::emu {

cache_machine::cache_machine(chooser& choices) : choices_(&choices) {
  add_node(memory, memory_level, false);
}

cache_machine::node_id cache_machine::add_node(node_id parent, std::uint8_t level, bool is_leaf) {
  if (node_count_ == nodes_.size())
    nodes_.emplace_back();
  node& n = nodes_[node_count_];
  n.parent = parent;
  n.level = level;
  n.is_leaf = is_leaf;
  return static_cast<node_id>(node_count_++);
}

cache_machine::node_id cache_machine::add_agent() {
  return add_node(memory, l2_level, false);
}

cache_machine::node_id cache_machine::add_compute_unit(node_id agent) {
  return add_node(agent, 1, false);
}

cache_machine::actor_id cache_machine::add_actor(node_id leaf,
                                                 std::array<std::uint8_t, 5> level_of) {
  if (actor_count_ == actors_.size())
    actors_.emplace_back();
  actor& a = actors_[actor_count_];
  a.level_of = level_of;
  a.levels = 0;
  for (node_id n = leaf;; n = nodes_[n].parent) {
    a.path[a.levels++] = n;
    if (n == memory)
      break;
  }
  return static_cast<actor_id>(actor_count_++);
}

cache_machine::actor_id cache_machine::add_wavefront(node_id compute_unit) {
  return add_actor(add_node(compute_unit, 0, true), {0, 0, 1, 2, 3});
}

cache_machine::actor_id cache_machine::add_core(node_id agent) {
  return add_actor(add_node(agent, 0, true), {0, 0, 0, 1, 2});
}

cache_machine::actor_id cache_machine::add_host() {
  // Mostly it is what it was in the last execution.
  if (node_count_ < nodes_.size() && actor_count_ < actors_.size()) [[likely]] {
    node const& n = nodes_[node_count_];
    actor const& a = actors_[actor_count_];
    if (n.is_leaf && n.parent == memory && a.levels == 2 && a.path[0] == node_count_) {
      ++node_count_;
      return static_cast<actor_id>(actor_count_++);
    }
  }
  return add_actor(add_node(memory, 0, true), {0, 0, 0, 1, 1});
}

void cache_machine::set_first_value(first_value f, void* argument) noexcept {
  first_value_ = f;
  first_value_argument_ = argument;
}

void cache_machine::set_tag_join(tag_join f, void* argument) noexcept {
  tag_join_ = f;
  tag_join_argument_ = argument;
}

void cache_machine::reset() {
  for (std::size_t i = 0; i < node_count_; ++i) { // beyond them all is as it will be
    node& n = nodes_[i];
    n.places.end_execution();
    n.live.clear();
    n.dirty.clear();
    n.held.clear();
    n.since = n.coarse_since = {};
  }
  for (std::size_t i = 0; i < actor_count_; ++i) {
    actors_[i].delayed.clear();
    actors_[i].unseen.clear();
    actors_[i].to_come = {};
    actors_[i].has_fenced = false;
    actors_[i].asked.is_met = nullptr;
    actors_[i].in_vain.clear();
  }
  cells_.clear();
  wide_count_ = 0;
  open_.clear();
  undecided_count_ = 0;
  lingering_.clear();
  released_.clear();
  values_.clear();
  if (++execution_ == 0) {
    for (node& n : nodes_)
      n.places.clear();
    execution_ = 1;
  }
  lines_.clear();
  coarse_.clear();
  now_ = 1;
  last_write_ = 0;
  delaying_.clear();
  late_fence_count_ = unseen_count_ = 0;
  takes_newest_ = false;
}

void cache_machine::clear() {
  reset();
  node_count_ = 1; // memory
  actor_count_ = 0;
}

} // namespace quarry::emu
