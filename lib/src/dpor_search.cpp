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
  stale_ = 0;
  preemptions_.begin();
  yielded_ = 0;
  steps_.clear();
  first_new_ = 0;
  is_redundant_ = false;
  ++execution_count_;
}

/// The choice that comes next, which there is.
unsigned dpor_search::follow(unsigned n) {
  if (position_ + 1 == replayed_) // what came before is known, but not what the step that runs does
    first_new_ = steps_.empty() ? 0 : steps_.size() - 1;
  choice const& now = choices_[position_];
  check_choice(position_++, execution_count_, n, now.count);
  return now.taken;
}

unsigned dpor_search::pick(unsigned n, choice_kind kind) {
  if (is_redundant_)
    return 0;
  bool const may_be_late = is_about_lateness(kind);
  if (position_ == choices_.size()) {
    bool const may_deviate = !may_be_late || stale_ < most_stale_;
    has_held_back_ = has_held_back_ || !may_deviate;
    choices_.push_back({.count = n, .end = may_deviate ? n : 1});
  }
  unsigned const taken = follow(n);
  stale_ += may_be_late && taken != 0 ? 1 : 0;
  return taken;
}

unsigned dpor_search::pick_actor(std::span<std::uint32_t const> ready) {
  if (is_redundant_)
    return 0;
  if (position_ == choices_.size()) {
    choice c{.count = static_cast<unsigned>(ready.size()),
             .ready = {ready.begin(), ready.end()},
             .is_wanted = std::vector<bool>(ready.size()),
             .is_free = preemptions_.is_free(ready),
             .can_preempt = preemptions_.value() < most_preemptions_,
             .asleep = still_asleep()};
    c.taken = first_of(c);
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
  preemptions_.on_pick(ready, taken);
  yielded_ = 0;
  begin_step(ready[taken], last_, true);
  return taken;
}

/// The first who does not sleep; where it costs nothing, another one than who has just yielded: who
/// spins waits for the others. `count`: all sleep.
unsigned dpor_search::first_of(choice const& c) const {
  unsigned first = c.count;
  for (unsigned i = c.count; i-- != 0;)
    if (!is_in(c.asleep, c.ready[i]) && (first == c.count || c.ready[i] != yielded_ || !c.is_free))
      first = i;
  return first;
}

void dpor_search::on_only(std::uint32_t actor) {
  if (is_redundant_)
    return;
  if (position_ >= replayed_)
    is_redundant_ = is_in(still_asleep(), actor);
  preemptions_.on_only(actor);
  yielded_ = 0;
  begin_step(actor, nobody, true);
}

void dpor_search::on_effect(std::uint32_t actor, effect const& e) {
  if (is_redundant_)
    return;
  all_.add(e);
  // What nobody does follows from what somebody has just done.
  if (steps_.empty() || (actor != 0 && steps_.back().actor != actor))
    begin_step(actor, nobody, false);
  steps_.back().does.add(e);
  if (last_ != nobody && choices_[last_].ready[choices_[last_].taken] == steps_.back().actor)
    choices_[last_].step.add(e);
}

void dpor_search::begin_step(std::uint32_t actor, std::size_t from, bool is_scheduled) {
  steps_.push_back({.actor = actor, .from = from, .is_scheduled = is_scheduled});
}

/// Of those that slept before the step which runs, whoever has nothing to do with it.
std::vector<dpor_search::sleeper> dpor_search::still_asleep() const {
  std::vector<sleeper> those;
  if (last_ == nobody || is_limited())
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
    std::size_t const own = std::exchange(last_of[now.actor], i + 1);
    if (i < first_new_) { // what it comes after is known
      now.after = std::move(steps_before_[i].after);
      continue;
    }
    if (own != 0)
      order_after(now, own - 1);
    if (is_limited())
      turn_round_within_limit(i);
    for (std::size_t j = i; j-- != 0;)
      if (!is_before(j, now) && steps_[j].does.has_to_do_with(now.does)) {
        order_after(now, j);
        if (!is_limited() && steps_[j].from != nobody)
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

/// Of every other actor, the last step that races with the second one: who does the second one is
/// to go on before it, and before all that is done in one go up to it, where that costs no more.
/// `second` follows nothing but what its actor has done.
void dpor_search::turn_round_within_limit(std::size_t second) {
  step const& now = steps_[second];
  std::vector<std::uint32_t> found;
  for (std::size_t j = second; j-- != 0;) {
    step const& other = steps_[j];
    if (is_before(j, now) || std::find(found.begin(), found.end(), other.actor) != found.end() ||
        !other.does.has_to_do_with(now.does))
      continue;
    found.push_back(other.actor);
    want(other.from, now.actor);
    for (std::size_t k = j;; --k) { // back to where the others could go on
      if (steps_[k].is_scheduled && steps_[k].actor != other.actor)
        break;
      if (std::size_t const from = steps_[k].from; from != nobody) {
        choice const& c = choices_[from];
        if (c.is_free || c.taken != 0) {
          want(from, now.actor);
          break;
        }
      }
      if (k == 0)
        break;
    }
  }
}

/// The actor is to go on at the choice; or everybody, where it cannot.
void dpor_search::want(std::size_t choice, std::uint32_t actor) {
  if (choice == nobody)
    return;
  auto& c = choices_[choice];
  auto const at = std::find(c.ready.begin(), c.ready.end(), actor);
  if (at != c.ready.end())
    c.is_wanted[static_cast<std::size_t>(at - c.ready.begin())] = true;
  else
    c.is_wanted.assign(c.is_wanted.size(), true);
}

/// False if all that are wanted have been taken, or sleep.
bool dpor_search::take_next(choice& c) {
  if (c.ready.empty())
    return ++c.taken < c.end;
  c.asleep.push_back({c.ready[c.taken], std::exchange(c.step, {})}); // what it leads to is known
  for (unsigned i = 0; i < c.count; ++i)
    if (c.is_wanted[i] && !is_in(c.asleep, c.ready[i])) {
      if (i != 0 && !c.is_free && !c.can_preempt) {
        has_held_back_ = true;
        continue;
      }
      c.taken = i;
      return true;
    }
  return false;
}

bool dpor_search::next() {
  check_replayed(position_, execution_count_, replayed_);
  redundant_count_ += is_redundant_ ? 1 : 0;
  turn_races_round();
  steps_before_.swap(steps_);
  while (!choices_.empty() && !take_next(choices_.back()))
    choices_.pop_back();
  replayed_ = choices_.size();
  return !choices_.empty();
}

} // namespace quarry
