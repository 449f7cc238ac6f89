// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/emu/scope.hpp>
#include <quarry/litmus/interpreter.hpp>

#include <cstdint>
#include <map>
#include <optional>

/// A machine for litmus tests without caches: sequentially consistent, and nothing to choose.
class coherent_machine {
public:
  struct reading {
    std::uint64_t value;
  };

  explicit coherent_machine(quarry::chooser&) {}
  std::uint32_t add_agent() { return agent_count++; }
  std::uint32_t add_compute_unit(std::uint32_t) { return unit_count++; }
  std::uint32_t add_wavefront(std::uint32_t) { return wavefront_count++; }
  void reset() { words_.clear(); }
  void initialise(std::uintptr_t at, unsigned, std::uint64_t value) { words_[at] = value; }

  template<class... How>
  reading load(std::uint32_t, std::uintptr_t at, unsigned, How...) {
    return {words_[at]};
  }
  template<class... How>
  void store(std::uint32_t, std::uintptr_t at, unsigned, std::uint64_t value, How...) {
    words_[at] = value;
  }
  template<class F>
  reading update(std::uint32_t, std::uintptr_t at, unsigned, quarry::emu::order, quarry::emu::scope,
                 F f) {
    auto const old = words_[at];
    if (std::optional<std::uint64_t> const desired = f(old))
      words_[at] = *desired;
    return {old};
  }
  void fence(std::uint32_t, quarry::emu::order, quarry::emu::scope) {}
  void finish() {}
  reading final_value(std::uintptr_t at, unsigned) { return {words_[at]}; }
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t h = 0;
    for (auto const& [at, value] : words_)
      h = quarry::litmus::mixed(quarry::litmus::mixed(h, at), value);
    return h;
  }

  std::uint32_t agent_count = 0;
  std::uint32_t unit_count = 0;
  std::uint32_t wavefront_count = 0;

private:
  std::map<std::uintptr_t, std::uint64_t> words_;
};
static_assert(quarry::litmus::memory_machine<coherent_machine>);
