// SPDX-License-Identifier: Apache-2.0
#include "ptx_outcomes.hpp"

#include <map>
#include <stdexcept>
#include <utility>

namespace ptx_model {

using namespace quarry::litmus;

namespace {

/// A run, with what it takes and gives: a bit for each value at each storage.
struct traded_run {
  run what;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};

class enumeration {
public:
  enumeration(test const& t, axiom_set axioms, int most_loops) : test_(t), axioms_(axioms) {
    auto const found = readable_values(t, most_loops);
    for (std::uint32_t s = 0; s < found.size(); ++s)
      for (value const v : found[s])
        number(s, v);
    for (std::uint32_t s = 0; s < found.size(); ++s)
      first_ |= number(s, t.initial[s]);
    for (std::size_t i = 0; i < t.threads.size(); ++i) {
      runs_.emplace_back();
      for (run& r : runs_of(t, i, found, most_loops))
        runs_.back().push_back(traded(std::move(r)));
    }
    chosen_.resize(t.threads.size());
    choose(0, 0, first_);
  }
  outcomes all;

private:
  std::uint64_t number(std::uint32_t storage, value v) {
    auto const at = numbers_.emplace(std::pair(storage, v), numbers_.size()).first->second;
    if (at >= 64)
      throw std::length_error("too many values");
    return std::uint64_t{1} << at;
  }
  traded_run traded(run&& r) {
    traded_run one{.what = std::move(r)};
    for (event const& e : one.what.events) {
      if (e.what == event::kind::read)
        one.reads |= number(e.storage, e.of);
      if (e.what == event::kind::write)
        one.writes |= number(e.storage, e.of);
    }
    return one;
  }

  void choose(std::size_t thread, std::uint64_t reads, std::uint64_t writes) {
    if (thread < runs_.size()) {
      for (traded_run const& r : runs_[thread]) {
        chosen_[thread] = &r.what;
        choose(thread + 1, reads | r.reads, writes | r.writes);
      }
      return;
    }
    if ((reads & ~writes) != 0)
      return; // nobody wrote what somebody read
    execution(test_, chosen_)
        .for_each_allowed([this](auto const& last) { observe(last); }, axioms_);
  }

  void observe(std::vector<std::vector<value>> const& last) {
    std::vector<value> picked;
    observe(last, picked);
  }
  /// Writes that race are in no order: each location's last one is chosen by itself.
  void observe(std::vector<std::vector<value>> const& last, std::vector<value>& picked) {
    if (picked.size() < last.size()) {
      for (value const v : last[picked.size()]) {
        picked.push_back(v);
        observe(last, picked);
        picked.pop_back();
      }
      return;
    }
    std::vector<value> end;
    for (variable const& v : test_.observed)
      end.push_back(v.what == variable::kind::memory ? picked[test_.locations[v.at].storage]
                                                     : chosen_[v.thread]->registers[v.at]);
    if (!test_.filter || test_.filter->is_met(end))
      all.insert(std::move(end));
  }

  test const& test_;
  axiom_set axioms_;
  std::map<std::pair<std::uint32_t, value>, std::size_t> numbers_;
  std::uint64_t first_ = 0;
  std::vector<std::vector<traded_run>> runs_;
  std::vector<run const*> chosen_;
};

} // namespace

outcomes allowed_outcomes(test const& t, axiom_set axioms, int most_loops) {
  return enumeration(t, axioms, most_loops).all;
}

} // namespace ptx_model
