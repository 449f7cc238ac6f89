// SPDX-License-Identifier: Apache-2.0
// Why two accesses race: which operations would have ordered them, had they been stronger.
#include "race_detector.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace quarry::emu {

/// Looks for a way from the first access to the second one: through loads that read from somebody's
/// write without knowing its past, and through what is ordered already.
class race_detector::diagnosis {
public:
  diagnosis(race_detector const& d, actor_id first, time at, access const& second)
      : d_(d), first_{first, at}, second_(second.actor), lane_(second.at.lane) {}

  [[nodiscard]] std::vector<change> find() {
    std::vector<change> changes = through_one();
    return changes.empty() ? through_several() : changes;
  }

private:
  struct event {
    actor_id who;
    time at;
  };
  /// A load that reads from a write, or from one that the write continues; then the next one.
  struct link {
    std::size_t read;
    write_id from;
    std::size_t next;
  };
  static constexpr std::size_t last = ~std::size_t{0};
  static constexpr int most_continued = 64;

  [[nodiscard]] weak_read const& read(std::size_t i) const { return d_.weak_reads_[i % kept]; }
  /// The newest first.
  template<class F>
  void for_each_read(F f) const {
    std::size_t const count = d_.weak_read_count_;
    for (std::size_t i = count; i-- > count - d_.weak_reads_.size();)
      if (!f(i))
        return;
  }
  /// The write, and those that it continues.
  template<class F>
  void for_each_origin(write_id from, F f) const {
    for (int i = 0; from != 0 && i < most_continued; from = d_.writes_[from].read_from, ++i)
      f(from);
  }

  template<class Operation>
  [[nodiscard]] bool is_before(event e, Operation const& o) const {
    return e.who == o.actor ? e.at <= o.at : d_.knew(o.clock, e.who, e.at);
  }
  /// Before the write, or the second access if there is none.
  [[nodiscard]] bool is_before_end(event e, write const* end) const {
    return end != nullptr ? is_before(e, *end) : d_.knows(second_, e.who, e.at);
  }

  /// Of another lane alone than the second access, which nothing orders with it.
  [[nodiscard]] bool is_beside(weak_read const& r) const {
    return r.actor == second_ && r.lane >= 0 && lane_ >= 0 && r.lane != lane_ &&
           r.at >= d_.ordered_since(second_, r.lane, lane_);
  }

  [[nodiscard]] std::vector<change> through_one() const;
  [[nodiscard]] std::vector<change> through_several();
  [[nodiscard]] std::vector<change> along(link l) const;
  void strengthen(event from, weak_read const& r, write_id by, write const* end,
                  std::vector<change>& out) const;
  void strengthen_release(event from, write const& w, emu::scope needed,
                          std::vector<change>& out) const;
  void strengthen_acquire(weak_read const& r, emu::scope needed, write const* end,
                          std::vector<change>& out) const;
  template<class F>
  [[nodiscard]] past_fence const* widest_fence(actor_id who, F is_between) const;

  [[nodiscard]] static access describe(write const& w);
  [[nodiscard]] static access describe(weak_read const& r);
  [[nodiscard]] static access describe(past_fence const& f);
  static void add(std::vector<change>& out, change c);

  race_detector const& d_;
  event first_;
  actor_id second_;
  std::int16_t lane_; ///< the second access's
  std::vector<link> links_;
};

namespace {

using access = race_detector::access;
using change = race_detector::change;
using missing_edge = race_detector::missing_edge;

template<class Operation>
order order_of(Operation const& o) {
  return static_cast<order>(o.how.order);
}
template<class Operation>
scope scope_of(Operation const& o) {
  return static_cast<scope>(o.how.scope);
}

/// The weakest one that does what both do.
order both(order a, order b) {
  if (a == order::relaxed || a == b)
    return b;
  if (b == order::relaxed)
    return a;
  return a == order::seq_cst || b == order::seq_cst ? order::seq_cst : order::acq_rel;
}

/// Of the access, with that side as well; a load has no release side, a store no acquire side.
template<class Operation>
order with(Operation const& o, order side) {
  auto const kind = static_cast<access::kind>(o.how.kind);
  bool const has_both = kind != access::kind::load && kind != access::kind::store;
  return has_both ? both(order_of(o), side) : side;
}

} // namespace

