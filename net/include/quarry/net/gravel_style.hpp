// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string_view>

namespace quarry::net::gravel {

/// How operations of lanes leave the node (thesis Table 3-1, Figure 5-11).
///
/// `sends_each`: every operation is a network message of its own; otherwise a per-node buffer
/// leaves when it is full or has waited for the timeout. `writes_directly`: wavefronts fill those
/// buffers themselves; otherwise an aggregator does.
template<class S>
concept style = requires {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::sends_each } -> std::convertible_to<bool>;
  { S::writes_directly } -> std::convertible_to<bool>;
};

/// Gravel: operation per lane, indirect aggregation in per-node buffers (thesis §5.1).
struct aggregated {
  static constexpr std::string_view name = "gravel";
  static constexpr bool sends_each = false;
  static constexpr bool writes_directly = false;
};

/// Operation per lane without aggregation: one network message per lane (thesis §3.1.2, and
/// "op-per-lane, no agg" of Figure 5-11).
struct not_aggregated {
  static constexpr std::string_view name = "no_aggregation";
  static constexpr bool sends_each = true;
  static constexpr bool writes_directly = false;
};

/// SIMT-direct aggregation: a wavefront reserves room in the buffer of each node that it sends to,
/// once for all its work-items that do, and they write there (thesis §3.2.2, Figure 3-6).
struct simt_direct {
  static constexpr std::string_view name = "simt_direct";
  static constexpr bool sends_each = false;
  static constexpr bool writes_directly = true;
};

static_assert(style<aggregated>);
static_assert(style<not_aggregated>);
static_assert(style<simt_direct>);

} // namespace quarry::net::gravel
