// SPDX-License-Identifier: Apache-2.0
#include "ptx_run.hpp"

#include <optional>
#include <variant>

namespace ptx_model {

using namespace quarry::litmus;
using quarry::emu::order;

namespace {

/// The side of an access that a read, or a write, has.
access_order sided(ordering how, order side) {
  bool const has_side = how.order == side || how.order == order::acq_rel;
  return ordering{has_side ? side : order::relaxed, how.scope};
}

/// Where a thread is, in one of its runs.
struct position {
  std::uint32_t next = 0;
  int loops = 0;
  std::vector<event_set> sources; ///< by register: the reads that its value depends on
  event_set decided_by = 0;       ///< the reads that the way here depends on
  run so_far;
};

class walker {
public:
  walker(test const& t, std::size_t thread, value_sets const& found, int most_loops)
      : test_(t), program_(t.threads[thread].program), found_(found), most_loops_(most_loops) {
    position start;
    start.so_far.registers = t.threads[thread].initial;
    start.sources.resize(start.so_far.registers.size());
    walk(start);
  }
  std::vector<run> ends;

private:
  void walk(position at) {
    while (at.next < program_.size()) {
      auto const& what = program_[at.next++];
      bool const goes_on = std::visit([&](auto const& i) { return perform(at, i); }, what);
      if (!goes_on)
        return;
    }
    ends.push_back(std::move(at.so_far));
  }

  value value_of(position const& at, operand const& o) const {
    auto const* r = std::get_if<register_index>(&o);
    return r != nullptr ? at.so_far.registers[r->at] : std::get<value>(o);
  }
  event_set sources_of(position const& at, operand const& o) const {
    auto const* r = std::get_if<register_index>(&o);
    return r != nullptr ? at.sources[r->at] : 0;
  }
  static void set(position& at, register_index r, value v, event_set sources) {
    at.so_far.registers[r.at] = v;
    at.sources[r.at] = sources;
  }
  std::uint32_t storage_of(location_index l) const { return test_.locations[l.at].storage; }

  void add_write(position& at, std::uint32_t storage, value v, access_order how,
                 event_set needs) const {
    at.so_far.events.push_back({.what = event::kind::write,
                                .storage = storage,
                                .of = v,
                                .how = how,
                                .needs = needs | at.decided_by});
  }
  /// The number that the read gets; its value is still open.
  static std::size_t add_read(position& at, std::uint32_t storage, access_order how) {
    at.so_far.events.push_back(
        {.what = event::kind::read, .storage = storage, .how = how, .needs = at.decided_by});
    return at.so_far.events.size() - 1;
  }

  /// False where the run was followed elsewhere, or has no end.
  bool perform(position& at, load const& l) {
    auto const from = storage_of(l.from);
    auto const number = add_read(at, from, l.how);
    for (value const v : found_[from]) {
      position next = at;
      next.so_far.events[number].of = v;
      set(next, l.into, v, only(number));
      walk(std::move(next));
    }
    return false;
  }
  bool perform(position& at, store const& s) {
    add_write(at, storage_of(s.to), value_of(at, s.what), s.how, sources_of(at, s.what));
    return true;
  }
  bool perform(position& at, update const& u) {
    auto const storage = storage_of(u.at);
    auto const number = add_read(at, storage, sided(u.how, order::acquire));
    for (value const old : found_[storage]) {
      position next = at;
      next.so_far.events[number].of = old;
      event_set needs = only(number);
      if (auto const desired = updated(at, u, old, needs)) {
        add_write(next, storage, *desired, sided(u.how, order::release), needs);
        next.so_far.events.back().is_update = true;
      }
      if (u.into)
        set(next, *u.into, old, only(number));
      walk(std::move(next));
    }
    return false;
  }
  std::optional<value> updated(position const& at, update const& u, value old,
                               event_set& needs) const {
    if (auto const* f = std::get_if<update::fetch>(&u.what)) {
      needs |= sources_of(at, f->by);
      return apply(f->operation, old, value_of(at, f->by));
    }
    if (auto const* e = std::get_if<update::exchange>(&u.what)) {
      needs |= sources_of(at, e->what);
      return value_of(at, e->what);
    }
    auto const& c = std::get<update::compare_exchange>(u.what);
    needs |= sources_of(at, c.expected) | sources_of(at, c.desired);
    if (old != value_of(at, c.expected))
      return std::nullopt;
    return value_of(at, c.desired);
  }
  bool perform(position& at, fence const& f) {
    at.so_far.events.push_back({.what = event::kind::fence, .how = f.how, .needs = at.decided_by});
    return true;
  }
  bool perform(position& at, barrier const& b) {
    event one{.what = event::kind::arrival,
              .of = b.id ? value_of(at, *b.id) : 0,
              .barrier_instance = b.instance,
              .needs = at.decided_by};
    at.so_far.events.push_back(one);
    one.what = event::kind::wait;
    if (b.waits)
      at.so_far.events.push_back(one);
    return true;
  }
  bool perform(position& at, compute const& c) {
    set(at, c.into, apply(c.operation, value_of(at, c.left), value_of(at, c.right)),
        sources_of(at, c.left) | sources_of(at, c.right));
    return true;
  }
  bool perform(position& at, branch const& b) {
    at.decided_by |= sources_of(at, b.left) | sources_of(at, b.right);
    if (!holds(b.condition, value_of(at, b.left), value_of(at, b.right)))
      return true;
    if (b.target < at.next && ++at.loops > most_loops_)
      return false;
    at.next = b.target;
    return true;
  }

  test const& test_;
  std::vector<instruction> const& program_;
  value_sets const& found_;
  int most_loops_;
};

} // namespace

std::string inexpressible(test const& t) {
  if (!t.unsupported.empty())
    return t.unsupported.front();
  for (auto const& one : t.threads)
    for (auto const& what : one.program)
      if (auto const* b = std::get_if<barrier>(&what)) {
        if (b->quorum)
          return "a barrier's quorum";
        if (b->id && std::holds_alternative<register_index>(*b->id))
          return "a barrier's number in a register";
      }
  return "";
}

std::vector<run> runs_of(test const& t, std::size_t thread, value_sets const& found,
                         int most_loops) {
  return walker(t, thread, found, most_loops).ends;
}

value_sets readable_values(test const& t, int most_loops) {
  value_sets all(t.initial.size());
  for (std::size_t s = 0; s < t.initial.size(); ++s)
    all[s].insert(t.initial[s]);
  // Out of thin air there is nothing: a value is made by a chain of at most every write.
  std::size_t writes = 0;
  for (auto const& one : t.threads)
    for (auto const& what : one.program)
      writes += std::holds_alternative<store>(what) || std::holds_alternative<update>(what);
  for (std::size_t round = 0; round < writes; ++round) {
    auto const before = all;
    for (std::size_t i = 0; i < t.threads.size(); ++i)
      for (run const& r : runs_of(t, i, before, most_loops))
        for (event const& e : r.events)
          if (e.what == event::kind::write)
            all[e.storage].insert(e.of);
    if (all == before)
      break;
  }
  return all;
}

} // namespace ptx_model
