// SPDX-License-Identifier: Apache-2.0
#include "lexer.hpp"

#include <quarry/in_quotes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quarry::litmus {
namespace {

// Not <cctype>, which asks the locale.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

} // namespace

lexer::lexer(std::string_view content, std::string_view name) : content_(content), name_(name) {
  read_all();
}

void lexer::read_all() {
  std::size_t at = skip_blanks(0);
  while (at < content_.size()) {
    token::kind what{};
    std::uint32_t const line = line_;
    std::size_t const end = end_of_token(at, what);
    tokens_.push_back({what, content_.substr(at, end - at), line});
    at = skip_blanks(end);
  }
  tokens_.push_back({token::kind::end, {}, line_});
}

std::size_t lexer::skip_to(std::string_view closing, std::size_t from) {
  auto const found = content_.find(closing, from);
  std::size_t const end = found == content_.npos ? content_.size() : found + closing.size();
  line_ += static_cast<std::uint32_t>(std::ranges::count(content_.substr(from, end - from), '\n'));
  return end;
}

std::size_t lexer::skip_blanks(std::size_t from) {
  while (from < content_.size()) {
    auto const rest = content_.substr(from);
    if (rest.starts_with("(*")) {
      std::uint32_t const line = line_;
      from = skip_to("*)", from + 2);
      if (!content_.substr(0, from).ends_with("*)"))
        fail_with(line, "the comment that begins here is never closed");
    } else if (is_blank(rest.front())) {
      line_ += rest.front() == '\n';
      ++from;
    } else {
      break;
    }
  }
  return from;
}

std::size_t lexer::end_of_token(std::size_t from, token::kind& what) {
  auto const rest = content_.substr(from);
  auto const run_of = [&](auto belongs) {
    auto const last = std::ranges::find_if_not(rest.begin() + 1, rest.end(), belongs);
    return from + static_cast<std::size_t>(last - rest.begin());
  };
  char const first = rest.front();
  if (is_letter(first) || is_digit(first)) {
    what = is_letter(first) ? token::kind::word : token::kind::number; // 0x1f, and 12ab to refuse
    return run_of([](char c) { return is_letter(c) || is_digit(c); });
  }
  if (first == '"') {
    what = token::kind::text;
    std::uint32_t const line = line_;
    auto const end = skip_to("\"", from + 1);
    if (end == from + 1 || content_[end - 1] != '"')
      fail_with(line, "the quotation that begins here is never closed");
    return end;
  }
  what = token::kind::symbol;
  for (std::string_view const two : {"==", "!=", "<=", ">=", "/\\", "\\/"})
    if (rest.starts_with(two))
      return from + 2;
  return from + 1;
}

token const& lexer::next() {
  token const& read = tokens_[at_];
  if (read.what != token::kind::end)
    ++at_;
  return read;
}

bool lexer::accept(std::string_view symbol_or_word) {
  if (!at(symbol_or_word) || peek().what == token::kind::end)
    return false;
  next();
  return true;
}

void lexer::expect(std::string_view symbol, std::string_view what) {
  if (!accept(symbol))
    fail(fmt::format("'{}' {}", symbol, what));
}

token const& lexer::word(std::string_view what) {
  if (peek().what != token::kind::word)
    fail(what);
  return next();
}

std::int64_t lexer::number(std::string_view what) {
  bool const is_negative = accept("-");
  token const& read = peek();
  bool const is_hexadecimal = read.text.starts_with("0x");
  auto const digits = read.text.substr(is_hexadecimal ? 2 : 0);
  constexpr std::uint64_t lowest = std::uint64_t{1} << 63; // without its sign
  std::uint64_t magnitude = 0;
  auto const [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude,
                                           is_hexadecimal ? 16 : 10);
  if (read.what != token::kind::number || code != std::errc{} ||
      end != digits.data() + digits.size() || (is_negative && magnitude > lowest))
    fail(fmt::format("{}, a whole number of 64 bits", what));
  next();
  return static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
}

void lexer::fail_at(token const& read, std::string_view expected) const {
  auto const what =
      read.what == token::kind::end ? "the file ends" : "read " + in_quotes(read.text);
  fail_with(read.line, fmt::format("{}, expected {}", what, expected));
}

void lexer::fail_with(std::uint32_t line, std::string_view what) const {
  throw syntax_error(fmt::format("{}:{}: {}", name_, line, what));
}

} // namespace quarry::litmus
