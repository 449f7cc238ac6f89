// SPDX-License-Identifier: Apache-2.0
#include "re_execution.hpp"

#include <quarry/exhaustive.hpp>

#include <algorithm>
#include <utility>

namespace quarry {

exhaustive_search::exhaustive_search(limits most) : most_(most) {}

void exhaustive_search::begin() {
  position_ = 0;
  deviations_ = 0;
  stale_ = 0;
  preemptions_.begin();
  ++execution_count_;
}

unsigned exhaustive_search::pick(unsigned n, choice_kind kind) {
  bool const may_be_late = is_about_lateness(kind);
  unsigned const taken = choose(n, !may_be_late || stale_ < most_.stale);
  stale_ += may_be_late && taken != 0 ? 1 : 0;
  return taken;
}

unsigned exhaustive_search::pick_actor(std::span<std::uint32_t const> ready) {
  unsigned const taken =
      choose(static_cast<unsigned>(ready.size()),
             preemptions_.is_free(ready) || preemptions_.value() < most_.preemptions);
  preemptions_.on_pick(ready, taken);
  return taken;
}

unsigned exhaustive_search::choose(unsigned n, bool may_deviate) {
  if (position_ == choices_.size()) {
    may_deviate = may_deviate && deviations_ < most_.deviations;
    has_held_back_ = has_held_back_ || !may_deviate;
    choices_.push_back({.taken = 0, .count = n, .end = may_deviate ? n : 1});
  }
  choice const& now = choices_[position_];
  check_choice(position_++, execution_count_, n, now.count);
  deviations_ += now.taken != 0 ? 1 : 0;
  return now.taken;
}

bool exhaustive_search::is_new(std::uint64_t state_hash) {
  if (is_replaying())
    return true;
  if (states_.contains(state_hash)) {
    ++pruned_count_;
    return false;
  }
  is_bounded_ = is_bounded_ || states_.size() == most_.states;
  if (is_bounded_)
    return false;
  states_.insert(state_hash);
  return true;
}

bool exhaustive_search::next() {
  check_replayed(position_, execution_count_, replayed_);
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().end)
    choices_.pop_back();
  if (choices_.empty() || is_bounded_)
    return false;
  ++choices_.back().taken;
  replayed_ = choices_.size();
  return true;
}

bool exhaustive_search::split(exhaustive_search& others) {
  // Of the choices with an alternative left, the first one's are about the most.
  auto const open = std::find_if(choices_.begin(), choices_.end(),
                                 [](choice const& c) { return c.taken + 1 != c.end; });
  if (open == choices_.end())
    return false;
  others.most_ = most_;
  others.choices_.assign(choices_.begin(), open + 1);
  for (choice& before : std::span(others.choices_).first(others.choices_.size() - 1))
    before.end = before.taken + 1;
  ++others.choices_.back().taken;
  others.replayed_ = others.choices_.size();
  open->end = open->taken + 1;
  return true;
}

bool exhaustive_search::hash_set::contains(std::uint64_t hash) const {
  return hash == 0 ? has_zero_ : !slots_.empty() && slots_[slot_of(hash)] != 0;
}

void exhaustive_search::hash_set::insert(std::uint64_t hash) {
  ++size_;
  if (2 * size_ > slots_.size())
    grow();
  if (hash == 0)
    has_zero_ = true;
  else
    slots_[slot_of(hash)] = hash;
}

std::size_t exhaustive_search::hash_set::slot_of(std::uint64_t hash) const {
  std::size_t const mask = slots_.size() - 1;
  // A hash that is none, such as a counter, must not fill one end of the table.
  std::size_t at = (hash * 0x9e3779b97f4a7c15U >> 20) & mask;
  while (slots_[at] != 0 && slots_[at] != hash)
    at = (at + 1) & mask;
  return at;
}

void exhaustive_search::hash_set::grow() {
  std::vector<std::uint64_t> const old = std::move(slots_);
  slots_ = std::vector<std::uint64_t>(old.empty() ? 1024 : 2 * old.size());
  for (std::uint64_t const hash : old)
    if (hash != 0)
      slots_[slot_of(hash)] = hash;
}

} // namespace quarry
