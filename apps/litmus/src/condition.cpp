// SPDX-License-Identifier: Apache-2.0
#include <quarry/litmus/condition.hpp>

namespace quarry::litmus {

bool holds(comparison c, value left, value right) {
  switch (c) {
  case comparison::equal:
    return left == right;
  case comparison::not_equal:
    return left != right;
  case comparison::less:
    return left < right;
  case comparison::less_or_equal:
    return left <= right;
  case comparison::greater:
    return left > right;
  case comparison::greater_or_equal:
    return left >= right;
  }
  return false;
}

std::uint32_t condition::add(node n) {
  nodes_.push_back(n);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

bool condition::is_met(std::span<value const> values) const {
  return is_met(static_cast<std::uint32_t>(nodes_.size() - 1), values);
}

bool condition::is_met(std::uint32_t at, std::span<value const> values) const {
  auto const value_of = [&](term const& t) {
    auto const* variable = std::get_if<variable_index>(&t);
    return variable != nullptr ? values[variable->at] : std::get<value>(t);
  };
  node const& n = nodes_[at];
  if (auto const* compared = std::get_if<comparison_node>(&n))
    return holds(compared->how, value_of(compared->left), value_of(compared->right));
  if (auto const* negated = std::get_if<not_node>(&n))
    return !is_met(negated->of, values);
  if (auto const* both = std::get_if<and_node>(&n))
    return is_met(both->left, values) && is_met(both->right, values);
  auto const& either = std::get<or_node>(n);
  return is_met(either.left, values) || is_met(either.right, values);
}

} // namespace quarry::litmus
