// SPDX-License-Identifier: Apache-2.0
#include "result_table.hpp"

#include "build_info.hpp"
#include "cluster.hpp"
#include "output/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace quarry::command {
namespace {

struct column {
  std::string name;
  std::string unit;
  std::string value;
};

std::string to_text(std::variant<std::uint64_t, double> const& value) {
  if (auto const* whole = std::get_if<std::uint64_t>(&value))
    return fmt::format("{}", *whole);
  auto const real = std::get<double>(value);
  return fmt::format("{:.{}f}", real, std::abs(real) < 100 ? 3 : 1);
}

std::string to_text(setting const& one) {
  if (auto const* const text = std::get_if<std::string>(&one.value))
    return *text;
  if (auto const* const real = std::get_if<double>(&one.value))
    return fmt::format("{:.2g}", *real);
  return fmt::format("{}", std::get<std::uint64_t>(one.value));
}

std::vector<column> columns_of(run_options const& options, program_result const& result) {
  std::vector<column> columns{{"nodes", "", fmt::format("{}", options.node_count)}};
  for (auto const& one : result.figures)
    columns.push_back({one.name, one.unit, to_text(one.value)});
  columns.push_back(
      {"#wrong", "", result.is_checked ? fmt::format("{}", result.wrong_count) : "-"});
  return columns;
}

std::vector<setting> common_settings(run_options const& options, program_result const& result) {
  std::vector<setting> all{
      {"transport", name_of(transport_choices, options.transport)},
      {"scheduler", name_of(scheduler_choices, options.scheduler)},
  };
  if (options.style) {
    all.push_back({"style", name_of(style_choices, *options.style)});
    all.push_back({"aggregators", options.aggregator_count});
  }
  all.push_back({"wavefront size", options.wavefront_size});
  all.push_back({"threads per node", threads_per_node(options)});
  all.push_back({"compute units", machine_of(options).compute_units});
  if (options.has_seed && result.is_drawn)
    all.push_back({"seed", options.seed});
  if (options.checks_bounds)
    all.push_back({"bounds", "checked"});
  return all;
}

std::string verdict_of(program_result const& result) {
  if (!result.is_checked)
    return "not checked: FAILED";
  if (result.is_verified())
    return "0 wrong: OK";
  return fmt::format("{} wrong: FAILED{}{}", result.wrong_count, result.reason.empty() ? "" : ": ",
                     result.reason);
}

std::string heading(std::vector<setting> const& settings) {
  std::string line = "#";
  for (auto const& one : settings)
    line += fmt::format("  {} {}", one.name, to_text(one));
  return settings.empty() ? "" : line + '\n';
}

nlohmann::ordered_json to_json(std::vector<setting> const& those) {
  auto json = nlohmann::ordered_json::object();
  for (auto const& one : those)
    std::visit([&](auto const& value) { json[one.name] = value; }, one.value);
  return json;
}

} // namespace

std::string to_table(std::string_view program, run_options const& options,
                     program_result const& result) {
  std::string names = "#";
  std::string units = "#";
  std::string values = " ";
  for (auto const& one : columns_of(options, result)) {
    auto const unit = one.unit.empty() ? "" : fmt::format("({})", one.unit);
    auto const width = std::max({one.name.size(), unit.size(), one.value.size()});
    names += fmt::format("  {:>{}}", one.name, width);
    units += fmt::format("  {:>{}}", unit, width);
    values += fmt::format("  {:>{}}", one.value, width);
  }
  auto text = fmt::format("# quarry {} run {}\n", version, program);
  text += heading(common_settings(options, result)) + heading(result.settings);
  text += fmt::format("#\n{}\n{}\n{}\n", names, units, values);
  for (auto const& line : result.lines)
    text += line + '\n';
  return text + fmt::format("# {}\n", verdict_of(result));
}

std::string to_json(std::string_view program, run_options const& options,
                    program_result const& result) {
  nlohmann::ordered_json json;
  json["program"] = program;
  json["version"] = version;
  json["nodes"] = options.node_count;
  json["options"] = to_json(common_settings(options, result));
  json["options"].update(to_json(result.settings));
  json["figures"] = nlohmann::ordered_json::array();
  for (auto const& one : result.figures) {
    nlohmann::ordered_json entry{{"name", one.name}, {"unit", one.unit}};
    std::visit([&](auto value) { entry["value"] = value; }, one.value);
    json["figures"].push_back(std::move(entry));
  }
  json["lines"] = result.lines;
  json["rows"] = nlohmann::ordered_json::array();
  for (auto const& row : result.rows)
    json["rows"].push_back(to_json(row));
  json["checked"] = result.is_checked;
  json["wrong"] = result.wrong_count;
  json["verified"] = result.is_verified();
  json["reason"] = result.reason;
  return json_text(json);
}

} // namespace quarry::command
