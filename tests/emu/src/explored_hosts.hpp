// SPDX-License-Identifier: Apache-2.0
// The memory of an explored execution, without an exploration around it: a test takes each step.
#pragma once

#include "every_choice.hpp"
#include "explored_memory.hpp"

#include <quarry/actor.hpp>
#include <quarry/boring.hpp>
#include <quarry/choices.hpp>
#include <quarry/emu/allocations.hpp>
#include <quarry/emu/cache_port.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <utility>

namespace quarry_test {

inline std::source_location here(std::source_location where = std::source_location::current()) {
  return where;
}

/// A host thread as far as memory knows it. It has no task, and nobody runs it.
class lone_host final : public quarry::actor {
public:
  lone_host(std::string name, std::uint32_t n) : name_(std::move(name)) { number = n; }
  std::string name() const override { return name_; }
  void on_done() noexcept override {}

private:
  std::string name_;
};

/// Three hosts, each with a cache of its own, and all allocations that there are.
struct explored_hosts {
  explicit explored_hosts(quarry::emu::explored_memory::options o = {}) : memory(scheduler, o) {}

  /// A new execution.
  void begin(quarry::chooser& choices, bool keeps_history = false) {
    memory.begin(choices, keeps_history);
    known.tell(&memory);
    memory.share(&known); // nothing else may be accessed
  }
  void begin(bool keeps_history = false) { begin(boring, keeps_history); }
  /// Everything comes to the host's memory.
  void finish() {
    memory.machine().finish();
    memory.to_host();
  }
  quarry::emu::cache_port& port(std::size_t i) { return memory.join(hosts[i]); }
  /// "race", say; nothing has been found: "".
  [[nodiscard]] std::string kind_found() const {
    return memory.first_finding() ? memory.first_finding()->kind : "";
  }
  [[nodiscard]] std::string report() const {
    return memory.first_finding() ? memory.first_finding()->report : "nothing was found";
  }

  quarry::boring boring; // the newest value is seen, and nothing is late
  quarry::sequential_scheduler scheduler;
  quarry::emu::explored_memory memory;
  quarry::emu::allocations known;
  std::array<lone_host, 3> hosts{lone_host("ann", 1), lone_host("bob", 2), lone_host("eve", 3)};
};

using word = std::uint32_t;

inline void put(quarry::emu::cache_port const& port, word* at, word value,
                std::source_location where = std::source_location::current()) {
  port.store(at, value, std::nullopt, quarry::emu::scope::work_item, where);
}
inline word get(quarry::emu::cache_port const& port, word const* at,
                std::source_location where = std::source_location::current()) {
  return port.load(at, std::nullopt, quarry::emu::scope::work_item, where);
}

/// A row of words that has a name.
struct named_row : explored_hosts {
  explicit named_row(quarry::emu::explored_memory::options o = {}) : explored_hosts(o) {
    known.add(words.data(), sizeof words, "row");
  }
  alignas(64) std::array<word, 4> words{};
};

/// What a program gives in all executions that there are.
template<class Program>
auto in_every_execution(explored_hosts& those, Program const& program) {
  every_choice choices;
  std::set<decltype(program())> seen;
  do {
    those.begin(choices);
    seen.insert(program());
  } while (choices.advance());
  return seen;
}

} // namespace quarry_test
