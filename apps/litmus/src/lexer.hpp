// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::litmus {

struct token {
  enum class kind : std::uint8_t { word, number, text, symbol, end } what;
  std::string_view text; ///< of a symbol one of == != <= >= /\ \/ or a single character
  std::uint32_t line;

  [[nodiscard]] bool is(std::string_view symbol_or_word) const { return text == symbol_or_word; }
};

/// What is wrong with a file, with its line. Thrown within the parsers, caught where they begin.
class syntax_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The tokens of a litmus file, which is borrowed. Comments (* … *) are skipped.
class lexer {
public:
  /// `name` is the file's, for messages.
  lexer(std::string_view content, std::string_view name);

  [[nodiscard]] token const& peek() const { return tokens_[at_]; }
  [[nodiscard]] token const& peek_second() const {
    return tokens_[at_ + (peek().what != token::kind::end)];
  }
  token const& next();
  [[nodiscard]] bool at(std::string_view symbol_or_word) const { return peek().is(symbol_or_word); }
  /// Steps over it if it is there.
  bool accept(std::string_view symbol_or_word);
  void expect(std::string_view symbol, std::string_view what);

  /// A word; `what` says what it is for.
  token const& word(std::string_view what);
  std::int64_t number(std::string_view what);

  [[noreturn]] void fail(std::string_view expected) const { fail_at(peek(), expected); }
  /// “file:7: read 'x', expected …”
  [[noreturn]] void fail_at(token const& read, std::string_view expected) const;
  /// “file:7: …”
  [[noreturn]] void fail_with(std::uint32_t line, std::string_view what) const;

private:
  void read_all();
  std::size_t skip_blanks(std::size_t from);
  std::size_t skip_to(std::string_view closing, std::size_t from);
  std::size_t end_of_token(std::size_t from, token::kind& what);

  std::string_view content_;
  std::string_view name_;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

} // namespace quarry::litmus
