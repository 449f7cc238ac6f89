// SPDX-License-Identifier: Apache-2.0
#include <quarry/litmus/rendezvous.hpp>

#include <algorithm>
#include <variant>

namespace quarry::litmus {

rendezvous::rendezvous(test const& t) : parts_(t.barriers.size() * t.threads.size()) {
  for (std::size_t i = 0; i < t.threads.size(); ++i) {
    where_.push_back(t.threads[i].where);
    for (auto const& what : t.threads[i].program)
      if (auto const* b = std::get_if<barrier>(&what)) {
        auto& of = parts_[b->instance * t.threads.size() + i];
        of.is_there = true;
        of.is_of_subgroup = b->is_of_subgroup;
        if (!b->id)
          of.ids.emplace_back(std::nullopt);
        else if (auto const* constant = std::get_if<value>(&*b->id))
          of.ids.emplace_back(*constant);
        else
          of.may_vary = true;
      }
  }
}

bool rendezvous::part::may_come_to(barrier_id id) const {
  return is_there && ((may_vary && id) || std::ranges::find(ids, id) != ids.end());
}

void rendezvous::reset() {
  for (auto& one : parts_)
    one.came.clear();
}

void rendezvous::arrive(std::uint32_t thread, std::uint32_t instance, barrier_id id) {
  parts_[instance * where_.size() + thread].came.push_back(id);
}

bool rendezvous::is_open(std::uint32_t thread, std::uint32_t instance,
                         std::optional<value> quorum) const {
  auto const& own = part_of(thread, instance);
  auto const turn = own.came.size();
  auto const id = own.came.back();
  value present = 0;
  for (std::size_t i = 0; i < where_.size(); ++i) {
    if (!meet(thread, i, own))
      continue;
    auto const& other = part_of(i, instance);
    bool const came = other.came.size() >= turn;
    present += came && other.came[turn - 1] == id;
    if (!quorum && !came && other.may_come_to(id))
      return false;
  }
  return !quorum || present >= *quorum;
}

std::uint64_t rendezvous::hash(std::uint64_t seed) const {
  for (auto const& one : parts_) {
    seed = mixed(seed, one.came.size());
    for (auto const& id : one.came)
      seed = mixed(seed, id ? 2 * static_cast<std::uint64_t>(*id) + 1 : 0);
  }
  return seed;
}

} // namespace quarry::litmus
