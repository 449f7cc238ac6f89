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
  std::uint64_t state = steps_.value();
  bool is_known = false;
  if (is_limited_) {
    // Who goes on at no cost: the scheduler's queue, and who ran last.
    state = random_bits::at(state, steps_.actor());
    for (std::uint32_t const actor : ready)
      state = random_bits::at(state, actor);
    // With fewer deviations so far, more could follow.
    std::uint32_t const spent = search_.deviation_count();
    for (std::uint32_t less = 0; less < spent && !is_known; ++less)
      is_known = search_.has_seen(random_bits::at(state, less));
    state = random_bits::at(state, spent);
  }
  is_known = is_known && !search_.is_replaying();
  if (is_known || !search_.is_new(state)) {
    is_redundant_ = true;
    ++redundant_count_;
    return 0;
  }
  unsigned const taken = search_.pick(static_cast<unsigned>(ready.size()), choice_kind::actor);
  steps_.begin_step(ready[taken]);
  return taken;
}

void hashed_search::on_effect(std::uint32_t actor, effect const& e) {
  // What nobody does follows from what somebody has just done.
  if (actor != 0 && actor != steps_.actor())
    steps_.begin_step(actor);
  steps_.add(e);
}

} // namespace quarry
