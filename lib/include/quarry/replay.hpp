// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>
#include <quarry/choices.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quarry {

/// The strategy that repeats a record; past its end it is boring.
///
/// Where the program asks for another choice than the recorded one, it takes the recorded value if
/// there is such an alternative, else 0, and goes on: a shrunk record need not fit exactly.
class replay final : public chooser {
public:
  /// The first choice that was not asked for as recorded: the program, or what it depends on, is
  /// not the recorded one.
  struct divergence {
    std::uint64_t position; ///< from 0
    choice recorded;
    choice_kind kind;    ///< asked for
    std::uint32_t n = 0; ///< asked for; 0: the execution ended

    /// "replay diverged at choice 812: recorded is 'actor', 2 among 7; asked for is 'value', …"
    [[nodiscard]] std::string to_string() const;
    friend bool operator==(divergence const&, divergence const&) = default;
  };

  explicit replay(choice_record recorded) noexcept : recorded_(std::move(recorded)) {}

  static constexpr std::string_view name() noexcept { return "replay"; }
  /// The seed plays no part.
  void begin(std::uint64_t seed) noexcept;
  void end() noexcept;
  [[nodiscard]] std::string describe() const;

  /// None in the execution that runs, or has ended. Past the record's end there is nothing to
  /// compare: whether all was the same is what the trace hashes of both records say.
  [[nodiscard]] std::optional<divergence> const& diverged() const noexcept { return diverged_; }
  [[nodiscard]] choice_record const& recorded() const noexcept { return recorded_; }

  unsigned pick(unsigned n, choice_kind kind) override;

private:
  choice_record recorded_;
  std::uint64_t position_ = 0;
  std::optional<divergence> diverged_;
};

} // namespace quarry
