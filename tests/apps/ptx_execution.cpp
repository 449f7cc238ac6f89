// SPDX-License-Identifier: Apache-2.0
#include "ptx_execution.hpp"

#include <map>
#include <tuple>

namespace ptx_model {

using namespace quarry::litmus;
using quarry::emu::order;
using quarry::emu::scope;

std::string_view to_string(axiom a) {
  constexpr std::string_view names[] = {"Coherence",   "FenceSC",         "Atomicity",
                                        "No-Thin-Air", "SC-per-Location", "Causality"};
  return names[static_cast<std::size_t>(a)];
}

namespace {

std::size_t count_events(test const& t, std::span<run const* const> runs) {
  std::size_t count = t.initial.size();
  for (run const* r : runs)
    count += r->events.size();
  return count;
}

} // namespace

execution::execution(test const& t, std::span<run const* const> runs)
    : test_(t), program_order_(count_events(t, runs)), same_location_(program_order_),
      morally_strong_(program_order_), update_(program_order_), dependency_(program_order_),
      release_(program_order_), acquire_(program_order_), barrier_(program_order_),
      reads_from_(program_order_), observation_(program_order_) {
  add_events(runs);
  relate();
  relate_patterns();
  is_possible_ = relate_barriers();
}

void execution::add_events(std::span<run const* const> runs) {
  for (std::uint32_t s = 0; s < test_.initial.size(); ++s)
    events_.push_back(
        {{.what = event::kind::write, .storage = s, .of = test_.initial[s]}, runs.size(), true});
  for (std::size_t thread = 0; thread < runs.size(); ++thread) {
    auto const begin = events_.size();
    for (event const& e : runs[thread]->events) {
      auto const number = events_.size();
      events_.push_back({e, thread});
      for (std::size_t earlier = begin; earlier < number; ++earlier)
        program_order_.add(earlier, number);
      for (event_set left = e.needs; left != 0; left &= left - 1)
        dependency_.add(begin + static_cast<std::size_t>(std::countr_zero(left)), number);
      if (e.is_update)
        update_.add(number - 1, number);
      if (e.what == event::kind::read)
        reads_.push_back(number);
    }
  }
}

bool execution::is_releasing(std::size_t i) const {
  auto const& e = events_[i];
  return e.how && (is(i, event::kind::fence) ||
                   (is(i, event::kind::write) && e.how->order == order::release));
}

bool execution::is_acquiring(std::size_t i) const {
  auto const& e = events_[i];
  return e.how && (is(i, event::kind::fence) ||
                   (is(i, event::kind::read) && e.how->order == order::acquire));
}

bool execution::is_sc(std::size_t i) const {
  return is(i, event::kind::fence) && events_[i].how->order == order::seq_cst;
}

/// The scope of the one includes the thread of the other.
bool execution::reaches(std::size_t from, std::size_t to) const {
  auto const& here = test_.threads[events_[from].thread].where;
  auto const& there = test_.threads[events_[to].thread].where;
  switch (events_[from].how->scope) {
  case scope::system:
    return true;
  case scope::agent:
    return here.agent == there.agent;
  case scope::work_group:
    return here == there;
  default:
    return events_[from].thread == events_[to].thread;
  }
}

bool execution::are_morally_strong(std::size_t a, std::size_t b) const {
  if (a == b || events_[a].is_first || events_[b].is_first)
    return false;
  if (is_memory(a) && is_memory(b) && events_[a].storage != events_[b].storage)
    return false;
  return events_[a].thread == events_[b].thread ||
         (is_strong(a) && is_strong(b) && reaches(a, b) && reaches(b, a));
}

void execution::relate() {
  for (std::size_t a = 0; a < events_.size(); ++a)
    for (std::size_t b = 0; b < events_.size(); ++b) {
      if (is_memory(a) && is_memory(b) && events_[a].storage == events_[b].storage)
        same_location_.add(a, b);
      bool const is_strong_pair = are_morally_strong(a, b);
      if (is_strong_pair)
        morally_strong_.add(a, b);
      if (is_strong_pair && a < b && is_sc(a) && is_sc(b))
        strong_fences_.emplace_back(a, b);
      if (a < b && is(a, event::kind::write) && is(b, event::kind::write) &&
          same_location_.contains(a, b) && !events_[a].is_first)
        (is_strong_pair ? strong_writes_ : other_writes_).emplace_back(a, b);
    }
}

void execution::relate_patterns() {
  for (std::size_t a = 0; a < events_.size(); ++a)
    for (std::size_t b = 0; b < events_.size(); ++b) {
      bool const may_differ = is(a, event::kind::fence) || is(b, event::kind::fence);
      bool const follows = a == b || (program_order_.contains(a, b) &&
                                      (may_differ || same_location_.contains(a, b)));
      if (!follows || !is_strong(a) || !is_strong(b))
        continue;
      if (is_releasing(a) && is(b, event::kind::write))
        release_.add(a, b);
      if (is(a, event::kind::read) && is_acquiring(b))
        acquire_.add(a, b);
    }
}

/// False if somebody waits for ever: for one who never comes, or who waits itself.
bool execution::relate_barriers() {
  // Those who come to a barrier for the n-th time meet.
  using key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, value>;
  std::map<std::pair<key, std::size_t>, std::vector<std::size_t>> met;
  std::map<std::pair<key, std::size_t>, std::size_t> come;
  std::map<key, std::set<std::size_t>> members;
  for (std::size_t thread = 0; thread < test_.threads.size(); ++thread)
    for (auto const& what : test_.threads[thread].program)
      if (auto const* b = std::get_if<barrier>(&what)) {
        auto const& where = test_.threads[thread].where;
        members[{where.agent, where.work_group, b->instance, b->id ? std::get<value>(*b->id) : 0}]
            .insert(thread);
      }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (!is(i, event::kind::arrival) && !is(i, event::kind::wait))
      continue;
    auto const& where = test_.threads[events_[i].thread].where;
    key const id{where.agent, where.work_group, events_[i].barrier_instance, events_[i].of};
    auto& times = come[{id, events_[i].thread}];
    times += is(i, event::kind::arrival);
    met[{id, times}].push_back(i);
  }
  for (auto const& [at, those] : met)
    for (std::size_t const waiting : those) {
      if (!is(waiting, event::kind::wait))
        continue;
      std::size_t arrived = 0;
      for (std::size_t const other : those)
        if (is(other, event::kind::arrival)) {
          barrier_.add(other, waiting);
          ++arrived;
        }
      if (arrived != members[at.first].size())
        return false;
    }
  return (program_order_ | barrier_).is_acyclic();
}

