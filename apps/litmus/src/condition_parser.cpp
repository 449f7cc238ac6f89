// SPDX-License-Identifier: Apache-2.0
#include "condition_parser.hpp"

#include <array>
#include <utility>

namespace quarry::litmus {
namespace {

/// Recursive descent; the nodes come out with their operands first.
class reader {
public:
  reader(lexer& tokens, builder& names) : tokens_(tokens), names_(names) {}

  condition read() {
    read_alternatives();
    return std::move(made_);
  }

private:
  static constexpr int deepest = 100;
  static constexpr int most_comparisons = 1'000; // of a chain, which is evaluated from its end on

  std::uint32_t read_alternatives() {
    auto left = read_conjunction();
    while (tokens_.accept("\\/"))
      left = made_.add(condition::or_node{left, read_conjunction()});
    return left;
  }

  std::uint32_t read_conjunction() {
    auto left = read_factor();
    while (tokens_.accept("/\\"))
      left = made_.add(condition::and_node{left, read_factor()});
    return left;
  }

  std::uint32_t read_factor() {
    if (++depth_ > deepest)
      tokens_.fail("a condition that is not nested more than 100 times");
    std::uint32_t made = 0;
    if (tokens_.accept("~") || tokens_.accept("not")) {
      made = made_.add(condition::not_node{read_factor()});
    } else if (tokens_.accept("(")) {
      made = read_alternatives();
      tokens_.expect(")", "or /\\ or \\/");
    } else {
      made = read_comparison();
    }
    --depth_;
    return made;
  }

  std::uint32_t read_comparison() {
    if (++comparisons_ > most_comparisons)
      tokens_.fail("a condition of not more than 1000 comparisons");
    auto const left = read_term();
    auto const how = read_operator();
    return made_.add(condition::comparison_node{how, left, read_term()});
  }

  comparison read_operator() {
    static constexpr std::array<std::pair<std::string_view, comparison>, 7> operators{
        {{"=", comparison::equal},
         {"==", comparison::equal},
         {"!=", comparison::not_equal},
         {"<", comparison::less},
         {"<=", comparison::less_or_equal},
         {">", comparison::greater},
         {">=", comparison::greater_or_equal}}};
    for (auto const& [symbol, how] : operators)
      if (tokens_.accept(symbol))
        return how;
    tokens_.fail("a comparison: = == != < <= > >=");
  }

  condition::term read_term() {
    bool const is_number = tokens_.peek().what == token::kind::number || tokens_.at("-");
    if (is_number && !tokens_.peek_second().is(":"))
      return tokens_.number("a number");
    return condition::variable_index{names_.read_variable()};
  }

  lexer& tokens_;
  builder& names_;
  condition made_;
  int depth_ = 0;
  int comparisons_ = 0;
};

} // namespace

condition read_condition(lexer& tokens, builder& names) {
  return reader(tokens, names).read();
}

final_condition read_final_condition(lexer& tokens, builder& names) {
  constexpr std::string_view expected = "exists, ~exists or forall";
  auto how = quantifier::exists;
  if (tokens.accept("~") || tokens.accept("not")) {
    if (!tokens.accept("exists"))
      tokens.fail("exists");
    how = quantifier::not_exists;
  } else if (tokens.accept("forall")) {
    how = quantifier::for_all;
  } else if (!tokens.accept("exists")) {
    tokens.fail(expected);
  }
  return {how, read_condition(tokens, names)};
}

} // namespace quarry::litmus
