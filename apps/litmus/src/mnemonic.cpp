// SPDX-License-Identifier: Apache-2.0
#include "mnemonic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quarry::litmus {

mnemonic::mnemonic(lexer& tokens) : tokens_(tokens) {
  do {
    words_.push_back(tokens.word("an instruction, a label, '|' or ';'"));
    text_ += fmt::format("{}{}", text_.empty() ? "" : ".", words_.back().text);
  } while (tokens.accept("."));
  at_ = 1;
}

bool mnemonic::has(std::string_view word) const {
  return std::ranges::any_of(words_, [word](token const& t) { return t.text == word; });
}

bool mnemonic::accept(std::string_view word) {
  if (!at(word))
    return false;
  ++at_;
  return true;
}

void mnemonic::expect_end() const {
  if (!at_end())
    fail("nothing more");
}

void mnemonic::fail(std::string_view expected) const {
  auto const read = at_end() ? "the name ends" : fmt::format("read '{}'", words_[at_].text);
  fail_with(fmt::format("{}, expected {}", read, expected));
}

void mnemonic::fail_with(std::string_view what) const {
  tokens_.fail_with(words_.front().line, fmt::format("{}: {}", text_, what));
}

} // namespace quarry::litmus
