// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quarry {

/// The strategy that takes a fuzzer's bytes as its choices: one for each, modulo the alternatives,
/// more for more than 256 of these; past the end it is boring.
class bytes final : public chooser {
public:
  /// `data` is borrowed.
  explicit bytes(std::span<std::uint8_t const> data) noexcept : data_(data) {}

  static constexpr std::string_view name() noexcept { return "bytes"; }
  /// The seed plays no part.
  void begin(std::uint64_t) noexcept { position_ = 0; }
  void end() noexcept {}
  [[nodiscard]] std::string describe() const;

  unsigned pick(unsigned n, choice_kind) override {
    std::uint32_t value = next();
    // Little-endian, so that a short value is the small one.
    for (unsigned shift = 8; shift < 32 && (n - 1) >> shift != 0; shift += 8)
      value |= next() << shift;
    return value % n;
  }

private:
  std::uint32_t next() noexcept { return position_ < data_.size() ? data_[position_++] : 0; }

  std::span<std::uint8_t const> data_;
  std::size_t position_ = 0;
};

} // namespace quarry
