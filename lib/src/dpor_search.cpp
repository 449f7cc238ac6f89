// SPDX-License-Identifier: Apache-2.0
#include "re_execution.hpp"

#include <quarry/dpor_search.hpp>

#include <algorithm>
#include <utility>

namespace quarry {

// Executions

void dpor_search::begin() {
  position_ = 0;
  last_ = nobody;
  all_.clear();
  steps_.clear();
  first_new_ = 0;
  is_redundant_ = false;
  ++execution_count_;
}

/// The choice that comes next, which there is; or, past the end of what is known, a new one.
unsigned dpor_search::follow(unsigned n) {
  if (position_ == choices_.size())
    choices_.push_back({.count = n});
  if (position_ + 1 == replayed_) // what came before is known, but not what the step that runs does
    first_new_ = steps_.empty() ? 0 : steps_.size() - 1;
  choice const& now = choices_[position_];
  check_choice(position_++, execution_count_, n, now.count);
  return now.taken;
}

unsigned dpor_search::pick(unsigned n, choice_kind) {
  return is_redundant_ ? 0 : follow(n);
}

unsigned dpor_search::pick_actor(std::span<std::uint32_t const> ready) {
  if (is_redundant_)
    return 0;
  if (position_ == choices_.size()) {
    choice c{.count = static_cast<unsigned>(ready.size()),
             .ready = {ready.begin(), ready.end()},
             .is_wanted = std::vector<bool>(ready.size()),
             .asleep = still_asleep()};
    while (c.taken < c.count && is_in(c.asleep, c.ready[c.taken]))
      ++c.taken;
    if (c.taken == c.count) {
      is_redundant_ = true;
      return 0;
    }
    c.is_wanted[c.taken] = true;
    choices_.push_back(std::move(c));
  }
  all_.clear();
  last_ = position_;
  unsigned const taken = follow(static_cast<unsigned>(ready.size()));
  begin_step(ready[taken], last_);
  return taken;
}

void dpor_search::on_only(std::uint32_t actor) {
  if (is_redundant_)
    return;
  if (position_ >= replayed_)
    is_redundant_ = is_in(still_asleep(), actor);
  begin_step(actor, nobody);
}

void dpor_search::on_effect(std::uint32_t actor, effect const& e) {
  if (is_redundant_)
    return;
  all_.add(e);
  // What nobody does follows from what somebody has just done.
  if (steps_.empty() || (actor != 0 && steps_.back().actor != actor))
    begin_step(actor, nobody);
  steps_.back().does.add(e);
  if (last_ != nobody && choices_[last_].ready[choices_[last_].taken] == steps_.back().actor)
    choices_[last_].step.add(e);
}

void dpor_search::begin_step(std::uint32_t actor, std::size_t from) {
  steps_.push_back({.actor = actor, .from = from});
}

/// Of those that slept before the step which runs, whoever has nothing to do with it.
std::vector<dpor_search::sleeper> dpor_search::still_asleep() const {
  std::vector<sleeper> those;
  if (last_ == nobody)
    return those;
  choice const& before = choices_[last_];
  for (sleeper const& s : before.asleep)
    if (s.actor != before.ready[before.taken] && !s.does.has_to_do_with(all_))
      those.push_back(s);
  return those;
}

bool dpor_search::is_in(std::vector<sleeper> const& those, std::uint32_t actor) noexcept {
  return std::any_of(those.begin(), those.end(),
                     [actor](sleeper const& s) { return s.actor == actor; });
}

// Reduction

bool dpor_search::is_before(std::size_t earlier, step const& later) const noexcept {
  std::uint32_t const actor = steps_[earlier].actor;
  return actor < later.after.size() && later.after[actor] > earlier;
}

/// `later` comes after the step, and after whatever that comes after.
void dpor_search::order_after(step& later, std::size_t earlier) const {
  step const& e = steps_[earlier];
  later.after.resize(std::max<std::size_t>({later.after.size(), e.after.size(), e.actor + 1U}));
  for (std::size_t a = 0; a < e.after.size(); ++a)
    later.after[a] = std::max(later.after[a], e.after[a]);
  later.after[e.actor] = std::max(later.after[e.actor], earlier + 1);
}

/// Orders the steps of the execution, and has those turned round that only their own effects order:
/// races, of which the execution before has not seen the second step.
void dpor_search::turn_races_round() {
  std::vector<std::size_t> last_of; // by actor: the number of its last step, from 1 on
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    step& now = steps_[i];
    last_of.resize(std::max<std::size_t>(last_of.size(), now.actor + 1));
    if (std::size_t const own = std::exchange(last_of[now.actor], i + 1); own != 0)
      order_after(now, own - 1);
    for (std::size_t j = i; j-- != 0;)
      if (!is_before(j, now) && steps_[j].does.has_to_do_with(now.does)) {
        order_after(now, j);
        if (i >= first_new_ && steps_[j].from != nobody)
          turn_round(j, i);
      }
  }
}

/// Before the first step of a race somebody is to go on who can begin what leads to the second one
/// without it: unless one of those does so already, or what they lead to is known.
void dpor_search::turn_round(std::size_t first, std::size_t second) {
  choice& c = choices_[steps_[first].from];
  std::vector<std::size_t> without; // it: what comes between, and the second one
  std::size_t wanted = c.ready.size();
  for (std::size_t i = first + 1; i <= second; ++i) {
    step const& s = steps_[i];
    if (i != second && is_before(first, s))
      continue;
    bool const can_begin = std::none_of(without.begin(), without.end(),
                                        [&](std::size_t k) { return is_before(k, s); });
    without.push_back(i);
    auto const at = std::find(c.ready.begin(), c.ready.end(), s.actor);
    if (!can_begin || at == c.ready.end())
      continue;
    auto const which = static_cast<std::size_t>(at - c.ready.begin());
    if (c.is_wanted[which] || is_in(c.asleep, s.actor))
      return;
    wanted = std::min(wanted, which);
  }
  if (wanted != c.ready.size())
    c.is_wanted[wanted] = true;
}

/// False if all that are wanted have been taken, or sleep.
bool dpor_search::take_next(choice& c) {
  if (c.ready.empty())
    return ++c.taken < c.count;
  c.asleep.push_back({c.ready[c.taken], std::exchange(c.step, {})}); // what it leads to is known
  for (unsigned i = 0; i < c.count; ++i)
    if (c.is_wanted[i] && !is_in(c.asleep, c.ready[i])) {
      c.taken = i;
      return true;
    }
  return false;
}

bool dpor_search::next() {
  check_replayed(position_, execution_count_, replayed_);
  redundant_count_ += is_redundant_ ? 1 : 0;
  turn_races_round();
  while (!choices_.empty() && !take_next(choices_.back()))
    choices_.pop_back();
  replayed_ = choices_.size();
  return !choices_.empty();
}

} // namespace quarry
