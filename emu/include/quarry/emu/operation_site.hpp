// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>
#include <quarry/report.hpp>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace quarry::emu {

enum class operation_kind : std::uint8_t {
  load,
  store,
  update,
  fence,
  remote,     ///< on another node's memory, by a network: has no order but what calls of it give
  collective, ///< of several nodes: orders nothing else, but for a barrier
};

/// An operation of the program as it is written: a line, and how it reaches for memory. Two of a
/// kind on one line are one.
struct operation_site {
  std::source_location where;
  operation_kind what = operation_kind::load;
  std::optional<order> how{}; ///< none: plain, or of a network
  scope far = scope::work_item;
  bool is_hosts = false; ///< a host thread comes there
  bool is_gpus = false;  ///< a wavefront, or a command processor, does

  [[nodiscard]] bool is_of_network() const noexcept {
    return what == operation_kind::remote || what == operation_kind::collective;
  }
  [[nodiscard]] bool is_plain() const noexcept { return !how && !is_of_network(); }
  friend bool operator==(operation_site const& a, operation_site const& b) noexcept {
    return a.what == b.what && a.how == b.how && a.far == b.far && is_same_line(a.where, b.where);
  }
};

/// An operation, and how it is performed instead of as it is written. One of a network: with a call
/// of it before, a fence() of its context (release), or a quiet() of every context (seq_cst; for a
/// host thread alone, as it waits).
struct adjustment {
  operation_site at;
  order how;
  scope far;
};

/// What the order is to an operation of the kind: a load has no release side, a store no acquire
/// side.
[[nodiscard]] order effective(operation_kind k, order o) noexcept;
/// As strong as the operation can be.
[[nodiscard]] adjustment strongest(operation_site const& s);
/// How far it is from what is written: by so many steps of the order, and of the scope.
[[nodiscard]] int cost_of(adjustment const& a) noexcept;
/// Stronger ones, the smallest change first, strongest() last.
[[nodiscard]] std::vector<adjustment> strengthened(operation_site const& s);
/// Those that are one step weaker: a weaker order, or a narrower scope. Scopes below a work-group
/// count as one. None for a plain access.
[[nodiscard]] std::vector<adjustment> narrowed(operation_site const& s);

/// "queue.hpp:88 store release agent"
[[nodiscard]] std::string to_string(operation_site const& s);
/// "queue.hpp:88 store relaxed agent -> release agent"
[[nodiscard]] std::string to_string(adjustment const& a);

} // namespace quarry::emu
