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
  unsigned const taken = search_.pick(static_cast<unsigned>(ready.size()), choice_kind::actor);
  steps_.begin_step(ready[taken]);
  return taken;
}

/// Whether the state that the execution has come to must be followed.
bool hashed_search::is_new(std::span<std::uint32_t const> ready) {
  if (search_.is_replaying())
    return true;
  std::uint64_t state = steps_.value();
  if (!is_limited_)
    return search_.is_new(state);
  // Who goes on at no cost: the scheduler's queue, and who ran last.
  state = random_bits::at(state, steps_.actor());
  for (std::uint32_t const actor : ready)
    state = random_bits::at(state, actor);
  // With fewer deviations so far, more could follow.
  std::uint32_t const spent = search_.deviation_count();
  for (std::uint32_t less = 0; less < spent; ++less)
    if (search_.has_seen(random_bits::at(state, less)))
      return false;
  return search_.is_new(random_bits::at(state, spent));
}

void hashed_search::on_effect(std::uint32_t actor, effect const& e) {
  // What nobody does follows from what somebody has just done.
  if (actor != 0 && actor != steps_.actor())
    steps_.begin_step(actor);
  steps_.add(e);
}

} // namespace quarry
