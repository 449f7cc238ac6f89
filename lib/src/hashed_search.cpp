// SPDX-License-Identifier: Apache-2.0
#include <quarry/hashed_search.hpp>
#include <quarry/random_bits.hpp>

namespace quarry {

void hashed_search::begin() {
  search_.begin();
  steps_.begin();
  is_redundant_ = false;
}

unsigned hashed_search::pick(unsigned n, choice_kind kind) {
  if (is_redundant_)
    return 0;
  unsigned const taken = search_.pick(n, kind);
  steps_.add_choice(n, taken);
  return taken;
}

unsigned hashed_search::pick_actor(std::span<std::uint32_t const> ready) {
  if (is_redundant_)
    return 0;
  if (!is_new(ready)) {
    is_redundant_ = true;
    ++redundant_count_;
    return 0;
  }
  unsigned const taken = search_.pick_actor(ready);
  steps_.begin_step(ready[taken]);
  return taken;
}

/// Whether the state that the execution has come to must be followed.
bool hashed_search::is_new(std::span<std::uint32_t const> ready) {
  if (search_.is_replaying())
    return true;
  std::uint64_t state = steps_.value();
  if (!limits_deviations_ && !limits_preemptions_)
    return search_.is_new(state);
  // Who goes on at no cost: the scheduler's queue, who ran last, and whether it has yielded.
  state = random_bits::at(state, 2ULL * steps_.actor() + (search_.is_free(ready) ? 1 : 0));
  for (std::uint32_t const actor : ready)
    state = random_bits::at(state, actor);
  // With less spent so far, more could follow.
  std::uint32_t const deviations = limits_deviations_ ? search_.deviation_count() : 0;
  std::uint32_t const preemptions = limits_preemptions_ ? search_.preemption_count() : 0;
  auto const having_spent = [state](std::uint64_t d, std::uint64_t p) {
    return random_bits::at(state, d << 32 | p);
  };
  for (std::uint32_t d = 0; d <= deviations; ++d)
    for (std::uint32_t p = 0; p <= preemptions; ++p)
      if ((d != deviations || p != preemptions) && search_.has_seen(having_spent(d, p)))
        return false;
  return search_.is_new(having_spent(deviations, preemptions));
}

void hashed_search::on_effect(std::uint32_t actor, effect const& e) {
  // What nobody does follows from what somebody has just done.
  if (actor != 0 && actor != steps_.actor())
    steps_.begin_step(actor);
  steps_.add(e);
}

} // namespace quarry
