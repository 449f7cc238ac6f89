// SPDX-License-Identifier: Apache-2.0
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace quarry {
namespace {

bool is_blocked(actor_state s) {
  return s == actor_state::waiting || s == actor_state::polling;
}

/// What the rows of a report call what they wait on, where nobody has given it a name: by the order
/// in which it comes up, since an address says nothing and is another one each time.
class names_of_objects {
public:
  /// "mutex 2"
  [[nodiscard]] std::string of(wait_reason const& reason) {
    std::string_view const what = reason.what;
    std::string_view const kind = what == "wait_until" ? "word" : what;
    auto const [known, is_new] = numbers_.try_emplace(reason.on, 0);
    if (is_new)
      known->second = ++counts_[kind];
    return fmt::format("{} {}", kind, known->second);
  }

private:
  std::map<void const*, std::size_t> numbers_;
  std::map<std::string_view, std::size_t> counts_; ///< of each kind
};

/// By actor, the row that is its own.
using row_index = std::unordered_map<actor const*, std::size_t>;

row_index index_of(std::vector<report_row> const& rows) {
  row_index all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].who != nullptr)
      all.emplace(rows[i].who, i);
  return all;
}

/// None: nobody has to act, or it is in no row.
std::optional<std::size_t> owner_of(report_row const& row, row_index const& rows) {
  auto const at = rows.find(row.owner);
  return row.owner == nullptr || at == rows.end() ? std::nullopt : std::optional(at->second);
}

std::string reason_of(report_row const& row, std::vector<report_row> const& rows,
                      row_index const& row_of, names_of_objects& names) {
  if (!is_blocked(row.state))
    return std::string(to_string(row.state));
  std::string text = fmt::format("{} at {}", row.reason.what, to_string(row.reason.where));
  if (!row.place.empty())
    text += fmt::format(" on {}", row.place);
  else if (row.reason.on != nullptr)
    text += fmt::format(" on {}", names.of(row.reason));
  if (auto const owner = owner_of(row, row_of))
    text += fmt::format(", which {} has", rows[*owner].actor);
  return text;
}

} // namespace

void report::add(std::string_view strand, actor const& a, std::string note) {
  report_row row{std::string(strand), a.name(), a.state, a.reason, "", std::move(note), &a};
  // Only while it waits: afterwards the mutex, say, may be gone.
  if (is_blocked(a.state) && a.reason.owner != nullptr)
    row.owner = a.reason.owner->load(std::memory_order_relaxed);
  row.reason.owner = nullptr;
  rows.push_back(std::move(row));
}

std::vector<std::vector<std::size_t>> report::cycles() const {
  row_index const row_of = index_of(rows);
  std::vector<std::vector<std::size_t>> found;
  std::vector<std::size_t> seen_from(rows.size(), rows.size()); // the start of the walk that saw it
  std::vector<std::size_t> seen_at(rows.size());                // and its place in that walk
  for (std::size_t start = 0; start < rows.size(); ++start) {
    std::vector<std::size_t> path;
    for (std::size_t i = start; seen_from[i] == rows.size();) {
      seen_from[i] = start;
      seen_at[i] = path.size();
      path.push_back(i);
      auto const next = owner_of(rows[i], row_of);
      if (!next)
        break;
      i = *next;
      if (seen_from[i] == start) // the walk came back to itself
        found.emplace_back(path.begin() + static_cast<std::ptrdiff_t>(seen_at[i]), path.end());
    }
  }
  return found;
}

std::string report::to_string() const {
  if (rows.empty() && busy.empty())
    return "no actor waits\n";
  std::size_t strand_width = 6;
  std::size_t actor_width = 5;
  for (report_row const& row : rows) {
    strand_width = std::max(strand_width, row.strand.size());
    actor_width = std::max(actor_width, row.actor.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  waits for\n", "strand", strand_width, "actor", actor_width);
  names_of_objects names;
  row_index const row_of = index_of(rows);
  for (report_row const& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {}", row.strand, strand_width, row.actor, actor_width,
                        reason_of(row, rows, row_of, names));
    text += row.note.empty() ? "\n" : fmt::format("; {}\n", row.note);
  }
  for (std::string const& name : busy)
    text += fmt::format("{}: running, did not come to a suspension point\n", name);
  for (std::vector<std::size_t> const& cycle : cycles()) {
    text += "cycle: ";
    for (std::size_t i : cycle)
      text += rows[i].actor + " -> ";
    text += rows[cycle.front()].actor + "\n";
  }
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
