// SPDX-License-Identifier: Apache-2.0
// What an exploration says.
#include <quarry/emu/explore.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace quarry {
namespace {

std::string list(std::vector<emu::adjustment> const& those) {
  std::string text;
  for (emu::adjustment const& a : those)
    text += fmt::format("    {}\n", emu::to_string(a));
  return text;
}

/// Plain accesses made relaxed ones are no race any more, but nothing orders them.
bool only_silences(mending const& m) {
  return std::all_of(m.changes.begin(), m.changes.end(), [](emu::adjustment const& a) {
    return !a.at.how && a.how == emu::order::relaxed;
  });
}

std::string describe(mending const& m) {
  if (!m.is_possible)
    return "  no stronger order or wider scope mends it: look at the logic\n";
  if (only_silences(m))
    return fmt::format("  nothing fails in {} executions where these are atomic; but that orders "
                       "nothing: is a barrier\n  missing, or a release and an acquire?\n{}",
                       m.executions, list(m.changes));
  return fmt::format("  it is mended by{} (then no failure in {} executions):\n{}",
                     m.changes.size() == 1 ? "" : ", together", m.executions, list(m.changes));
}

} // namespace

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

std::string verdict::to_string() const {
  std::string const extent = fmt::format(
      "{} execution{} in {:.2f} s{}{}{}{}", executions, executions == 1 ? "" : "s", seconds,
      repeated == 0
          ? ""
          : fmt::format(" ({} run, the others were the same again)", executions - repeated),
      is_complete         ? ", all there are"
      : is_complete_up_to ? ", all with at most " + quarry::to_string(*is_complete_up_to)
      : is_interrupted    ? ", interrupted"
      : is_cut_short      ? ", not all there are: that is the limit"
                          : "",
      redundant == 0
          ? ""
          : fmt::format(
                "{} ({} redundant)",
                is_complete || is_complete_up_to ? " but for the order of what is independent" : "",
                redundant),
      inconclusive == 0 ? ""
                        : fmt::format("; {} inconclusive: cut off by the limit (busiest: {})",
                                      inconclusive, busiest));
  std::string warning = divergence.empty() ? "" : fmt::format("  {}\n", divergence);
  if (!left_behind.empty())
    warning += fmt::format("  a process died in an earlier exploration: {}\n", left_behind);
  if (!failure)
    return fmt::format("{}  {}: {} in {}\n{}{}",
                       is_complete ? "PASS"
                       : *this     ? "OK  "
                                   : "OPEN",
                       name, *this ? "no failure" : "nothing came to its end", extent, warning,
                       narrowings.empty()
                           ? ""
                           : "  could be weaker, one at a time, for all that was seen:\n" +
                                 list(narrowings));
  exploration_failure const& f = *failure;
  return fmt::format(
      "FAIL  {}  kind={}  {}  (execution {}{}; {})\n{}{}"
      "{}{}  shrunk: {} -> {} choices that are "
      "not the boring one, {} -> {} pre-emptions\n{}{}{}",
      name, f.kind, f.where, f.execution, f.seed == 0 ? "" : fmt::format(", seed {:#x}", f.seed),
      extent, f.report, warning, f.history.empty() ? "" : "  the last operations before it:\n",
      f.history, f.found.nonzero_count(), f.shrunk.nonzero_count(), f.found.preemption_count(),
      f.shrunk.preemption_count(), f.mended ? describe(*f.mended) : "",
      f.is_repeatable ? ""
                      : "  hidden state: the same choices did not lead to the same execution\n",
      f.file.empty() ? "" : fmt::format("  replay: {}\n", f.replay_line));
}

} // namespace quarry
