// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace quarry::litmus {

using value = std::int64_t;

enum class comparison : std::uint8_t {
  equal,
  not_equal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
};
[[nodiscard]] bool holds(comparison c, value left, value right);

/// A register or a location at the end of an execution.
struct variable {
  enum class kind : std::uint8_t { memory, thread_register } what;
  std::uint32_t thread; ///< of a register
  std::uint32_t at;     ///< the register, or the location
  friend bool operator==(variable const&, variable const&) = default;
};

/// A predicate on the end of an execution, over numbered variables: a tree in one vector, the
/// operands of a node before it, the root last.
class condition {
public:
  /// Position in the list of variables that holds() gets.
  struct variable_index {
    std::uint32_t at;
  };
  using term = std::variant<value, variable_index>;

  struct comparison_node {
    comparison how;
    term left;
    term right;
  };
  struct not_node {
    std::uint32_t of;
  };
  struct and_node {
    std::uint32_t left;
    std::uint32_t right;
  };
  struct or_node {
    std::uint32_t left;
    std::uint32_t right;
  };
  using node = std::variant<comparison_node, not_node, and_node, or_node>;

  /// Adds a node whose operands are there; gives its number. It is the root until another is added.
  std::uint32_t add(node n);
  [[nodiscard]] bool is_met(std::span<value const> values) const;

private:
  [[nodiscard]] bool is_met(std::uint32_t at, std::span<value const> values) const;

  std::vector<node> nodes_;
};

enum class quantifier : std::uint8_t { exists, not_exists, for_all };

/// What a litmus test asks of its executions.
struct final_condition {
  quantifier how = quantifier::exists;
  condition what;

  /// Whether such an end is the one that the test is about: it makes `exists` true, or is a
  /// counterexample to `~exists` and `forall`.
  [[nodiscard]] bool is_target(std::span<value const> values) const {
    return what.is_met(values) != (how == quantifier::for_all);
  }
};

} // namespace quarry::litmus