access race_detector::diagnosis::describe(write const& w) {
  return {.actor = w.actor,
          .what = static_cast<access::kind>(w.how.kind),
          .order = order_of(w),
          .scope = scope_of(w),
          .address = w.address,
          .bytes = w.bytes,
          .at = {w.where, w.lane},
          .step = w.at};
}

access race_detector::diagnosis::describe(weak_read const& r) {
  return {.actor = r.actor,
          .what = static_cast<access::kind>(r.how.kind),
          .order = order_of(r),
          .scope = scope_of(r),
          .address = r.address,
          .bytes = r.bytes,
          .at = {r.where, r.lane},
          .step = r.at};
}

access race_detector::diagnosis::describe(past_fence const& f) {
  return {.actor = f.actor,
          .what = access::kind::fence,
          .order = order_of(f),
          .scope = scope_of(f),
          .at = {f.where, f.lane},
          .step = f.at};
}

/// An update on the way may have to be both a stronger acquire and a stronger release.
void race_detector::diagnosis::add(std::vector<change>& out, change c) {
  auto const same = std::find_if(out.begin(), out.end(),
                                 [&](change const& o) { return o.what.step == c.what.step; });
  if (same == out.end()) {
    out.push_back(c);
  } else {
    same->order = both(same->order, c.order);
    same->scope = std::max(same->scope, c.scope);
  }
}

template<class F>
race_detector::past_fence const* race_detector::diagnosis::widest_fence(actor_id who,
                                                                        F is_between) const {
  past_fence const* best = nullptr;
  for (past_fence const& f : d_.fences_)
    if (f.actor == who && is_between(f) && (best == nullptr || scope_of(f) > scope_of(*best)))
      best = &f;
  return best;
}

void race_detector::diagnosis::strengthen_release(event from, write const& w, emu::scope needed,
                                                  std::vector<change>& out) const {
  past_fence const* const fence =
      releases(order_of(w)) ? nullptr : widest_fence(w.actor, [&](past_fence const& f) {
        return releases(order_of(f)) && f.at < w.at && is_before(from, f);
      });
  if (!releases(order_of(w)) && fence == nullptr) {
    add(out, {missing_edge::no_release, describe(w), with(w, order::release), needed});
    return;
  }
  if (fence != nullptr && scope_of(*fence) < needed)
    add(out, {missing_edge::narrow_release, describe(*fence), order_of(*fence), needed});
  if (scope_of(w) < needed)
    add(out, {missing_edge::narrow_release, describe(w), order_of(w), needed});
}

void race_detector::diagnosis::strengthen_acquire(weak_read const& r, emu::scope needed,
                                                  write const* end,
                                                  std::vector<change>& out) const {
  access const what = describe(r);
  past_fence const* const fence =
      acquires(order_of(r)) ? nullptr : widest_fence(r.actor, [&](past_fence const& f) {
        return acquires(order_of(f)) && f.at > r.at && is_before_end({f.actor, f.at}, end);
      });
  if (!acquires(order_of(r)) && fence == nullptr) {
    add(out, {missing_edge::no_acquire, what, with(r, order::acquire), needed});
    return;
  }
  if (fence != nullptr && scope_of(*fence) < needed)
    add(out, {missing_edge::narrow_acquire, describe(*fence), order_of(*fence), needed});
  if (scope_of(r) < needed)
    add(out, {missing_edge::narrow_acquire, what, order_of(r), needed});
}

/// What makes the load synchronise with the write, between two events.
void race_detector::diagnosis::strengthen(event from, weak_read const& r, write_id by,
                                          write const* end, std::vector<change>& out) const {
  write const& w = d_.writes_[by];
  if (w.actor == r.actor)
    return;
  emu::scope const needed = d_.level(w.actor, r.actor);
  strengthen_release(from, w, needed, out);
  strengthen_acquire(r, needed, end, out);
}

