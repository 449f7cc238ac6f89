// SPDX-License-Identifier: Apache-2.0
#include <quarry/sleep_set_search.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace quarry {

// Footprints

void sleep_set_search::footprint::add(effect const& e) {
  publishes = publishes || e.publishes;
  acquires = acquires || e.acquires;
  is_any = is_any || e.is_any;
  if (e.word == 0)
    return;
  auto const at = std::lower_bound(words.begin(), words.end(), e.word);
  if (at == words.end() || *at != e.word)
    words.insert(at, e.word);
}

void sleep_set_search::footprint::add(footprint const& other) {
  add(effect{.publishes = other.publishes, .acquires = other.acquires, .is_any = other.is_any});
  for (std::uint64_t const word : other.words)
    add(effect{.word = word});
}

void sleep_set_search::footprint::clear() noexcept {
  words.clear();
  publishes = acquires = is_any = false;
}

bool sleep_set_search::footprint::has_to_do_with(footprint const& other) const noexcept {
  if (is_any || other.is_any || (publishes && other.acquires) || (acquires && other.publishes))
    return true;
  return std::any_of(words.begin(), words.end(), [&](std::uint64_t word) {
    return std::binary_search(other.words.begin(), other.words.end(), word);
  });
}

// Executions

void sleep_set_search::begin() {
  position_ = 0;
  last_ = nobody;
  own_.clear();
  all_.clear();
  is_redundant_ = false;
  ++execution_count_;
}

/// The choice that comes next, which there is; or, past the end of what is known, a new one.
unsigned sleep_set_search::follow(unsigned n) {
  if (position_ == choices_.size())
    choices_.push_back({.count = n});
  choice const& now = choices_[position_++];
  if (now.count != n)
    throw std::logic_error(
        fmt::format("choice {} of execution {} is one of {}, it was one of {} before: the program "
                    "depends on more than its choices",
                    position_ - 1, execution_count_, n, now.count));
  return now.taken;
}

unsigned sleep_set_search::pick(unsigned n, choice_kind) {
  return is_redundant_ ? 0 : follow(n);
}

unsigned sleep_set_search::pick_actor(std::span<std::uint32_t const> ready) {
  if (is_redundant_)
    return 0;
  if (position_ == choices_.size()) {
    choice c{.count = static_cast<unsigned>(ready.size()),
             .ready = {ready.begin(), ready.end()},
             .asleep = still_asleep()};
    while (c.taken < c.count && is_in(c.asleep, c.ready[c.taken]))
      ++c.taken;
    if (c.taken == c.count) {
      is_redundant_ = true;
      return 0;
    }
    choices_.push_back(std::move(c));
  }
  end_step();
  last_ = position_;
  return follow(static_cast<unsigned>(ready.size()));
}

void sleep_set_search::on_only(std::uint32_t actor) {
  if (!is_redundant_ && position_ >= replayed_)
    is_redundant_ = is_in(still_asleep(), actor);
}

void sleep_set_search::on_effect(std::uint32_t actor, effect const& e) {
  all_.add(e);
  if (last_ != nobody && choices_[last_].ready[choices_[last_].taken] == actor)
    own_.add(e);
}

/// Another choice of an actor comes, or the end.
void sleep_set_search::end_step() {
  if (last_ != nobody)
    choices_[last_].step.add(own_);
  own_.clear();
  all_.clear();
}

/// Of those that slept before the step which runs, whoever has nothing to do with it.
std::vector<sleep_set_search::sleeper> sleep_set_search::still_asleep() const {
  std::vector<sleeper> those;
  if (last_ == nobody)
    return those;
  choice const& before = choices_[last_];
  for (sleeper const& s : before.asleep)
    if (s.actor != before.ready[before.taken] && !s.does.has_to_do_with(all_))
      those.push_back(s);
  return those;
}

bool sleep_set_search::is_in(std::vector<sleeper> const& those, std::uint32_t actor) noexcept {
  return std::any_of(those.begin(), those.end(),
                     [actor](sleeper const& s) { return s.actor == actor; });
}

/// False if all have been taken, or sleep.
bool sleep_set_search::take_next(choice& c) {
  if (!c.ready.empty()) // what it leads to is known from now on
    c.asleep.push_back({c.ready[c.taken], std::exchange(c.step, {})});
  do
    ++c.taken;
  while (c.taken < c.count && !c.ready.empty() && is_in(c.asleep, c.ready[c.taken]));
  return c.taken < c.count;
}

bool sleep_set_search::next() {
  if (position_ < replayed_)
    throw std::logic_error(fmt::format(
        "execution {} ended after {} choices, of which it was to replay {}: the program "
        "depends on more than its choices",
        execution_count_, position_, replayed_));
  redundant_count_ += is_redundant_ ? 1 : 0;
  end_step();
  while (!choices_.empty() && !take_next(choices_.back()))
    choices_.pop_back();
  replayed_ = choices_.size();
  return !choices_.empty();
}

} // namespace quarry
