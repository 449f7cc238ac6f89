// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx_relation.hpp"
#include "ptx_run.hpp"

#include <quarry/litmus/test.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ptx_model {

/// What NVIDIA's PTX memory model forbids in an execution.
enum class axiom : std::uint8_t {
  coherence,
  fence_sc,
  atomicity,
  no_thin_air,
  sc_per_location,
  causality,
};
[[nodiscard]] std::string_view to_string(axiom a);

/// Which axioms count: one that is taken away shows what it is there for.
struct axiom_set {
  unsigned without = 0;
  /// More than PTX says, as it is with caches: no load runs ahead of what comes before it in its
  /// thread, and the writes to a location are in one order, which all reads keep to.
  bool like_caches = false;
  [[nodiscard]] bool contain(axiom a) const {
    return (without >> static_cast<unsigned>(a) & 1) == 0;
  }
};

/// One run of each thread: all ways in which reads may take their values from writes, and fences
/// and writes come in an order, that the axioms allow.
///
/// Coherence is partial: writes that race are in no order, and any of them may be the last.
///
/// Source   Lustig, Sahasrabuddhe, Giroux, ASPLOS'19, and their Alloy model; PTX ISA, memory
///          consistency model: release and acquire patterns, observation and causality order,
///          axioms
class execution {
public:
  /// Calls with, by storage, the values that may be there at the end; once or more.
  using on_allowed = std::function<void(std::vector<std::vector<value>> const&)>;

  execution(quarry::litmus::test const& t, std::span<run const* const> runs);

  void for_each_allowed(on_allowed const& call, axiom_set axioms = {});

private:
  struct placed_event : event {
    std::size_t thread;    ///< none: nobody, a first write
    bool is_first = false; ///< memory's first value
  };
  using pair = std::pair<std::size_t, std::size_t>;

  [[nodiscard]] bool is(std::size_t i, event::kind k) const { return events_[i].what == k; }
  [[nodiscard]] bool is_memory(std::size_t i) const {
    return is(i, event::kind::read) || is(i, event::kind::write);
  }
  [[nodiscard]] bool is_strong(std::size_t i) const { return events_[i].how.has_value(); }
  [[nodiscard]] bool is_releasing(std::size_t i) const;
  [[nodiscard]] bool is_acquiring(std::size_t i) const;
  [[nodiscard]] bool is_sc(std::size_t i) const;
  [[nodiscard]] bool reaches(std::size_t from, std::size_t to) const;
  [[nodiscard]] bool are_morally_strong(std::size_t a, std::size_t b) const;

  void add_events(std::span<run const* const> runs);
  void relate();
  void relate_patterns();
  [[nodiscard]] bool relate_barriers();
  void choose_sources(std::size_t read);
  void choose_fences(std::size_t at, relation const& synchronises);
  void order_writes(relation const& cause);
  void choose_coherence(std::span<pair const> left, relation const& coherence,
                        relation const& cause);
  [[nodiscard]] bool is_coherent(relation const& coherence, relation const& cause) const;
  void tell(relation const& coherence) const;

  quarry::litmus::test const& test_;
  std::vector<placed_event> events_;
  std::vector<std::size_t> reads_;
  std::vector<pair> strong_fences_; ///< fence.sc that must be in an order
  std::vector<pair> strong_writes_; ///< writes that must be in an order
  std::vector<pair> other_writes_;  ///< to one location: that need not
  relation program_order_;
  relation same_location_;
  relation morally_strong_;
  relation update_;
  relation dependency_;
  relation release_; ///< from the first operation of a release pattern to its write
  relation acquire_; ///< from the read of an acquire pattern to its last operation
  relation barrier_;
  bool is_possible_ = true; ///< nobody waits at a barrier for ever

  relation reads_from_;
  relation observation_;
  axiom_set axioms_;
  on_allowed const* call_ = nullptr;
};

} // namespace ptx_model
