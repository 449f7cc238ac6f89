// SPDX-License-Identifier: Apache-2.0
#include "trial.hpp"

#include "diagnosis.hpp"
#include "failure_class.hpp"
#include "stretch.hpp"

#include <quarry/exhaustive.hpp>
#include <quarry/random_walk.hpp>
#include <quarry/strategy.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quarry {
namespace {

std::string_view drawing(std::string_view strategy) {
  return strategy == "exhaustive" || strategy == "bytes" ? "swarm" : strategy;
}

/// What says that there is nothing else has to know what was left out.
class noting_left_out {
public:
  explicit noting_left_out(explorer& worlds)
      : worlds_(worlds), before_(worlds.note_left_out(true)) {}
  noting_left_out(noting_left_out const&) = delete;
  ~noting_left_out() { worlds_.note_left_out(before_); }

private:
  explorer& worlds_;
  bool before_;
};

} // namespace

trial::trial(explorer& worlds, explore_options const& options, examination_allowance const& allowed)
    : worlds_(worlds), options_(options), allowed_(allowed) {
  // What one kind of execution does not find another one may.
  std::string_view const own = drawing(options.strategy);
  drawn_.emplace_back(worlds, *make_strategy(own), options);
  if (own != random_walk::name())
    drawn_.emplace_back(worlds, *make_strategy(random_walk::name()), options);
}

void trial::look_for(exploration_failure const& f) {
  wanted_ = class_of(f);
  known_ = {f.shrunk};
}

bool trial::is_over() const noexcept {
  return spent_ >= most_ || is_interrupted(options_) || allowed_.is_used_up();
}

std::string trial::why_over() const {
  if (auto const why = allowed_.why_used_up(); !why.empty())
    return why;
  return spent_ >= most_ ? fmt::format("{} executions are enough", most_) : "";
}

std::vector<std::string> trial::ignored() const {
  std::vector<std::string> text;
  text.reserve(ignored_.size());
  for (auto const& [kind, where] : ignored_)
    text.push_back(fmt::format("{} {}", kind, where));
  return text;
}

void trial::begin(std::vector<emu::adjustment> const& with) {
  for (drawn_executions& d : drawn_)
    d.forget();
  worlds_.adjust(with);
}

/// Nothing: it is known to end well.
std::optional<explorer::result> trial::draw(std::uint64_t i) {
  ++spent_;
  return drawn_[i % drawn_.size()].run(options_.seed + i, [] {});
}

bool trial::counts(explorer::result const& r) {
  if (!r.finding)
    return false;
  failure_class const c = class_of(*r.finding);
  if (std::find(ignored_.begin(), ignored_.end(), c) != ignored_.end())
    return false;
  has_failed_otherwise_ = c != wanted_;
  return true;
}

std::vector<emu::operation_site> trial::sites(std::uint64_t executions) {
  std::vector<emu::operation_site> all;
  worlds_.collect(&all);
  std::size_t known = 0;
  do {
    known = all.size();
    begin(all_strongest(all));
    for (choice_record const& r : known_)
      worlds_.repeat(r);
    for (std::uint64_t i = 0; i < executions && !is_over(); ++i)
      draw(i);
  } while (all.size() != known);
  worlds_.collect(nullptr);
  return all;
}

bool trial::fails(std::vector<emu::adjustment> const& with, std::uint64_t executions) {
  begin(with);
  for (choice_record const& r : known_) {
    if (is_over())
      return true;
    ++spent_;
    if (counts(worlds_.repeat(r)))
      return true;
  }
  for (std::uint64_t i = 0; i < executions; ++i) {
    if (is_over())
      return true;
    auto const r = draw(i);
    if (!r || !counts(*r))
      continue;
    note_failed();
    return true;
  }
  return false;
}

void trial::note_failed() {
  constexpr std::size_t most_known = 8;
  if (known_.size() == most_known)
    known_.erase(known_.begin() + 1); // the first one has failed without any help
  known_.push_back(worlds_.chosen().record());
}

trial::all_there_are trial::search(std::vector<emu::adjustment> const& with,
                                   std::uint64_t most_executions) try {
  noting_left_out const noting(worlds_);
  begin(with);
  exhaustive_search all;
  bool is_all_seen = true;
  for (std::uint64_t i = 0; i < most_executions && !is_over(); ++i) {
    ++spent_;
    all.begin();
    auto const r = worlds_.run(all);
    if (counts(r)) {
      note_failed();
      return all_there_are::one_fails;
    }
    if (r.is_cut || r.is_beyond) // there is no end to it
      return all_there_are::are_more;
    is_all_seen = is_all_seen && !r.has_left_out;
    if (!all.next())
      return is_all_seen ? all_there_are::none_fails : all_there_are::are_more;
  }
  return all_there_are::are_more;
} catch (std::logic_error const&) { // the world depends on more than its choices
  return all_there_are::are_more;
}

