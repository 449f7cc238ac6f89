// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "race_detector.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

namespace quarry::emu::hrf {

using kind = race_detector::access::kind;
using places = std::vector<race_detector::place>;

/// One step of a program, in the order of the execution.
struct step {
  enum class type : std::uint8_t { access, fence, meet, signal, receive };
  type what = type::access;
  std::uint32_t actor = 0;
  kind access = kind::load;
  std::uintptr_t at = 0;
  unsigned bytes = 4;
  std::optional<emu::order> order{};
  emu::scope scope = emu::scope::work_item;
  int from = -1;                        ///< the step that is read from, or received
  std::vector<std::uint32_t> meeting{}; ///< who
};
using program = std::vector<step>;

inline bool releases(std::optional<order> o) {
  return o == order::release || o == order::acq_rel || o == order::seq_cst;
}
inline bool acquires(std::optional<order> o) {
  return o == order::acquire || o == order::acq_rel || o == order::seq_cst;
}
inline bool writes(step const& s) {
  return s.access == kind::store || s.access == kind::update;
}
/// Is `b` in the scope instance of `a`?
inline bool includes(race_detector::place const& a, scope s, race_detector::place const& b) {
  if (s < scope::work_group || s == scope::system)
    return s == scope::system;
  bool const is_agent = a.node == b.node && a.agent == b.agent;
  return is_agent && (s == scope::agent || a.work_group == b.work_group);
}

/// HRF by its definition: all events, all edges, their closure.
class happens_before {
public:
  /// With `only`: HRF-direct's order of one scope.
  happens_before(program const& p, places const& where, std::optional<scope> only = {})
      : where_(where), only_(only) {
    for (std::size_t i = 0; i < p.size(); ++i)
      expand(p, i);
    std::size_t const n = events_.size();
    REQUIRE(n <= most_events);
    after_.resize(n);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < j; ++i)
        after_[i][j] = events_[i].of.actor == events_[j].of.actor;
    for (std::size_t e = 0; e < n; ++e) {
      for (std::size_t const o : events_[e].after)
        if (!only_ || *only_ == events_[e].width)
          after_[o][e] = true;
      if (is_atomic_read(e) && events_[e].from != none)
        synchronise(e);
    }
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < k; ++i)
        if (after_[i][k])
          after_[i] |= after_[k];
  }
  [[nodiscard]] bool operator()(std::size_t i, std::size_t j) const {
    return after_[event_of_[i]][event_of_[j]];
  }

private:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::size_t most_events = 128;
  struct event {
    step of;
    std::size_t from = none;        ///< the event that is read from
    std::vector<std::size_t> after; ///< edges that are no memory accesses
    scope width = scope::system;    ///< theirs
  };
  struct side {
    std::size_t event;
    scope width;
  };

  /// An event for each step; a meeting is fences, arrivals and departures.
  void expand(program const& p, std::size_t i) {
    step const& s = p[i];
    event_of_.push_back(events_.size());
    if (s.what != step::type::meet) {
      events_.push_back({s, none, {}, scope::system});
      if (s.from >= 0 && s.what == step::type::receive)
        events_.back().after.push_back(event_of_[static_cast<std::size_t>(s.from)]);
      else if (s.from >= 0)
        events_.back().from = event_of_[static_cast<std::size_t>(s.from)];
      return;
    }
    step const point{.what = step::type::signal, .actor = 0};
    step fence{.what = step::type::fence, .order = order::acquire, .scope = scope::work_group};
    std::vector<std::size_t> arrivals;
    scope widest = scope::work_group;
    for (std::uint32_t const a : s.meeting) {
      while (!includes(where_[s.meeting.front()], widest, where_[a]))
        widest = static_cast<scope>(static_cast<int>(widest) + 1);
      add(fence, a);
      arrivals.push_back(events_.size());
      add(point, a);
    }
    fence.order = order::release;
    for (std::uint32_t const a : s.meeting) {
      add(point, a);
      events_.back().after = arrivals;
      events_.back().width = widest;
    }
    for (std::uint32_t const a : s.meeting)
      add(fence, a);
  }
  void add(step s, std::uint32_t actor) {
    s.actor = actor;
    events_.push_back({s, none, {}, scope::system});
  }

  [[nodiscard]] bool is_atomic_read(std::size_t e) const {
    step const& s = events_[e].of;
    return s.what == step::type::access && s.order && s.access != kind::store;
  }
  [[nodiscard]] bool is_fence(std::size_t e, std::uint32_t of) const {
    return events_[e].of.what == step::type::fence && events_[e].of.actor == of;
  }

  /// All releases that the read reads from, with all acquires that it is, or is followed by.
  void synchronise(std::size_t read) {
    step const& r = events_[read].of;
    std::vector<side> acquire;
    if (acquires(r.order))
      acquire.push_back({read, r.scope});
    for (std::size_t f = read + 1; f < events_.size(); ++f)
      if (is_fence(f, r.actor) && acquires(events_[f].of.order))
        acquire.push_back({f, std::min(r.scope, events_[f].of.scope)});
    for (std::size_t w = events_[read].from; w != none;
         w = events_[w].of.access == kind::update ? events_[w].from : none) {
      step const& by = events_[w].of;
      std::vector<side> release;
      if (releases(by.order))
        release.push_back({w, by.scope});
      for (std::size_t f = 0; f < w; ++f)
        if (is_fence(f, by.actor) && releases(events_[f].of.order))
          release.push_back({f, std::min(by.scope, events_[f].of.scope)});
      for (side const& from : release)
        for (side const& to : acquire)
          if (by.actor != r.actor && includes(where_[by.actor], from.width, where_[r.actor]) &&
              includes(where_[r.actor], to.width, where_[by.actor]) &&
              (!only_ || (from.width == *only_ && to.width == *only_)))
            after_[from.event][to.event] = true;
    }
  }

  places const& where_;
  std::optional<scope> only_;
  std::vector<event> events_;
  std::vector<std::size_t> event_of_; ///< by step; of a meeting the first
  std::vector<std::bitset<most_events>> after_;
};

/// Do two accesses conflict, one of them at least not atomic, or with a scope that is too narrow?
inline bool conflict(step const& a, step const& b, places const& where) {
  bool const overlap = a.at < b.at + b.bytes && b.at < a.at + a.bytes;
  bool const is_inclusive = a.order && b.order &&
                            includes(where[a.actor], a.scope, where[b.actor]) &&
                            includes(where[b.actor], b.scope, where[a.actor]);
  return a.what == step::type::access && b.what == step::type::access && a.actor != b.actor &&
         overlap && (writes(a) || writes(b)) && !is_inclusive;
}

} // namespace quarry::emu::hrf
