// SPDX-License-Identifier: Apache-2.0
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace quarry {
namespace {

bool is_blocked(actor_state s) {
  return s == actor_state::waiting || s == actor_state::polling;
}

std::string reason_of(report_row const& row) {
  if (!is_blocked(row.state))
    return std::string(to_string(row.state));
  std::string text = fmt::format("{} at {}", row.reason.what, to_string(row.reason.where));
  if (row.reason.on != nullptr)
    text += fmt::format(" on {}", row.reason.on);
  return text;
}

} // namespace

void report::add(std::string_view strand, actor const& a, std::string note) {
  rows.push_back({std::string(strand), a.name(), a.state, a.reason, std::move(note)});
}

std::string report::to_string() const {
  std::size_t strand_width = 6;
  std::size_t actor_width = 5;
  for (report_row const& row : rows) {
    strand_width = std::max(strand_width, row.strand.size());
    actor_width = std::max(actor_width, row.actor.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  waits for\n", "strand", strand_width, "actor", actor_width);
  for (report_row const& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {}", row.strand, strand_width, row.actor, actor_width,
                        reason_of(row));
    text += row.note.empty() ? "\n" : fmt::format("; {}\n", row.note);
  }
  for (std::string const& name : busy)
    text += fmt::format("{}: running, did not come to a suspension point\n", name);
  return text;
}

std::string_view to_string(actor_state state) noexcept {
  switch (state) {
  case actor_state::ready:
    return "ready";
  case actor_state::running:
    return "running";
  case actor_state::waiting:
    return "waiting";
  case actor_state::polling:
    return "polling";
  case actor_state::done:
    return "done";
  }
  return "?";
}

std::string to_string(std::source_location where) {
  std::string_view file = where.file_name();
  if (auto const slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return fmt::format("{}:{}", file, where.line());
}

} // namespace quarry
