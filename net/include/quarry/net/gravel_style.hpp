// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string_view>

namespace quarry::net::gravel {

/// How operations of lanes leave the node (thesis Table 3-1, Figure 5-11). Two models so far.
///
/// `sends_each`: every operation is a network message of its own; otherwise a per-node buffer
/// leaves when it is full or has waited for the timeout.
template<class S>
concept style = requires {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::sends_each } -> std::convertible_to<bool>;
};

/// Gravel: operation per lane, indirect aggregation in per-node buffers (thesis §5.1).
struct aggregated {
  static constexpr std::string_view name = "gravel";
  static constexpr bool sends_each = false;
};

/// Operation per lane without aggregation: one network message per lane (thesis §3.1.2, and
/// "op-per-lane, no agg" of Figure 5-11).
struct not_aggregated {
  static constexpr std::string_view name = "no_aggregation";
  static constexpr bool sends_each = true;
};

static_assert(style<aggregated>);
static_assert(style<not_aggregated>);

} // namespace quarry::net::gravel
