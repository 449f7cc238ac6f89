// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lexer.hpp"

#include <quarry/emu/scope.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::litmus {

/// A feature that the language has and this library does not. Thrown within the parsers.
struct unsupported_feature {
  std::string name;
};

/// The words of an instruction's name, such as ld.acquire.gpu, taken from left to right.
class mnemonic {
public:
  explicit mnemonic(lexer& tokens);

  [[nodiscard]] std::string_view first() const { return words_.front().text; }
  [[nodiscard]] std::string const& text() const { return text_; }
  [[nodiscard]] bool at_end() const { return at_ == words_.size(); }
  [[nodiscard]] bool at(std::string_view word) const {
    return !at_end() && words_[at_].text == word;
  }
  /// Whether the word is anywhere in it.
  [[nodiscard]] bool has(std::string_view word) const;
  bool accept(std::string_view word);

  /// The value of the next word, if it is in `table`.
  template<class T, std::size_t N>
  std::optional<T> accept(std::array<std::pair<std::string_view, T>, N> const& table) {
    for (auto const& [word, what] : table)
      if (accept(word))
        return what;
    return std::nullopt;
  }
  /// It must be; `what` says what the words are.
  template<class T, std::size_t N>
  T expect(std::array<std::pair<std::string_view, T>, N> const& table, std::string_view what) {
    if (auto const found = accept(table))
      return *found;
    std::string words;
    for (auto const& [word, meaning] : table)
      words += (words.empty() ? "" : ", ") + std::string(word);
    fail(std::string(what) + ": " + words);
  }

  void expect_end() const;
  /// “file:7: ld.foo: read 'foo', expected …”
  [[noreturn]] void fail(std::string_view expected) const;
  /// “file:7: ld.foo: …”
  [[noreturn]] void fail_with(std::string_view what) const;

private:
  lexer& tokens_;
  std::vector<token> words_;
  std::string text_;
  std::size_t at_ = 0;
};

} // namespace quarry::litmus
