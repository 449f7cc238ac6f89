// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hrf_reference.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace quarry::emu::hrf {

inline constexpr std::array scopes{scope::work_group, scope::agent, scope::system};
inline constexpr std::array orders{order::relaxed, order::acquire, order::release, order::acq_rel,
                                   order::seq_cst};

inline step load(std::uint32_t actor, std::uintptr_t at) {
  return {.actor = actor, .access = kind::load, .at = at};
}
inline step store(std::uint32_t actor, std::uintptr_t at) {
  return {.actor = actor, .access = kind::store, .at = at};
}
inline step load(std::uint32_t actor, std::uintptr_t at, order o, scope s, int from) {
  return {.actor = actor, .access = kind::load, .at = at, .order = o, .scope = s, .from = from};
}
inline step store(std::uint32_t actor, std::uintptr_t at, order o, scope s) {
  return {.actor = actor, .access = kind::store, .at = at, .order = o, .scope = s};
}
inline step update(std::uint32_t actor, std::uintptr_t at, order o, scope s, int from = -1) {
  return {.actor = actor, .access = kind::update, .at = at, .order = o, .scope = s, .from = from};
}
inline step fence(std::uint32_t actor, order o, scope s) {
  return {.what = step::type::fence, .actor = actor, .order = o, .scope = s};
}
inline step meet(std::vector<std::uint32_t> who) {
  return {.what = step::type::meet, .meeting = std::move(who)};
}
inline step signal(std::uint32_t actor) {
  return {.what = step::type::signal, .actor = actor};
}
inline step receive(std::uint32_t actor, int from) {
  return {.what = step::type::receive, .actor = actor, .from = from};
}

/// Programs of up to 16 steps, each with tastes of its own: what is drawn evenly is hardly ever
/// synchronised.
class random_programs {
public:
  random_programs(std::uint32_t seed, std::uint32_t actor_count)
      : random_(seed), actor_count_(actor_count) {}

  program next() {
    p_.clear();
    actors_ = 2 + below(actor_count_ - 1);
    for (std::uint32_t& w : weights_)
      w = below(2) * (1 + below(8));
    weights_[0] = weights_[1] = 3; // plain accesses
    strength_ = below(4);
    widest_ = below(4);
    cells_ = 1 + below(2);
    std::size_t const length = 4 + below(13);
    while (p_.size() < length)
      p_.push_back(draw());
    return p_;
  }

private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::uint32_t kind_of_step() {
    std::uint32_t sum = 0;
    for (std::uint32_t const w : weights_)
      sum += w;
    std::uint32_t die = below(sum), which = 0;
    while (die >= weights_[which])
      die -= weights_[which++];
    return which;
  }
  order any_order() { return strength_ < 2 || below(4) != 0 ? orders[below(5)] : order::acq_rel; }
  order any_order(order right) { return below(4) < strength_ ? right : any_order(); }
  scope any_scope() { return widest_ == 3 || below(4) == 0 ? scopes[below(3)] : scopes[widest_]; }

  /// A write of the cell, the last one more often than others; or a signal.
  int earlier(step::type what, std::uintptr_t at) {
    int chosen = -1;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      step const& s = p_[i];
      if (s.what == what && (what == step::type::signal || (s.order && s.at == at && writes(s))) &&
          (chosen < 0 || below(4) != 0))
        chosen = static_cast<int>(i);
    }
    return chosen;
  }

  step draw() {
    constexpr std::uintptr_t data = 0x1000, flags = 0x1080;
    std::uint32_t const who = below(actors_);
    std::uintptr_t const cell = flags + 0x40 * below(cells_);
    std::uint32_t const which = kind_of_step();
    switch (which) {
    case 0:
    case 1: {
      step s = which == 0 ? load(who, data) : store(who, data);
      s.scope = any_scope(); // means nothing
      if (below(4) == 0) {   // some of the bytes, and of the next word's
        s.at += below(7);
        s.bytes = 1 + below(6);
      } else if (below(12) == 0) {
        s.at = cell; // a plain access of what is atomic elsewhere
      }
      return s;
    }
    case 2:
      return store(who, cell, any_order(order::release), any_scope());
    case 3:
      return load(who, cell, any_order(order::acquire), any_scope(),
                  earlier(step::type::access, cell));
    case 4: {
      step s = update(who, cell, any_order(order::acq_rel), any_scope(),
                      earlier(step::type::access, cell));
      s.access = below(4) == 0 ? kind::failed_update : kind::update;
      return s;
    }
    case 5:
      return fence(who, any_order(), any_scope());
    case 6:
      return meet({who, (who + 1) % actors_});
    default: {
      int const from = earlier(step::type::signal, 0);
      return from < 0 || below(2) == 0 ? signal(who) : receive(who, from);
    }
    }
  }

  std::mt19937 random_;
  std::uint32_t actor_count_;
  program p_;
  std::uint32_t actors_ = 0, strength_ = 0, widest_ = 0, cells_ = 0;
  std::array<std::uint32_t, 8> weights_{};
};

} // namespace quarry::emu::hrf