void execution::for_each_allowed(on_allowed const& call, axiom_set axioms) {
  call_ = &call;
  axioms_ = axioms;
  if (is_possible_)
    choose_sources(0);
}

void execution::choose_sources(std::size_t read) {
  if (read < reads_.size()) {
    auto const& wanted = events_[reads_[read]];
    auto const before = reads_from_;
    for (std::size_t w = 0; w < events_.size(); ++w)
      if (is(w, event::kind::write) && events_[w].storage == wanted.storage &&
          events_[w].of == wanted.of) {
        reads_from_.add(w, reads_[read]);
        choose_sources(read + 1);
        reads_from_ = before;
      }
    return;
  }
  if (axioms_.contain(axiom::no_thin_air) && !(reads_from_ | dependency_).is_acyclic())
    return;
  if (axioms_.like_caches && !(reads_from_ | program_order_).is_acyclic())
    return;
  auto const strong = reads_from_ & morally_strong_;
  observation_ = strong | strong.then(update_).closure().then(strong);
  auto const patterns = release_.then(observation_).then(acquire_) & morally_strong_;
  choose_fences(0, patterns | barrier_);
}

/// `synchronises` has FenceSC order of the pairs before `at`.
void execution::choose_fences(std::size_t at, relation const& synchronises) {
  auto const before = (program_order_ | synchronises).closure();
  if (at == strong_fences_.size()) {
    auto const left = synchronises | before.then(synchronises);
    auto const base = left | left.then(before);
    order_writes(base | observation_.then(base | (program_order_ & same_location_)));
    return;
  }
  auto const [a, b] = strong_fences_[at];
  for (auto const& [first, second] : {pair{a, b}, pair{b, a}}) {
    if (axioms_.contain(axiom::fence_sc) && before.contains(second, first))
      continue;
    auto more = synchronises;
    more.add(first, second);
    choose_fences(at + 1, more);
  }
}

void execution::order_writes(relation const& cause) {
  relation coherence(events_.size());
  for (std::size_t a = 0; a < events_.size(); ++a)
    for (std::size_t b = 0; b < events_.size(); ++b)
      if (is(a, event::kind::write) && is(b, event::kind::write) && same_location_.contains(a, b) &&
          ((events_[a].is_first && !events_[b].is_first) ||
           (axioms_.contain(axiom::coherence) && cause.contains(a, b))))
        coherence.add(a, b);
  auto ordered = strong_writes_;
  if (axioms_.like_caches)
    ordered.insert(ordered.end(), other_writes_.begin(), other_writes_.end());
  choose_coherence(ordered, coherence.closure(), cause);
}

void execution::choose_coherence(std::span<pair const> left, relation const& coherence,
                                 relation const& cause) {
  if (!coherence.is_irreflexive())
    return;
  if (left.empty()) {
    if (is_coherent(coherence, cause))
      tell(coherence);
    return;
  }
  auto const [a, b] = left.front();
  for (auto const& [first, second] : {pair{a, b}, pair{b, a}}) {
    if (coherence.contains(second, first))
      continue;
    auto more = coherence;
    more.add(first, second);
    choose_coherence(left.subspan(1), more.closure(), cause);
  }
}

bool execution::is_coherent(relation const& coherence, relation const& cause) const {
  auto const from_reads = reads_from_.inverse().then(coherence);
  auto const own_location = program_order_ & same_location_;
  if (axioms_.contain(axiom::atomicity) &&
      !((from_reads & morally_strong_).then(coherence & morally_strong_) & update_).is_empty())
    return false;
  auto const communication = reads_from_ | coherence | from_reads;
  if (axioms_.contain(axiom::sc_per_location) &&
      !((communication & morally_strong_) | own_location).is_acyclic())
    return false;
  if (axioms_.like_caches && !(communication | own_location).is_acyclic())
    return false;
  return !axioms_.contain(axiom::causality) ||
         (reads_from_ | from_reads).then(cause).is_irreflexive();
}

void execution::tell(relation const& coherence) const {
  std::vector<std::vector<value>> last(test_.initial.size());
  for (std::size_t w = 0; w < events_.size(); ++w)
    if (is(w, event::kind::write) && coherence.of(w) == 0)
      last[events_[w].storage].push_back(events_[w].of);
  (*call_)(last);
}

} // namespace ptx_model
