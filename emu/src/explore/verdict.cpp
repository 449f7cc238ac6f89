// SPDX-License-Identifier: Apache-2.0
// What an exploration says.
#include "cache_machine.hpp"
#include "cache_place.hpp"
#include "command_lines.hpp"
#include "failure_class.hpp"

#include <quarry/emu/explore.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quarry {
namespace {

std::string list(std::vector<emu::adjustment> const& those) {
  std::string text;
  for (emu::adjustment const& a : those)
    text += fmt::format("    {}\n", emu::to_string(a));
  return text;
}

bool becomes_seq_cst_update(emu::adjustment const& a) {
  return a.at.what == emu::operation_kind::update && a.at.how != emu::order::seq_cst &&
         a.how == emu::order::seq_cst;
}

bool becomes_relaxed(emu::adjustment const& a) {
  return a.at.is_plain() && a.how == emu::order::relaxed;
}

/// What there is to say beside the changes.
std::string reservations_of(mending const& m) {
  std::string text;
  if (std::ranges::any_of(m.changes, becomes_seq_cst_update))
    text += "  (a seq_cst update is as strong as a seq_cst fence here; in C++ it orders seq_cst "
            "operations\n  only: put a fence there)\n";
  if (m.silences_too() && !m.only_silences())
    text += "  (what becomes relaxed races no more; but that orders nothing: is a barrier missing "
            "there, or a\n  release and an acquire?)\n";
  if (m.is_possible && !m.given_up.empty())
    text += fmt::format("  fewer or weaker ones may do; no more was tried: {}\n", m.given_up);
  for (std::string const& other : m.others)
    text += fmt::format("  another failure stays, whatever is stronger: {}\n", other);
  return text;
}

/// What fails all the same does so where plain accesses would have become atomic.
bool fails_where_it_changes(mending const& m) {
  return std::ranges::all_of(m.changes, &emu::operation_site::is_plain, &emu::adjustment::at) &&
         std::ranges::any_of(m.others, [&](std::string const& other) {
           return std::ranges::any_of(m.changes, [&](emu::adjustment const& a) {
             return names_line(other, to_string(a.at.where));
           });
         });
}

std::string describe_changes(mending const& m) {
  if (!m.is_possible && !m.given_up.empty())
    return fmt::format("  whether a stronger order, a wider scope or a call of a network mends it "
                       "is not known: {}\n",
                       m.given_up);
  if (!m.is_possible)
    return "  no stronger order, wider scope, fence() or quiet() mends it: look at the logic\n";
  if (fails_where_it_changes(m) || (m.only_silences() && !m.others.empty()))
    return fmt::format(
        "  nothing races where these are atomic, but it fails all the same: orders do not mend it. "
        "Is a\n  barrier missing?\n{}",
        list(m.changes));
  if (m.only_silences())
    return fmt::format("  nothing fails in {} executions where these are atomic; but that orders "
                       "nothing: is a barrier\n  missing, or a release and an acquire?\n{}",
                       m.executions, list(m.changes));
  return fmt::format("  it is mended by{} (then no {}failure in {} executions{}):\n{}",
                     m.changes.size() == 1 ? "" : ", together", m.others.empty() ? "" : "other ",
                     m.executions, m.is_complete ? ", nor in any other" : "", list(m.changes));
}

std::string describe(mending const& m) {
  return describe_changes(m) + reservations_of(m);
}

} // namespace

bool mending::only_silences() const noexcept {
  return is_possible && !changes.empty() && std::ranges::all_of(changes, becomes_relaxed);
}

bool mending::silences_too() const noexcept {
  return is_possible && std::ranges::any_of(changes, becomes_relaxed);
}

std::string to_string(search_bounds const& b) {
  std::string text;
  auto const add = [&text](std::optional<std::uint32_t> n, std::string_view one,
                           std::string_view several) {
    if (n)
      text += fmt::format("{}{} {}", text.empty() ? "" : " and ", *n, *n == 1 ? one : several);
  };
  add(b.deviations, "deviation", "deviations");
  add(b.preemptions, "pre-emption", "pre-emptions");
  add(b.stale, "stale value or late write", "stale values or late writes");
  return text;
}

double verdict::run_per_second() const noexcept {
  return exploring_seconds > 0 ? static_cast<double>(executions - repeated) / exploring_seconds : 0;
}

