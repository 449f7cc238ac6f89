// SPDX-License-Identifier: Apache-2.0
#include "failure_class.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

namespace quarry {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_of_file_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.+-").find(c) != std::string_view::npos;
}

/// "lock.hpp", whose last character is before `end`; empty: that is no file's name.
std::string_view file_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin != 0 && is_of_file_name(text[begin - 1]))
    --begin;
  auto const name = text.substr(begin, end - begin);
  auto const dot = name.rfind('.');
  bool const has_ending = dot != std::string_view::npos && dot != 0 && dot + 1 < name.size() &&
                          std::isalpha(static_cast<unsigned char>(name[dot + 1])) != 0;
  return has_ending ? name : std::string_view();
}

} // namespace

std::string source_lines_of(std::string_view report) {
  std::set<std::pair<std::string, unsigned long>> all;
  for (std::size_t at = report.find(':'); at != std::string_view::npos;
       at = report.find(':', at + 1)) {
    std::size_t end = at + 1;
    while (end < report.size() && end < at + 10 && is_digit(report[end]))
      ++end;
    if (auto const file = file_before(report, at); end != at + 1 && !file.empty())
      all.emplace(file, std::stoul(std::string(report.substr(at + 1, end - at - 1))));
  }
  std::string text;
  for (auto const& [file, line] : all)
    text += (text.empty() ? "" : ", ") + file + ':' + std::to_string(line);
  return text;
}

bool names_line(std::string_view report, std::string_view line) {
  std::string const all = ", " + source_lines_of(report) + ",";
  return all.find(", " + std::string(line) + ",") != std::string::npos;
}

std::string both_lines_of(std::string one, std::string other) {
  auto const place = [](std::string const& line) {
    // Of two numbers the longer one is the larger.
    return std::tuple(line.substr(0, line.rfind(':')), line.size(), line);
  };
  if (place(other) < place(one))
    one.swap(other);
  return one + " and " + other;
}

std::string without_addresses(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    if (!text.substr(at).starts_with("0x")) {
      kept += text[at++];
      continue;
    }
    kept += "0x";
    at += 2;
    while (at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0)
      ++at;
  }
  return kept;
}

} // namespace quarry
