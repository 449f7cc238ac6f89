// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel_orders.hpp>
#include <quarry/emu/scope.hpp>

namespace quarry::exploration {

/// Of channels whose parties are all one agent's, but for the host, whose element is there before
/// the others begin.
struct agent_channel_orders : emu::channel_orders {
  constexpr agent_channel_orders() : channel_orders(at(emu::scope::agent)) {}
};

} // namespace quarry::exploration
