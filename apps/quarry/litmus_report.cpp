// SPDX-License-Identifier: Apache-2.0
#include "litmus_report.hpp"

#include "build_info.hpp"
#include "output/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace quarry::command {
namespace {

using litmus::expected_class;
using litmus::verdict;

constexpr std::array classes{expected_class::exact_allowed, expected_class::exact_forbidden,
                             expected_class::forbidden, expected_class::model_stronger};

template<class Predicate>
std::size_t count_of(std::vector<litmus_row> const& rows, Predicate is_one) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, is_one));
}

bool has_verdict(litmus_row const& row, verdict v) {
  return row.found && row.found->what == v;
}

std::string verdict_of(litmus_row const& row) {
  if (!row.refused.empty())
    return "refused";
  return row.found ? std::string(to_string(row.found->what)) : "unsupported";
}

std::string outcomes_of(litmus::test const& t, litmus::search_result const& found) {
  std::string text;
  for (auto const& [values, outcome] : found.outcomes) {
    text += fmt::format("   {:>12}{}", outcome.count, outcome.is_target ? " *" : "  ");
    for (std::size_t i = 0; i < values.size(); ++i)
      text += fmt::format("  {}={}", name_of(t, t.observed[i]), values[i]);
    text += '\n';
  }
  return text;
}

std::string why_no_end(litmus_row const& row) {
  if (row.found->stuck_count != 0)
    return fmt::format("no execution comes to an end{}: in {} somebody waits for ever",
                       row.what.filter ? " that the filter lets count" : "",
                       row.found->stuck_count);
  return row.what.filter ? "no execution comes to an end that the filter lets count"
                         : "no execution comes to an end: all go on for ever";
}

/// “66 of 66 exact-allowed, …” for the classes that there are.
std::string classes_of(std::vector<litmus_row> const& rows) {
  std::string text;
  for (auto const c : classes) {
    auto const all = count_of(rows, [&](auto const& row) { return row.expected == c; });
    if (all == 0)
      continue;
    auto const met =
        count_of(rows, [&](auto const& row) { return row.expected == c && row.is_met(); });
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", met, all, to_string(c));
  }
  return text;
}

} // namespace

bool litmus_row::is_met() const {
  return !expected || (found && litmus::expectation{{}, *expected}.is_met_by(found->what));
}

std::string litmus_heading(std::uint64_t most_states) {
  return fmt::format("# quarry {} litmus\n#  at most {} states a test\n#\n"
                     "#  {:<12}  {:>9}  {:>10}  {:<15}  {:<4}  {}\n",
                     version, most_states, "verdict", "states", "executions", "expected", "met",
                     "test");
}

std::string to_text(litmus_row const& row, bool with_outcomes) {
  auto const expected = row.expected ? to_string(*row.expected) : "-";
  auto const met = !row.expected ? "-" : row.is_met() ? "yes" : "NO";
  if (!row.found) {
    auto text = fmt::format("   {:<12}  {:>9}  {:>10}  {:<15}  {:<4}  {}\n", verdict_of(row), "-",
                            "-", expected, met, row.what.file);
    if (!row.refused.empty())
      text += fmt::format("                 {}\n", row.refused);
    for (auto const& feature : row.what.unsupported)
      text += fmt::format("                 {}\n", feature);
    return text;
  }
  auto text =
      fmt::format("   {:<12}  {:>9}  {:>10}  {:<15}  {:<4}  {}\n", to_string(row.found->what),
                  row.found->state_count, row.found->execution_count, expected, met, row.what.file);
  if (row.found->what == verdict::no_end)
    text += fmt::format("                 {}\n", why_no_end(row));
  if (row.found->what == verdict::inconclusive)
    for (auto const why : row.found->bounded_by)
      text += fmt::format("                 {}\n", why);
  return with_outcomes ? text + outcomes_of(row.what, *row.found) : text;
}

std::string litmus_summary(std::vector<litmus_row> const& rows) {
  auto const verdicts = [&](verdict v) {
    return count_of(rows, [&](auto const& row) { return has_verdict(row, v); });
  };
  auto const refused = count_of(rows, [](auto const& row) { return !row.refused.empty(); });
  auto const endless = verdicts(verdict::no_end);
  auto text = fmt::format("#\n# {} test{}: {} allowed, {} forbidden, {} inconclusive{}, {} "
                          "unsupported{}\n",
                          rows.size(), rows.size() == 1 ? "" : "s", verdicts(verdict::allowed),
                          verdicts(verdict::forbidden), verdicts(verdict::inconclusive),
                          endless == 0 ? "" : fmt::format(", {} without an end", endless),
                          count_of(rows, [](auto const& row) { return !row.found; }) - refused,
                          refused == 0 ? "" : fmt::format(", {} refused", refused));
  auto const expected = classes_of(rows);
  if (expected.empty())
    return text;
  bool const all_met = std::ranges::all_of(rows, &litmus_row::is_met);
  return text + fmt::format("# expected: {}: {}\n", expected, all_met ? "OK" : "FAILED");
}

std::string to_json(std::vector<litmus_row> const& rows, std::uint64_t most_states,
                    bool is_interrupted) {
  using nlohmann::ordered_json;
  ordered_json tests = ordered_json::array();
  for (auto const& row : rows) {
    ordered_json one{{"file", row.what.file}, {"name", row.what.name}};
    one["verdict"] = verdict_of(row);
    if (row.expected) {
      one["expected"] = to_string(*row.expected);
      one["met"] = row.is_met();
    }
    if (!row.refused.empty())
      one["refused"] = row.refused;
    if (!row.found) {
      one["unsupported"] = row.what.unsupported;
      tests.push_back(std::move(one));
      continue;
    }
    one["bounded"] = row.found->is_bounded();
    one["bounded_by"] = row.found->bounded_by;
    one["states"] = row.found->state_count;
    one["executions"] = row.found->execution_count;
    one["stuck"] = row.found->stuck_count;
    one["outcomes"] = ordered_json::array();
    for (auto const& [values, outcome] : row.found->outcomes) {
      ordered_json end{{"count", outcome.count}, {"target", outcome.is_target}};
      for (std::size_t i = 0; i < values.size(); ++i)
        end["values"][name_of(row.what, row.what.observed[i])] = values[i];
      one["outcomes"].push_back(std::move(end));
    }
    tests.push_back(std::move(one));
  }
  ordered_json const all{
      {"version", version},
      {"max_states", most_states},
      {"interrupted", is_interrupted},
      {"met", std::ranges::all_of(
                  rows, [](litmus_row const& row) { return row.is_met() && row.refused.empty(); })},
      {"tests", std::move(tests)}};
  return json_text(all);
}

} // namespace quarry::command
