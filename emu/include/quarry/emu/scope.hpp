// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace quarry::emu {

/// Who an access must be ordered with (HSA PRM 3.3; ComP-Net §2). Each includes the ones before it.
enum class scope : std::uint8_t { work_item, wavefront, work_group, agent, system };

/// How an access is ordered with the actor's other accesses. Plain accesses have no order.
enum class order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

[[nodiscard]] constexpr bool releases(order o) noexcept {
  return o == order::release || o == order::acq_rel || o == order::seq_cst;
}
[[nodiscard]] constexpr bool acquires(order o) noexcept {
  return o == order::acquire || o == order::acq_rel || o == order::seq_cst;
}

[[nodiscard]] constexpr bool includes(scope wide, scope narrow) noexcept {
  return wide >= narrow;
}

/// True for the scopes of one compute unit: its actors never run at the same moment, so that in
/// `native` they need no atomic instruction.
[[nodiscard]] constexpr bool stays_in_compute_unit(scope s) noexcept {
  return s <= scope::work_group;
}

[[nodiscard]] constexpr std::string_view to_string(scope s) noexcept {
  constexpr std::string_view names[] = {"work_item", "wavefront", "work_group", "agent", "system"};
  return names[static_cast<int>(s)];
}

[[nodiscard]] constexpr std::string_view to_string(order o) noexcept {
  constexpr std::string_view names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<int>(o)];
}

/// The order for a load: a load has no release side.
[[nodiscard]] constexpr std::memory_order load_order(order o) noexcept {
  switch (o) {
  case order::acquire:
  case order::acq_rel:
    return std::memory_order_acquire;
  case order::seq_cst:
    return std::memory_order_seq_cst;
  default:
    return std::memory_order_relaxed;
  }
}

/// The order for a store: a store has no acquire side.
[[nodiscard]] constexpr std::memory_order store_order(order o) noexcept {
  switch (o) {
  case order::release:
  case order::acq_rel:
    return std::memory_order_release;
  case order::seq_cst:
    return std::memory_order_seq_cst;
  default:
    return std::memory_order_relaxed;
  }
}

/// The order for a read-modify-write or a fence.
[[nodiscard]] constexpr std::memory_order std_order(order o) noexcept {
  constexpr std::memory_order orders[] = {std::memory_order_relaxed, std::memory_order_acquire,
                                          std::memory_order_release, std::memory_order_acq_rel,
                                          std::memory_order_seq_cst};
  return orders[static_cast<int>(o)];
}

} // namespace quarry::emu