std::vector<race_detector::change> race_detector::diagnosis::through_one() const {
  std::vector<change> best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for_each_read([&](std::size_t i) {
    weak_read const& r = read(i);
    if (!is_before_end({r.actor, r.at}, nullptr) || is_beside(r))
      return true;
    for_each_origin(r.from, [&](write_id from) {
      write const& w = d_.writes_[from];
      if (!is_before(first_, w))
        return;
      std::vector<change> changes;
      strengthen(first_, r, from, nullptr, changes);
      // Few changes, to operations of the two rather than of others.
      std::size_t const cost =
          4 * changes.size() + (w.actor != first_.who ? 1 : 0) + (r.actor != second_ ? 1 : 0);
      if (!changes.empty() && cost < least) {
        least = cost;
        best = std::move(changes);
      }
    });
    return least > 4;
  });
  return best;
}

/// Backwards from the second access: of everybody, the latest event that would be before it.
std::vector<race_detector::change> race_detector::diagnosis::through_several() {
  std::vector<time> reached(d_.actors_.size());
  std::vector<std::size_t> through(d_.actors_.size(), last);
  for (actor_id a = 0; a < reached.size(); ++a)
    reached[a] = a == second_ ? d_.now_ : d_.clock(second_, row::known)[a];
  auto const reach = [&](actor_id a, time at) {
    if (reached[a] >= at)
      return;
    reached[a] = at;
    through[a] = links_.size() - 1;
  };
  std::vector<change> changes;
  for_each_read([&](std::size_t i) {
    weak_read const& r = read(i);
    if (reached[r.actor] < r.at || is_beside(r))
      return true;
    std::size_t const next = through[r.actor];
    for_each_origin(r.from, [&](write_id from) {
      write const& w = d_.writes_[from];
      links_.push_back({i, from, next});
      if (changes.empty() && is_before(first_, w))
        changes = along(links_.back());
      reach(w.actor, w.at);
      for (actor_id a = 0; a < std::min<std::size_t>(d_.copies_[w.clock], d_.actors_.size()); ++a)
        reach(a, d_.copies_[w.clock + 1 + a]);
    });
    return changes.empty();
  });
  return changes;
}

std::vector<race_detector::change> race_detector::diagnosis::along(link l) const {
  std::vector<change> changes;
  for (event from = first_;; l = links_[l.next]) {
    write const* const end = l.next == last ? nullptr : &d_.writes_[links_[l.next].from];
    weak_read const& r = read(l.read);
    strengthen(from, r, l.from, end, changes);
    if (l.next == last)
      return changes;
    from = {r.actor, r.at};
  }
}

race_detector::race race_detector::explain(mark const& m, access const& a, bool is_lint) const {
  race r{.first = {.actor = m.what.actor,
                   .what = static_cast<access::kind>(m.what.how.kind),
                   .order = m.what.how.is_atomic() ? std::optional(order_of(m.what)) : std::nullopt,
                   .scope = scope_of(m.what),
                   .address = m.address,
                   .bytes = m.what.bytes,
                   .at = {m.where, m.what.lane},
                   .step = m.at},
         .second = a,
         .missing = missing_edge::different_scopes,
         .scope = level(m.what.actor, a.actor),
         .changes = {}};
  if (is_lint)
    return r;
  if (r.scope == scope::system && coarse_.contain(a.address)) {
    r.missing = missing_edge::mid_kernel;
  } else if (m.what.how.is_atomic() && a.order) {
    r.missing = missing_edge::exclusive_scopes;
    for (auto const& [one, o] :
         {std::pair(&r.first, order_of(m.what)), std::pair(&r.second, *a.order)})
      if (one->scope < r.scope)
        r.changes.push_back({r.missing, *one, o, r.scope});
  } else if (m.what.actor == a.actor) {
    r.missing = missing_edge::same_instruction;
  } else {
    r.changes = diagnosis(*this, m.what.actor, m.at, a).find();
    r.missing = r.changes.empty() ? missing_edge::no_synchronisation : r.changes.front().why;
  }
  return r;
}

} // namespace quarry::emu