void trial::ignore_what_fails(std::vector<emu::adjustment> const& with, std::uint64_t executions) {
  begin(with);
  for (std::uint64_t i = 0; i < executions && !is_over(); ++i)
    if (auto const r = draw(i); r && counts(*r)) {
      if (!has_failed_otherwise_)
        return;
      if (options_.direct_lint && r->finding->kind == "race")
        continue; // perhaps because these are stronger
      ignored_.push_back(class_of(*r->finding));
    }
}

// Questions

namespace {

/// In how many executions what mends a failure is tried, at first and in the end. In how many it
/// has been found says how rare it is, unless they came one after the other; but what is left of it
/// may be rarer: short executions are as many in the end as were to be explored.
struct effort {
  effort(explore_options const& options, exploration_failure const& f)
      : each(options.strategy == "exhaustive"
                 ? most_each
                 : std::clamp<std::uint64_t>(16 * f.execution, 200, most_each)),
        in_the_end(std::min(std::max(10 * each, most_choices / (f.shrunk.count() + 1)),
                            options.executions)) {
    if (options.strategy != "exhaustive")
      in_the_end = std::max(in_the_end, 8 * f.execution);
  }
  static constexpr std::uint64_t most_each = 2'000;
  static constexpr std::uint64_t most_choices = 1'000'000; ///< in all of them, about
  std::uint64_t each;
  std::uint64_t in_the_end;
};

/// Those first that the report of a race says should be stronger; then fences, before other
/// operations, which may be there for something else, too.
std::vector<emu::operation_site> in_order(std::vector<emu::operation_site> const& sites,
                                          std::string_view report) {
  constexpr std::string_view label = "\n  missing ";
  std::string missing; // those lines of the report
  for (std::size_t at = report.find(label); at != std::string_view::npos;
       at = report.find(label, at + 1))
    missing += report.substr(at, report.find('\n', at + 1) - at);
  auto const rank = [&missing](emu::operation_site const& s) {
    if (names_line(missing, to_string(s.where)))
      return 0;
    return s.what == emu::operation_kind::fence ? 1 : 2;
  };
  std::vector<emu::operation_site> sorted;
  for (int const one : {0, 1, 2})
    std::ranges::copy_if(sites, std::back_inserter(sorted),
                         [&](auto const& s) { return rank(s) == one; });
  return sorted;
}

/// Whether nothing fails any more, with executions that nobody has tried so far: drawn ones, and
/// one after the other, which may be all there are.
bool confirms(trial& t, mending& m, std::uint64_t executions) {
  if (executions > m.executions) {
    if (t.fails(m.changes, executions))
      return false;
    m.executions = executions;
  }
  auto const found = t.search(m.changes, m.executions);
  m.is_complete = found == trial::all_there_are::none_fails;
  return found != trial::all_there_are::one_fails;
}

} // namespace

/// What has mended few executions by chance is told by more, and then looked for again: with the
/// execution that told it, and then among so many.
void diagnose(explorer& worlds, explore_options const& options,
              examination_allowance const& allowed, exploration_failure& f) {
  effort e(options, f);
  trial t(worlds, options, allowed);
  t.look_for(f);
  auto const sites = in_order(t.sites(100), f.report);
  t.ignore_what_fails(all_strongest(sites), e.each);
  for (bool is_first = true;; is_first = false) {
    t.allow(std::max<std::uint64_t>(100'000, 100 * e.each) + 2 * e.in_the_end);
    mending m = mend(sites, options.direct_lint ? wider::may_fail : wider::never_fails,
                     [&](std::vector<emu::adjustment> const& a) { return t.fails(a, e.each); });
    m.executions = e.each;
    bool const is_sure = !m.is_possible || !t.why_over().empty() || confirms(t, m, e.in_the_end);
    if (is_interrupted(options)) // it may have been the answer to anything
      return f.mended.reset();
    if (!is_sure && t.why_over().empty() && t.has_failed_otherwise())
      t.ignore_what_fails(all_strongest(sites), 20 * e.each);
    m.others = t.ignored();
    m.given_up = t.why_over();
    m.is_possible = m.is_possible && is_sure; // what was refuted is none, should this be the end
    f.mended = std::move(m);
    if (is_sure || !f.mended->given_up.empty())
      return;
    e.each *= is_first ? 1 : 10;
  }
}

void find_narrowings(explorer& worlds, explore_options const& options, verdict& v) {
  examination_allowance const allowed(examination_allowance::any_time); // it was asked for
  trial t(worlds, options, allowed);
  auto const sites = t.sites(std::min<std::uint64_t>(options.executions, 100));
  v.narrowing_executions = options.executions;
  v.narrowings = narrow(sites, [&](std::vector<emu::adjustment> const& a) {
    return t.fails(a, options.executions) ||
           t.search(a, options.executions) == trial::all_there_are::one_fails ||
           is_interrupted(options); // that was no answer
  });
  v.is_narrowed = t.why_over().empty() && !is_interrupted(options);
}

} // namespace quarry
