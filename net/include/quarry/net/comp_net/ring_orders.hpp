// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/queue_orders.hpp>

namespace quarry::net::comp_net {

/// Orders and scopes of a ring, one entry an operation: the markers of ComP-Net's Figure 6, and
/// those of its context. The scope is the configuration's: agent where the service runs on the
/// command processor and meets the work-groups in the L2, system where it is a host thread.
struct ring_orders {
  using access = emu::access;
  using order = emu::order;
  using scope = emu::scope;

  // The work-group's.
  /// ①, when the ring seems full. Acquire: the service has read the entry, and stored its status,
  /// before the entry is filled anew.
  access refresh_read_index{order::acquire, scope::system};
  /// ② and ③. Release: the entry and the data that it points to are written before its status, and
  /// the status reaches the service. Figure 6 has a marker of its own at ②; a release at ③ orders
  /// the same (HRF), and nobody notices if it is not there.
  access post_status{order::release, scope::system};
  /// ⑤. Acquire: pairs with complete_status; what a get or an atomic brought is there.
  access await_status{order::acquire, scope::system};

  // The service's.
  /// ①. Acquire: pairs with post_status.
  access poll_status{order::acquire, scope::system};
  /// ③. Release: the reply and a get's data are written before the status.
  access complete_status{order::release, scope::system};
  /// ④a. Release: the entry has been read, and its status stored, before the work-group reuses it.
  access advance_read_index{order::release, scope::system};

  // Of contexts.
  /// A work-group takes the ring. Acquire: who had it before has left its indices, and the service
  /// has read its entries.
  access open_context{order::acquire, scope::system};
  /// It gives the ring back, or the service does, whose launch has ended with a fault. Release:
  /// pairs with open_context.
  access close_context{order::release, scope::system};

  // Of a job that fails: only that it has, nothing that was written before.
  /// The service tells work-groups that wait for memory.
  access tell_failure{order::relaxed, scope::system};
  /// They look.
  access see_failure{order::relaxed, scope::system};

  static constexpr emu::named_access<ring_orders> entries[] = {
      {"refresh_read_index", &ring_orders::refresh_read_index},
      {"post_status", &ring_orders::post_status},
      {"await_status", &ring_orders::await_status},
      {"poll_status", &ring_orders::poll_status},
      {"complete_status", &ring_orders::complete_status},
      {"advance_read_index", &ring_orders::advance_read_index},
      {"open_context", &ring_orders::open_context},
      {"close_context", &ring_orders::close_context},
      {"tell_failure", &ring_orders::tell_failure},
      {"see_failure", &ring_orders::see_failure},
  };

  /// The table with every entry at this scope.
  [[nodiscard]] static constexpr ring_orders at(scope far) {
    ring_orders orders;
    for (auto const& e : entries)
      (orders.*e.entry).far = far;
    return orders;
  }
};

} // namespace quarry::net::comp_net
