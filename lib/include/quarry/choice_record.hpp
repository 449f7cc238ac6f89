// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/assert.hpp>
#include <quarry/choices.hpp>
#include <quarry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarry {

/// One choice that was made: `value` of 0 … n - 1.
struct choice {
  choice_kind kind;
  std::uint32_t n;
  std::uint32_t value;

  friend bool operator==(choice const&, choice const&) = default;
};

/// Of all choices so far: equal for equal ones, trailing zeros included; one that differs changes
/// it for sure.
class trace_hasher {
public:
  void add(choice const& c) noexcept {
    // Each step is a bijection of the state, and of (n, value) for a given kind.
    state_ ^= std::uint64_t{c.n} << 32 | c.value;
    state_ = (state_ ^ state_ >> 32) * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(c.kind);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_ ^ state_ >> 32; }

private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

[[nodiscard]] std::uint64_t trace_hash(std::span<choice const> all) noexcept; ///< of these alone

/// The choices of one execution, to be repeated.
class choice_record {
public:
  /// More than these no text may list.
  static constexpr std::uint64_t most_listed = 10'000'000;

  choice_record() = default;
  /// `all` that the execution made; those after the last one that is not 0 are not kept.
  explicit choice_record(std::span<choice const> all);

  [[nodiscard]] std::span<choice const> choices() const noexcept { return choices_; }
  /// How many the execution made: choices(), and zeros after them.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Of all that the execution made.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }
  /// Those that are not 0.
  [[nodiscard]] std::size_t nonzero_count() const noexcept;
  /// Choices of an actor that are not 0.
  [[nodiscard]] std::size_t preemption_count() const noexcept;

  /// Lines of at most 100 columns, for files that people read and compare:
  ///
  ///     choices 240 trace 0x00c5a1de4ab92f10
  ///     a2*17 a2:1 (v3 w2)*40 v3:2
  ///
  /// A kind's first letter, n, ":value" if it is not 0, "*times"; in brackets what is repeated.
  [[nodiscard]] std::string to_text() const;
  /// What to_text() returned, or somebody has edited; any white space separates.
  ///
  /// Errors   std::errc::invalid_argument – line, column, what was expected there, what is there
  [[nodiscard]] static result<choice_record> from_text(std::string_view text);

  friend bool operator==(choice_record const&, choice_record const&) = default;

private:
  std::vector<choice> choices_; ///< empty, or the last one is not 0
  std::uint64_t count_ = 0;
  std::uint64_t trace_hash_ = quarry::trace_hash({});
};

/// Passes choices on to another chooser and keeps what it answered.
///
/// Shape    12 bytes a choice, kept from execution to execution: no allocation once the longest
///          has been seen
class recorder final : public chooser {
public:
  /// `by` is borrowed.
  explicit recorder(chooser& by) noexcept : by_(&by) {}

  /// A new execution: nothing is recorded.
  void begin() noexcept {
    choices_.clear();
    hash_ = {};
  }
  void choose_by(chooser& by) noexcept { by_ = &by; }

  /// So far, trailing zeros included.
  [[nodiscard]] std::span<choice const> choices() const noexcept { return choices_; }
  [[nodiscard]] choice_record record() const { return choice_record(choices_); }
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return hash_.value(); }

  unsigned pick(unsigned n, choice_kind kind) override { return keep(kind, n, by_->pick(n, kind)); }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    return keep(choice_kind::actor, static_cast<unsigned>(ready.size()), by_->pick_actor(ready));
  }
  void on_yield(std::uint32_t actor) override { by_->on_yield(actor); }
  [[nodiscard]] bool wants_effects() const noexcept override { return by_->wants_effects(); }
  void on_effect(std::uint32_t actor, effect const& e) override { by_->on_effect(actor, e); }
  void on_only(std::uint32_t actor) override { by_->on_only(actor); }
  void on_alone() override { by_->on_alone(); }
  [[nodiscard]] bool is_redundant() const noexcept override { return by_->is_redundant(); }

private:
  unsigned keep(choice_kind kind, unsigned n, unsigned value) {
    QUARRY_ASSERT(value < n);
    choice const made{.kind = kind, .n = n, .value = value};
    choices_.push_back(made);
    hash_.add(made); // now, where it costs nothing: each waits for the one before
    return value;
  }

  chooser* by_;
  std::vector<choice> choices_;
  trace_hasher hash_; ///< of those
};

} // namespace quarry
