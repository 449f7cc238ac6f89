// SPDX-License-Identifier: Apache-2.0
#include <quarry/study/chart.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace quarry::study {
namespace {

constexpr double width = 760, height = 440;
constexpr double left = 78, right = 570, top = 48, bottom = 360; ///< of what the axes enclose

/// Okabe and Ito's colours, which everybody can tell apart; the last is for a ninth series.
constexpr std::array<char const*, 9> colours{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9",
                                             "#cc79a7", "#8a7a00", "#000000", "#888888"};
char const* colour(std::size_t i) {
  return colours[std::min(i, colours.size() - 1)];
}

std::string escaped(std::string const& text) {
  std::string result;
  for (char const c : text)
    result += c == '<'   ? std::string("&lt;")
              : c == '>' ? std::string("&gt;")
              : c == '&' ? std::string("&amp;")
              : c == '"' ? std::string("&quot;")
                         : std::string(1, c);
  return result;
}

std::string text_at(double x, double y, char const* more, std::string const& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(words));
}

/// 1, 2 or 5 times a power of ten: about `count` of them make `span`.
double nice_step(double span, int count) {
  double const raw = span / count;
  double const power = std::pow(10, std::floor(std::log10(raw)));
  for (double const factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw)
      return factor * power;
  return 10 * power;
}

/// The y axis: where it begins and ends, and where it is marked.
class axis {
public:
  explicit axis(chart const& c) : scale_(c.scale) {
    auto const [low, high] = range(c);
    if (scale_ == axis_scale::logarithmic)
      mark_powers(low, high);
    else
      mark_evenly(high);
  }

  [[nodiscard]] double y(double value) const {
    double const at = scale_ == axis_scale::linear ? value : std::log10(value);
    return bottom - (at - low_) / (high_ - low_) * (bottom - top);
  }
  [[nodiscard]] std::vector<double> const& marks() const { return marks_; }
  [[nodiscard]] bool shows(std::optional<double> const& value) const {
    return value && std::isfinite(*value) && (scale_ == axis_scale::linear || *value > 0);
  }

private:
  /// The least and the largest value that is drawn; of stacked bars their sums.
  std::pair<double, double> range(chart const& c) const {
    double low = 0;
    double high = 0;
    std::vector<double> sums(c.places.size());
    for (series const& s : c.data)
      for (std::size_t i = 0; i < s.values.size(); ++i)
        if (shows(s.values[i])) {
          double const value = *s.values[i];
          low = low == 0 ? value : std::min(low, value);
          high = std::max(high, c.kind == chart_kind::stacked_bars ? sums[i] += value : value);
        }
    return high > 0 ? std::pair(low, high) : std::pair(1.0, 1.0);
  }
  void mark_evenly(double highest) {
    double const step = nice_step(highest, 6);
    double const last = std::ceil(highest / step - 1e-9);
    for (double i = 0; i <= last; ++i)
      marks_.push_back(i * step);
    high_ = last * step;
  }
  void mark_powers(double lowest, double highest) {
    low_ = std::floor(std::log10(lowest) + 1e-9);
    high_ = std::max(low_ + 1, std::ceil(std::log10(highest) - 1e-9));
    for (double power = low_; power <= high_; ++power)
      marks_.push_back(std::pow(10, power));
  }

  axis_scale scale_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> marks_;
};

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

double place_width(chart const& c) {
  return (right - left) / static_cast<double>(c.places.size());
}
double centre(chart const& c, std::size_t place) {
  return left + (static_cast<double>(place) + 0.5) * place_width(c);
}

std::string frame(chart const& c, axis const& y) {
  std::string svg;
  for (double const mark : y.marks()) {
    svg += fmt::format("<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" "
                       "stroke=\"#ddd\"/>\n",
                       left, right, y.y(mark));
    svg += text_at(left - 8, y.y(mark) + 4, R"(text-anchor="end")", number(mark));
  }
  for (std::size_t i = 0; i < c.places.size(); ++i)
    svg += text_at(centre(c, i), bottom + 18, R"(text-anchor="middle")", c.places[i]);
  svg += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333\"/>\n", left, top,
                     bottom, right);
  svg += text_at(width / 2, 26, R"(text-anchor="middle" font-size="16")", c.title);
  svg += text_at((left + right) / 2, bottom + 40, R"(text-anchor="middle")", c.x_label);
  double const middle = (top + bottom) / 2;
  svg +=
      text_at(20, middle,
              fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 20 {})\"", middle).c_str(),
              c.y_label);
  return svg + text_at(left, height - 14, R"(font-size="11" fill="#555")", c.remark);
}

std::string legend(chart const& c) {
  std::string svg;
  for (std::size_t i = 0; i < c.data.size(); ++i) {
    double const y = top + 10 + 20 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n",
                       right + 18, y - 10, colour(i));
    svg += text_at(right + 36, y, R"(font-size="12")", c.data[i].name);
  }
  return svg;
}

/// A value's bar, with what it says when it is pointed at.
std::string bar(double x, double bar_width, double from, double to, std::size_t i,
                std::string const& says) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                     "fill=\"{}\"><title>{}</title></rect>\n",
                     x, to, bar_width, std::max(0.0, from - to), colour(i), escaped(says));
}

std::string bars(chart const& c, axis const& y) {
  std::string svg;
  bool const is_stacked = c.kind == chart_kind::stacked_bars;
  double const group = 0.8 * place_width(c);
  double const one =
      is_stacked ? std::min(group, 60.0) : group / static_cast<double>(c.data.size());
  for (std::size_t place = 0; place < c.places.size(); ++place) {
    double below = 0;
    for (std::size_t i = 0; i < c.data.size(); ++i) {
      auto const& value = c.data[i].values[place];
      if (!y.shows(value))
        continue;
      double const x = is_stacked ? centre(c, place) - one / 2
                                  : centre(c, place) - group / 2 + one * static_cast<double>(i);
      double const from = is_stacked ? y.y(below) : bottom;
      double const to = y.y(is_stacked ? below += *value : *value);
      svg += bar(x, one, from, to, i,
                 fmt::format("{}, {}: {}", c.places[place], c.data[i].name, number(*value)));
    }
  }
  return svg;
}

std::string lines(chart const& c, axis const& y) {
  std::string svg;
  for (std::size_t i = 0; i < c.data.size(); ++i) {
    std::string path;
    std::string points;
    bool is_drawn = false; // the place before: a gap is left where there is no value
    for (std::size_t place = 0; place < c.places.size(); ++place) {
      auto const& value = c.data[i].values[place];
      if (y.shows(value)) {
        path += fmt::format("{}{:.1f} {:.1f}", is_drawn ? 'L' : 'M', centre(c, place), y.y(*value));
        points += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\">"
            "<title>{}</title></circle>\n",
            centre(c, place), y.y(*value), colour(i),
            escaped(fmt::format("{}, {}: {}", c.places[place], c.data[i].name, number(*value))));
      }
      is_drawn = y.shows(value);
    }
    if (!path.empty())
      svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path,
                         colour(i)) +
             points;
  }
  return svg;
}

} // namespace

std::string to_svg(chart const& c) {
  axis const y(c);
  auto svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                         "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
                         "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                         width, height);
  svg += frame(c, y);
  svg += c.kind == chart_kind::lines ? lines(c, y) : bars(c, y);
  return svg + legend(c) + "</svg>\n";
}

} // namespace quarry::study
