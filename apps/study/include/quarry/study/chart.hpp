// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quarry::study {

enum class chart_kind : std::uint8_t { lines, grouped_bars, stacked_bars };
enum class axis_scale : std::uint8_t { linear, logarithmic };

/// A line, or the bars of one colour: a value at each place of the x axis, or none.
struct series {
  std::string name;
  std::vector<std::optional<double>> values;
};

/// A picture of a study. The places of the x axis stand at equal distances, so that powers of two
/// make a logarithmic axis.
///
/// Shape    at least one place; a logarithmic axis shows only values above 0
struct chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  chart_kind kind = chart_kind::lines;
  axis_scale scale = axis_scale::linear;
  std::vector<std::string> places;
  std::vector<series> data;
  std::string remark{}; ///< below the axis
};

/// A whole SVG file, with its axes and a legend.
[[nodiscard]] std::string to_svg(chart const& c);

} // namespace quarry::study
