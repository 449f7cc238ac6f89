// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry {

/// The strategy that always takes the boring choice: no pre-emption, nothing stale. Actors take
/// turns only where they wait or yield.
class boring final : public chooser {
public:
  static constexpr std::string_view name() noexcept { return "boring"; }
  void begin(std::uint64_t) noexcept {}
  void end() noexcept {}
  [[nodiscard]] std::string describe() const { return "boring"; }

  unsigned pick(unsigned, choice_kind) override { return 0; }
};

} // namespace quarry
