// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quarry::study {

/// What a column's figures are: counts are the same at every run and on every machine, times are
/// those of this machine at this moment.
enum class figure_kind : std::uint8_t { label, exact, wall_clock };

struct column {
  std::string name;
  std::string unit{}; ///< empty: a plain number, or words
  figure_kind kind = figure_kind::exact;
};

/// Nothing where there is no figure: the run did not come to its end, say.
using cell = std::variant<std::monostate, std::string, std::uint64_t, double>;

/// What a study has found, as rows of figures.
struct table {
  std::string name;   ///< of its files: reservations.csv
  std::string title;  ///< a line
  std::string source; ///< what of a paper it repeats
  std::vector<column> columns{};
  std::vector<std::vector<cell>> rows{}; ///< each as long as `columns`
  std::vector<std::string> remarks{};    ///< a line each
};

/// '#' lines with the title, the columns and their units, the rows, the remarks.
[[nodiscard]] std::string to_text(table const& t);
/// A line with the columns' names, "time (ms)", and one for each row; RFC 4180.
[[nodiscard]] std::string to_csv(table const& t);
/// One object: study, title, source, version, columns, and rows as objects. No figure is null.
[[nodiscard]] std::string to_json(table const& t, std::string_view version);

} // namespace quarry::study
