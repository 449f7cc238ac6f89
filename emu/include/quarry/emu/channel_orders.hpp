// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/queue_orders.hpp>
#include <quarry/emu/scope.hpp>

namespace quarry::emu {

/// Orders and scopes of a channel, one entry an operation; the times are those of Figure 4-2.
struct channel_orders {
  // t1, t2: talloc
  /// Acquire: consumers have read the elements before somebody else writes them.
  access producer_reads_head{order::acquire, scope::system};
  access reads_tail{order::relaxed, scope::system};
  access reserve{order::relaxed, scope::system};
  /// How many wait: for the aggregator, which dispatches less than it would like to.
  access count_waiting{order::relaxed, scope::system};
  // t4–t6: enq
  access reserve_control{order::relaxed, scope::system};
  /// Acquire: what producers before have enqueued becomes visible with this one's.
  access awaits_control_turn{order::acquire, scope::system};
  /// Release: elements and their offsets are visible before the tail says so.
  access publish_control_tail{order::release, scope::system};
  // t7: the aggregator
  /// Acquire: pairs with publish_control_tail.
  access aggregator_reads_tail{order::acquire, scope::system};
  // t9, t10: tfree
  /// Release: the consumer has read its elements.
  access count_done{order::release, scope::system};
  // t11: the aggregator
  /// Acquire: pairs with count_done.
  access aggregator_reads_done{order::acquire, scope::system};
  /// Ordered by publish_head.
  access clear_done{order::relaxed, scope::work_item};
  /// Release: pairs with producer_reads_head; what was cleared is so before its next use.
  access publish_head{order::release, scope::system};

  /// For producers, aggregator and consumers that are all included by the scope.
  [[nodiscard]] static constexpr channel_orders at(scope s) noexcept {
    channel_orders o;
    for (auto const& e : entries)
      if ((o.*e.entry).far == scope::system)
        (o.*e.entry).far = s;
    return o;
  }

  static constexpr named_access<channel_orders> entries[] = {
      {"producer_reads_head", &channel_orders::producer_reads_head},
      {"reads_tail", &channel_orders::reads_tail},
      {"reserve", &channel_orders::reserve},
      {"count_waiting", &channel_orders::count_waiting},
      {"reserve_control", &channel_orders::reserve_control},
      {"awaits_control_turn", &channel_orders::awaits_control_turn},
      {"publish_control_tail", &channel_orders::publish_control_tail},
      {"aggregator_reads_tail", &channel_orders::aggregator_reads_tail},
      {"count_done", &channel_orders::count_done},
      {"aggregator_reads_done", &channel_orders::aggregator_reads_done},
      {"clear_done", &channel_orders::clear_done},
      {"publish_head", &channel_orders::publish_head},
  };
};

} // namespace quarry::emu
