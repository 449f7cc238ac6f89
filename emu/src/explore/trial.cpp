// SPDX-License-Identifier: Apache-2.0
#include "trial.hpp"

#include "diagnosis.hpp"
#include "stretch.hpp"

#include <quarry/strategy.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace quarry {
namespace {

std::string_view drawing(std::string_view strategy) {
  return strategy == "exhaustive" || strategy == "bytes" ? "swarm" : strategy;
}

} // namespace

trial::trial(explorer& worlds, explore_options const& options, stack_allowance const& stacks)
    : worlds_(worlds), options_(options), stacks_(stacks),
      drawn_(worlds, *make_strategy(drawing(options.strategy)), options) {}

void trial::look_for(exploration_failure const& f) {
  wanted_ = class_of(f);
  known_ = {f.shrunk};
}

bool trial::is_over() const noexcept {
  return spent_ >= most_ || is_interrupted(options_) || stacks_.is_used_up();
}

std::string trial::why_over() const {
  if (stacks_.is_used_up())
    return "its executions leave too many actors that nobody can unwind: join() them, also where "
           "the\n  world throws";
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
  drawn_.forget();
  worlds_.adjust(with);
}

/// Nothing: it is known to end well.
std::optional<explorer::result> trial::draw(std::uint64_t i) {
  ++spent_;
  return drawn_.run(options_.seed + i, [] {});
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
  begin({});
  worlds_.collect(&all);
  for (choice_record const& r : known_)
    worlds_.repeat(r);
  for (std::uint64_t i = 0; i < executions && !is_over(); ++i)
    draw(i);
  worlds_.collect(nullptr);
  return all;
}

bool trial::fails(std::vector<emu::adjustment> const& with, std::uint64_t executions) {
  constexpr std::size_t most_known = 8;
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
    if (known_.size() == most_known)
      known_.erase(known_.begin() + 1); // the first one has failed without any help
    known_.push_back(worlds_.chosen().record());
    return true;
  }
  return false;
}

void trial::ignore_what_fails(std::vector<emu::adjustment> const& with, std::uint64_t executions) {
  begin(with);
  for (std::uint64_t i = 0; i < executions && !is_over(); ++i)
    if (auto const r = draw(i); r && counts(*r)) {
      if (!has_failed_otherwise_)
        return;
      ignored_.push_back(class_of(*r->finding));
    }
}

// Questions

/// What has mended few executions by chance is told by ten times as many, or as many as are
/// explored, and then looked for again: with the execution that told it, and then among so many.
void diagnose(explorer& worlds, explore_options const& options, stack_allowance const& stacks,
              exploration_failure& f) {
  auto executions = std::clamp<std::uint64_t>(16 * f.execution, 200, 2'000);
  trial t(worlds, options, stacks);
  t.look_for(f);
  auto const sites = t.sites(100);
  t.ignore_what_fails(all_strongest(sites), executions);
  for (bool is_first = true;; is_first = false) {
    t.allow(std::max<std::uint64_t>(100'000, 100 * executions));
    mending m =
        mend(sites, [&](std::vector<emu::adjustment> const& a) { return t.fails(a, executions); });
    m.executions = executions;
    std::uint64_t const more = std::min(10 * executions, options.executions);
    bool is_sure = !m.is_possible || more <= executions;
    if (!is_sure && t.why_over().empty()) {
      is_sure = !t.fails(m.changes, more);
      m.executions = is_sure ? more : executions;
    }
    if (is_interrupted(options)) // it may have been the answer to anything
      return f.mended.reset();
    if (!is_sure && t.why_over().empty() && t.has_failed_otherwise())
      t.ignore_what_fails(all_strongest(sites), 20 * executions);
    m.others = t.ignored();
    m.given_up = t.why_over();
    f.mended = std::move(m);
    if (is_sure || !f.mended->given_up.empty())
      return;
    executions *= is_first ? 1 : 10;
  }
}

std::vector<emu::adjustment> narrowings(explorer& worlds, explore_options const& options) {
  stack_allowance const stacks;
  trial t(worlds, options, stacks);
  auto const sites = t.sites(std::min<std::uint64_t>(options.executions, 100));
  return narrow(
      sites, [&](std::vector<emu::adjustment> const& a) { return t.fails(a, options.executions); });
}

} // namespace quarry
