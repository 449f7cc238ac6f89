// SPDX-License-Identifier: Apache-2.0
#include <quarry/study/table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace quarry::study {
namespace {

using nlohmann::ordered_json;

constexpr std::array<char const*, 3> kinds{"label", "exact", "wall clock"};

std::string to_text(cell const& c) {
  if (auto const* words = std::get_if<std::string>(&c))
    return *words;
  if (auto const* whole = std::get_if<std::uint64_t>(&c))
    return fmt::format("{}", *whole);
  if (auto const* real = std::get_if<double>(&c))
    return fmt::format("{:.{}f}", *real, std::abs(*real) < 10 ? 4 : std::abs(*real) < 1000 ? 2 : 0);
  return "-";
}

ordered_json to_value(cell const& c) {
  if (auto const* words = std::get_if<std::string>(&c))
    return *words;
  if (auto const* whole = std::get_if<std::uint64_t>(&c))
    return *whole;
  if (auto const* real = std::get_if<double>(&c))
    return *real;
  return nullptr;
}

std::string name_with_unit(column const& c) {
  return c.unit.empty() ? c.name : fmt::format("{} ({})", c.name, c.unit);
}

std::string quoted(std::string const& field) {
  if (field.find_first_of(",\"\n") == std::string::npos)
    return field;
  std::string result = "\"";
  for (char const c : field)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

/// The widest of a column's name, unit and figures.
std::size_t width_of(table const& t, std::size_t i) {
  std::size_t width = std::max(t.columns[i].name.size(), t.columns[i].unit.size() + 2);
  for (auto const& row : t.rows)
    width = std::max(width, to_text(row[i]).size());
  return width;
}

} // namespace

std::string to_text(table const& t) {
  std::string names = "#";
  std::string units = "#";
  std::vector<std::string> rows(t.rows.size(), " ");
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    column const& c = t.columns[i];
    auto const width = width_of(t, i);
    bool const is_label = c.kind == figure_kind::label;
    auto const aligned = [&](std::string const& text) {
      return is_label ? fmt::format("  {:<{}}", text, width) : fmt::format("  {:>{}}", text, width);
    };
    names += aligned(c.name);
    units += aligned(c.unit.empty() ? "" : fmt::format("({})", c.unit));
    for (std::size_t r = 0; r < rows.size(); ++r)
      rows[r] += aligned(to_text(t.rows[r][i]));
  }
  auto text = fmt::format("# {}: {} ({})\n{}\n{}\n", t.name, t.title, t.source, names, units);
  for (auto const& row : rows)
    text += row + '\n';
  for (auto const& remark : t.remarks)
    text += fmt::format("# {}\n", remark);
  return text;
}

std::string to_csv(table const& t) {
  std::string text;
  for (std::size_t i = 0; i < t.columns.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", quoted(name_with_unit(t.columns[i])));
  for (auto const& row : t.rows) {
    text += '\n';
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto const* real = std::get_if<double>(&row[i]);
      auto const field = std::holds_alternative<std::monostate>(row[i]) ? std::string()
                         : real != nullptr                              ? fmt::format("{}", *real)
                                                                        : to_text(row[i]);
      text += fmt::format("{}{}", i == 0 ? "" : ",", quoted(field));
    }
  }
  return text + '\n';
}

std::string to_json(table const& t, std::string_view version) {
  ordered_json json{{"study", t.name}, {"title", t.title}, {"source", t.source}};
  json["version"] = version;
  json["columns"] = ordered_json::array();
  for (column const& c : t.columns)
    json["columns"].push_back(
        {{"name", c.name}, {"unit", c.unit}, {"kind", kinds[static_cast<std::size_t>(c.kind)]}});
  json["rows"] = ordered_json::array();
  for (auto const& row : t.rows) {
    ordered_json object = ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i)
      object[t.columns[i].name] = to_value(row[i]);
    json["rows"].push_back(std::move(object));
  }
  json["remarks"] = t.remarks;
  return json.dump(2) + '\n';
}

} // namespace quarry::study