namespace {

/// How many executions, and which ones there were not.
std::string extent_of(verdict const& v) {
  return fmt::format(
      "{} execution{} in {:.2f} s{}{}{}{}{}{}", v.executions, v.executions == 1 ? "" : "s",
      v.seconds,
      v.repeated == 0
          ? ""
          : fmt::format(" ({} run, the others were the same again)", v.executions - v.repeated),
      v.executions < 2 ? "" : fmt::format(", {:.0f} run a second", v.run_per_second()),
      v.is_complete         ? ", all there are"
      : v.is_complete_up_to ? ", all with at most " + quarry::to_string(*v.is_complete_up_to)
      : v.is_interrupted    ? ", interrupted"
      : v.is_cut_short      ? ", not all there are: that is the limit"
                            : "",
      v.redundant == 0 ? ""
                       : fmt::format("{} ({} redundant)",
                                     v.is_complete || v.is_complete_up_to
                                         ? " but for the order of what is independent"
                                         : "",
                                     v.redundant),
      v.inconclusive == 0 ? ""
                          : fmt::format("; {} inconclusive: cut off by the limit (busiest: {})",
                                        v.inconclusive, v.busiest),
      v.limited == 0
          ? ""
          : fmt::format(
                "; in {} a load could not see all that it might have: {} writes "
                "to a word are remembered, {} stores of an actor delayed, {} updates seen late, "
                "{} loads stale in a row, and a word that is accessed in parts is stored at once, "
                "its newest value seen",
                v.limited, emu::cache_place::kept, emu::cache_machine::most_delayed,
                emu::cache_machine::most_lingering, emu::cache_place::most_stale_in_a_row));
}

/// What else is to be known, a line each.
std::string warnings_of(verdict const& v) {
  std::string text = indented(v.divergence);
  if (!v.missed.empty())
    text += fmt::format("  it did not fail as recorded: {}\n", v.missed);
  if (!v.left_behind.empty())
    text += fmt::format("  a process died in an earlier exploration: {}\n", v.left_behind);
  if (!v.not_kept.empty())
    text += fmt::format("  nothing is kept: {}\n", v.not_kept);
  return text;
}

std::string narrowings_of(verdict const& v) {
  if (!v.narrowings.empty())
    return fmt::format("  could be weaker, one at a time, for all that this model shows in {} "
                       "executions and up to\n  {} of a search:\n{}",
                       v.narrowing_executions, v.narrowing_executions, list(v.narrowings));
  return v.is_narrowed ? "  nothing could be weaker: no operation does without its order or scope\n"
                       : "";
}

std::string without_failure(verdict const& v) {
  auto const [word, what] = !v.missed.empty() ? std::pair("GONE", "no failure")
                            : v.is_complete   ? std::pair("PASS", "no failure")
                            : !v              ? std::pair("OPEN", "nothing came to its end")
                            : v.is_open() ? std::pair("OPEN", "no failure, but much is not known,")
                                          : std::pair("OK  ", "no failure");
  return fmt::format("{}  {}: {} in {}\n{}{}", word, v.name, what, extent_of(v), warnings_of(v),
                     narrowings_of(v));
}

} // namespace

std::string verdict::to_string() const {
  if (!failure)
    return without_failure(*this);
  exploration_failure const& f = *failure;
  std::string text =
      fmt::format("FAIL  {}  kind={}  {}  (execution {}{}; {})\n{}{}", name, f.kind, f.where,
                  f.execution, f.seed == 0 ? "" : fmt::format(", seed {:#x}", f.seed),
                  extent_of(*this), f.report, warnings_of(*this));
  if (f.equal != 0)
    text += fmt::format("  {} more like it in the same execution\n", f.equal);
  if (!f.history.empty())
    text += "  the last operations before it:\n" + f.history;
  text += fmt::format("  shrunk: {} -> {} choices that are not the boring one, {} -> {} "
                      "pre-emptions{}\n",
                      f.found.nonzero_count(), f.shrunk.nonzero_count(), f.found.preemption_count(),
                      f.shrunk.preemption_count(),
                      f.kind != "livelock" ? ""
                                           : ",\n          with those of its end, where all go on "
                                             "by turns");
  if (f.mended)
    text += describe(*f.mended);
  if (!f.is_repeatable)
    text += f.kind == "unwinding" && redundant != 0
                ? "  no replay shows it: the search gave the execution up, since what follows was "
                  "known\n"
                : "  hidden state: the same choices did not lead to the same execution\n";
  if (!f.file.empty())
    text += fmt::format("  replay: {}\n  debug:  {}\n", f.replay_line, f.debug_line);
  return text;
}

} // namespace quarry
