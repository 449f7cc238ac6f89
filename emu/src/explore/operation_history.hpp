// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_machine.hpp"

#include <quarry/emu/scope.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quarry::emu {

class explored_memory;

/// The last operations of an explored execution, for its report, and which writes old values hide.
/// Kept only where somebody will read it: each operation costs a microsecond.
class operation_history {
public:
  // What else there is to say
  static constexpr std::string_view stale = ", stale";   ///< of a load
  static constexpr std::string_view failed = ", failed"; ///< of an update that has written nothing
  struct operation {
    cache_machine::actor_id who;
    char const* what; ///< "load", "store", "update" or "fence"
    std::optional<order> how;
    scope far;
    std::uintptr_t at; ///< 0: none
    unsigned bytes;
    std::uint64_t value;
    std::source_location where;
    std::string_view more; ///< `stale`, `failed` or empty
  };

  /// `memory` knows what actors and words are called.
  explicit operation_history(explored_memory const& memory) noexcept : memory_(memory) {}

  /// A new execution: nothing was done.
  void begin(bool is_kept);
  [[nodiscard]] bool is_kept() const noexcept { return is_kept_; }
  /// `is_over`: what happens after a finding is counted, and no more.
  void add(operation const& o, bool is_over);

  /// A line for each of the last 40: who, what, which word, its value, where. What an actor did at
  /// one source line, many lanes of an instruction say, is one. A value that is the address of a
  /// word is that word's name: so it is the same in every process.
  [[nodiscard]] std::string lines() const;
  /// The last load that has read an old value, and what is newer: a line; empty: there is none.
  [[nodiscard]] std::string const& stale_read() const noexcept { return stale_read_; }
  /// "0x7, written by consumer at main.cpp:14 (operation 1)", or that no store to it is known: to
  /// exactly this address, by an actor.
  [[nodiscard]] std::string last_write(std::uintptr_t word) const;
  /// By first use, from 0 on: what words are called that have no name.
  [[nodiscard]] std::optional<std::size_t> number_of(std::uintptr_t word) const;

private:
  /// Operations of one actor at one source line that follow each other.
  struct past_operation {
    operation first;
    std::uint64_t number = 0; ///< of the first one
    std::uint64_t count = 1;
    std::string first_word; ///< named while it was there, and so are addresses
    std::string first_value;
    std::string last_word;
    std::string last_value;
    std::uintptr_t last_at = 0;
    std::string origin; ///< of what the first one has seen, or should have
  };
  struct past_write {
    std::uint64_t number; ///< of the operation
    cache_machine::actor_id who;
    std::uint64_t value;
    std::string value_text; ///< of then
    std::source_location where;
  };
  [[nodiscard]] std::string text_of(std::uint64_t value) const;
  [[nodiscard]] std::string newer_write(operation const& o) const;
  [[nodiscard]] std::string late_write(operation const& o) const;
  [[nodiscard]] bool continues(past_operation const& before, operation const& o) const;
  [[nodiscard]] std::string describe(past_operation const& o) const;
  static constexpr std::size_t most_lines = 40;

  explored_memory const& memory_;
  bool is_kept_ = false;
  std::deque<past_operation> last_;
  std::unordered_map<std::uintptr_t, std::vector<past_write>> writes_; ///< of a word, in order
  std::unordered_map<std::uintptr_t, std::size_t> word_numbers_;
  std::string stale_read_;
  std::uint64_t count_ = 0; ///< of operations, so far
};

} // namespace quarry::emu
