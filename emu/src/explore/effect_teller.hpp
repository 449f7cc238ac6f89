// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_machine.hpp"
#include "memory_map.hpp"

#include <quarry/choices.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace quarry::emu {

/// Tells a strategy that leaves out what comes to the same (dpor_search) which words and caches the
/// operations of an explored execution touch, by names that are the same in every execution.
///
/// Source   design §8: sleep sets and DPOR
class effect_teller {
public:
  effect_teller(sequential_scheduler const& scheduler, memory_map const& names,
                cache_machine& machine) noexcept
      : scheduler_(scheduler), names_(names), machine_(machine) {}

  /// A new execution.
  void begin(chooser& choices);
  /// Whether the strategy wants to know.
  [[nodiscard]] bool is_asked() const noexcept { return is_asked_; }

  enum class cache_kind : std::uint8_t { of_agent = 1, of_compute_unit, of_wavefront, of_actor };
  /// `number`: the same in every execution that has come here by steps of the same order.
  void name_cache(cache_machine::node_id n, cache_kind kind, std::uint64_t number);

  /// An access, or with `at` 0 another operation, of the actor that runs; and what it published.
  void tell(std::uintptr_t at, std::optional<order> o) {
    if (is_asked_) [[unlikely]]
      tell_now(at, o);
  }
  /// It may have touched anything.
  void tell_any() {
    if (is_asked_) [[unlikely]]
      tell_any_now();
  }
  /// Caches and memory have changed since the last tell().
  [[nodiscard]] bool has_more() const noexcept {
    return !published_.empty() || !changed_caches_.empty();
  }

private:
  void tell_now(std::uintptr_t at, std::optional<order> o);
  void tell_any_now();
  [[nodiscard]] std::uint32_t who_runs() const noexcept;
  /// Of the word of eight bytes that holds the address, whichever part of it is accessed; 0: there
  /// is none.
  [[nodiscard]] std::uint64_t name_of(std::uintptr_t at) const;

  sequential_scheduler const& scheduler_;
  memory_map const& names_;
  cache_machine& machine_;
  chooser* choices_ = nullptr;
  bool is_asked_ = false;
  std::vector<std::uintptr_t> published_;              ///< since the last tell()
  std::vector<cache_machine::node_id> changed_caches_; ///< the same
  std::vector<std::uint64_t> cache_names_;             ///< by node
};

} // namespace quarry::emu
