// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <quarry/in_quotes.hpp>
#include <quarry/litmus/expected.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace quarry::litmus {
namespace {

namespace fs = std::filesystem;

struct class_name {
  std::string_view name;
  expected_class what;
  std::string_view verdict; ///< the published one
};
constexpr std::array<class_name, 4> class_names{{
    {"exact-allowed", expected_class::exact_allowed, "allowed"},
    {"exact-forbidden", expected_class::exact_forbidden, "forbidden"},
    {"forbidden", expected_class::forbidden, "forbidden"},
    {"model-stronger", expected_class::model_stronger, "allowed"},
}};

std::optional<class_name> find_class(std::string_view name) {
  for (auto const& one : class_names)
    if (one.name == name)
      return one;
  return std::nullopt;
}

/// What is before the next comma, and that is taken off.
std::string_view take_field(std::string_view& line) {
  auto const comma = line.find(',');
  auto const field = line.substr(0, comma);
  line.remove_prefix(comma == line.npos ? line.size() : comma + 1);
  return field;
}

/// A row, or what is wrong with it.
result<expectation> read_row(std::string_view line, fs::path const& folder) {
  auto const wrong = [](std::string what) {
    return error{std::make_error_code(std::errc::bad_message), std::move(what)};
  };
  auto const test = take_field(line);
  auto const verdict = take_field(line);
  auto const found = find_class(line);
  if (test.empty())
    return wrong("the name of a test is missing");
  if (!found)
    return wrong(fmt::format("read class {}, expected exact-allowed, exact-forbidden, forbidden "
                             "or model-stronger",
                             in_quotes(line)));
  if (verdict != found->verdict)
    return wrong(fmt::format("read verdict {}, expected {} for class {}", in_quotes(verdict),
                             found->verdict, found->name));
  return expectation{folder / test, found->what};
}

bool is_same_file(fs::path const& a, fs::path const& b) {
  std::error_code none;
  return fs::weakly_canonical(a, none) == fs::weakly_canonical(b, none);
}

} // namespace

std::string_view to_string(expected_class c) {
  for (auto const& one : class_names)
    if (one.what == c)
      return one.name;
  return "";
}

bool expectation::is_met_by(verdict v) const {
  switch (what) {
  case expected_class::exact_allowed:
    return v == verdict::allowed;
  case expected_class::exact_forbidden:
    return v == verdict::forbidden || v == verdict::no_end;
  case expected_class::forbidden:
    return v != verdict::allowed;
  case expected_class::model_stronger:
    break;
  }
  return true;
}

result<std::vector<expectation>> read_expectations(fs::path const& list) {
  auto const read = read_text(list, an_expectation_list);
  if (!read)
    return read.error();
  std::string_view text = *read;
  std::vector<expectation> rows;
  std::map<fs::path, expected_class> earlier;
  for (int number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    auto const fail = [&](std::string_view what) {
      return error{std::make_error_code(std::errc::bad_message),
                   fmt::format("{}:{}: {}", list.string(), number, what)};
    };
    if (number == 1) {
      if (line != "test,verdict,class")
        return fail(fmt::format("read {}, expected test,verdict,class", in_quotes(line)));
      continue;
    }
    if (line.empty())
      continue;
    auto row = read_row(line, list.parent_path());
    if (!row)
      return fail(row.error().what);
    auto const [said, is_first] = earlier.emplace(row->test.lexically_normal(), row->what);
    if (!is_first && said->second != row->what)
      return fail(fmt::format("an earlier row expects something else of {}",
                              row->test.filename().string()));
    rows.push_back(std::move(*row));
  }
  if (rows.empty())
    return error{std::make_error_code(std::errc::bad_message),
                 fmt::format("{}: there is no row in it", list.string())};
  return rows;
}

result<expectation const*> find_expectation(std::vector<expectation> const& rows,
                                            fs::path const& test) {
  expectation const* named = nullptr;
  expectation const* other = nullptr; ///< that says something else
  std::error_code none;
  for (auto const& row : rows) {
    if (row.test.filename() != test.filename())
      continue;
    if (is_same_file(row.test, test))
      return &row;
    if (fs::exists(row.test, none))
      continue;
    if (named != nullptr && named->what != row.what)
      other = &row;
    else
      named = &row;
  }
  if (other != nullptr)
    return error{std::make_error_code(std::errc::bad_message),
                 fmt::format("{} is expected to be {} by the row of {}, and {} by that of {}, and "
                             "neither of these is there",
                             test.string(), to_string(named->what), named->test.string(),
                             to_string(other->what), other->test.string())};
  return named;
}

} // namespace quarry::litmus
