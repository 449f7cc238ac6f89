// SPDX-License-Identifier: Apache-2.0
#include "effect_teller.hpp"

#include <quarry/fnv_hash.hpp>

#include <utility>

namespace quarry::emu {

void effect_teller::begin(chooser& choices) {
  choices_ = &choices;
  is_asked_ = choices.wants_effects();
  published_.clear();
  changed_caches_.clear();
  cache_names_.clear();
  machine_.log_published(is_asked_ ? &published_ : nullptr);
  machine_.log_caches(is_asked_ ? &changed_caches_ : nullptr);
}

std::uint32_t effect_teller::who_runs() const noexcept {
  actor const* const self = scheduler_.current();
  return self == nullptr ? 0 : self->number;
}

std::uint64_t effect_teller::name_of(std::uintptr_t at) const {
  std::uintptr_t const word = at / 8;
  // Its parts may be known as several things: the first one's name is the word's.
  for (std::uintptr_t byte = word * 8; byte <= at; ++byte)
    if (known_range const* const r = names_.find(byte))
      return (fnv_hash(r->name) ^ (word - r->begin / 8)) * 0x9e3779b97f4a7c15 | 1;
  return 0;
}

void effect_teller::name_cache(cache_machine::node_id n, cache_kind kind, std::uint64_t number) {
  if (!is_asked_) [[likely]]
    return;
  if (cache_names_.size() <= n)
    cache_names_.resize(n + 1);
  cache_names_[n] = (number << 3 | static_cast<std::uint64_t>(kind)) * 0x9e3779b97f4a7c15 | 1;
}

void effect_teller::tell_now(std::uintptr_t at, std::optional<order> o) {
  std::uint32_t const who = who_runs();
  effect e{.publishes = !published_.empty(), .acquires = o && acquires(*o)};
  if (at != 0) {
    e.word = name_of(at);
    e.is_any = e.word == 0;
  }
  choices_->on_effect(who, e);
  for (std::uintptr_t const word : std::exchange(published_, {})) {
    std::uint64_t const name = name_of(word);
    choices_->on_effect(who, {.word = name, .is_any = name == 0});
  }
  for (cache_machine::node_id const n : std::exchange(changed_caches_, {}))
    if (n < cache_names_.size()) // memory holds nothing back
      choices_->on_effect(who, {.word = cache_names_[n]});
}

void effect_teller::tell_any_now() {
  choices_->on_effect(who_runs(), {.is_any = true});
}

} // namespace quarry::emu
