// SPDX-License-Identifier: Apache-2.0
#include "choice_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace quarry {

namespace {

constexpr std::string_view letters = "avwmlg"; // by choice_kind
static_assert(letters.size() == choice_kind_count);

// Writing

constexpr std::size_t line_width = 100;
constexpr std::size_t longest_period = 16;

/// How often the first `period` choices stand there, one copy behind the other.
std::size_t repeats(std::span<choice const> all, std::size_t period) {
  if (all.size() < period)
    return 0;
  auto const [first, second] =
      std::mismatch(all.begin(), all.end() - static_cast<std::ptrdiff_t>(period),
                    all.begin() + static_cast<std::ptrdiff_t>(period));
  return 1 + static_cast<std::size_t>(first - all.begin()) / period;
}

std::string times(std::size_t count) {
  return count == 1 ? "" : fmt::format("*{}", count);
}

std::string run_of(choice const& c, std::size_t count) {
  std::string s = fmt::format("{}{}", letters[static_cast<std::size_t>(c.kind)], c.n);
  if (c.value != 0)
    s += fmt::format(":{}", c.value);
  return s + times(count);
}

/// "(a2*3 w2)*40"
std::string bracket_of(std::span<choice const> block, std::size_t count) {
  std::string s = "(";
  while (!block.empty()) {
    std::size_t const same = repeats(block, 1);
    s += run_of(block.front(), same) + (same == block.size() ? ")" : " ");
    block = block.subspan(same);
  }
  return s + times(count);
}

/// The period that covers most with its repetitions, the shortest of these.
std::size_t best_period(std::span<choice const> all) {
  std::size_t best = 1;
  std::size_t covered = repeats(all, 1);
  for (std::size_t period = 2; period <= longest_period; ++period) {
    std::size_t const r = repeats(all, period);
    if (r > 1 && r * period > covered) {
      covered = r * period;
      best = period;
    }
  }
  return best;
}

// Reading

struct malformed {
  std::string what;
};

class parser {
public:
  parser(std::string_view text, std::vector<choice>& listed) : text_(text), listed_(listed) {}

  choice_text_header read() {
    choice_text_header h{};
    word("choices");
    h.count = number("how many choices there were", {});
    word("trace");
    hexadecimal_prefix();
    h.trace_hash = number("a hash of hexadecimal digits", {.base = 16});
    most_ = std::min(h.count, choice_record::most_listed);
    for (skip_space(); at_ < text_.size(); skip_space()) {
      if (text_[at_] == '(')
        bracket();
      else
        run("a choice: a, v, w, m, l, g or '('");
    }
    return h;
  }

private:
  struct range {
    std::uint64_t least = 0;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    int base = 10;
  };

  [[noreturn]] void refuse(std::size_t where, std::string_view expected) const {
    auto const before = text_.substr(0, where);
    auto const line = 1 + std::count(before.begin(), before.end(), '\n');
    auto const column = where - (before.rfind('\n') + 1) + 1; // npos + 1 == 0
    auto const rest = text_.substr(where);
    auto const found = rest.substr(0, rest.find_first_of(" \t\r\n"));
    throw malformed{fmt::format("line {}, column {}: expected {}, found {}", line, column, expected,
                                rest.empty()    ? "the end"
                                : found.empty() ? "white space"
                                                : fmt::format("'{}'", found.substr(0, 20)))};
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool skip(char c) {
    bool const is_there = at_ < text_.size() && text_[at_] == c;
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  void word(std::string_view w) {
    skip_space();
    if (!text_.substr(at_).starts_with(w))
      refuse(at_, fmt::format("the word '{}'", w));
    at_ += w.size();
    skip_space();
  }

  void hexadecimal_prefix() {
    if (!text_.substr(at_).starts_with("0x"))
      refuse(at_, "a hash: 0x and hexadecimal digits");
    at_ += 2;
  }

  std::uint64_t number(std::string_view expected, range r) {
    std::uint64_t x = 0;
    char const* const first = text_.data() + at_;
    auto const [end, code] = std::from_chars(first, text_.data() + text_.size(), x, r.base);
    if (code != std::errc{} || x < r.least || x > r.most)
      refuse(at_, expected);
    at_ += static_cast<std::size_t>(end - first);
    return x;
  }

  /// "*40", or 1.
  std::uint64_t times() { return skip('*') ? number("how often, 1 or more", {.least = 1}) : 1; }

  void append(std::size_t where, std::uint64_t count, std::span<choice const> block) {
    // Divided, not multiplied: it cannot overflow.
    if (count > (most_ - listed_.size()) / block.size())
      refuse(where, fmt::format("at most {} choices in all", most_));
    for (; count != 0; --count)
      listed_.insert(listed_.end(), block.begin(), block.end());
  }

  void run(std::string_view expected) {
    std::size_t const where = at_;
    std::size_t const kind = at_ < text_.size() ? letters.find(text_[at_]) : letters.npos;
    if (kind == letters.npos)
      refuse(at_, expected);
    ++at_;
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    choice c{.kind = static_cast<choice_kind>(kind), .n = 0, .value = 0};
    c.n = static_cast<std::uint32_t>(
        number("the number of alternatives, 2 or more", {.least = 2, .most = most}));
    if (skip(':'))
      c.value = static_cast<std::uint32_t>(
          number(fmt::format("a value from 0 to {}", c.n - 1), {.most = c.n - 1}));
    std::uint64_t const count = times();
    append(where, count, {&c, 1});
    separator();
  }

  void bracket() {
    std::size_t const where = at_++;
    std::size_t const first = listed_.size();
    for (skip_space(); !skip(')'); skip_space())
      run("a choice: a, v, w, m, l, g or ')'");
    std::vector<choice> const block(listed_.begin() + static_cast<std::ptrdiff_t>(first),
                                    listed_.end());
    if (block.empty())
      refuse(where, "a choice in the brackets");
    if (std::uint64_t const count = times(); count > 1)
      append(where, count - 1, block);
    separator();
  }

  void separator() {
    if (at_ < text_.size() && std::string_view(" \t\r\n)").find(text_[at_]) == std::string::npos)
      refuse(at_, "white space");
  }

  std::string_view text_;
  std::vector<choice>& listed_;
  std::size_t at_ = 0;
  std::uint64_t most_ = 0;
};

} // namespace

std::string write_choices(choice_text const& what) {
  std::string text = fmt::format("choices {} trace 0x{:016x}\n", what.count, what.trace_hash);
  std::size_t column = 0;
  auto const put = [&](std::string_view token) {
    if (column != 0) {
      bool const fits = column + 1 + token.size() <= line_width;
      text += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    text += token;
    column += token.size();
  };
  for (auto rest = what.choices; !rest.empty();) {
    std::size_t const period = best_period(rest);
    std::size_t const count = repeats(rest, period);
    std::string const token =
        period == 1 ? run_of(rest.front(), count) : bracket_of(rest.first(period), count);
    rest = rest.subspan(period * count);
    std::string_view words = token;
    while (words.size() > line_width) { // of brackets longer than a line
      std::size_t const end = words.find(' ');
      if (end == words.npos)
        break;
      put(words.substr(0, end));
      words.remove_prefix(end + 1);
    }
    put(words);
  }
  return column == 0 ? text : text + '\n';
}

result<choice_text_header> read_choices(std::string_view text, std::vector<choice>& listed) {
  try {
    return parser(text, listed).read();
  } catch (malformed const& m) {
    return error{std::make_error_code(std::errc::invalid_argument), m.what};
  }
}

} // namespace quarry
