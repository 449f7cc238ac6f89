// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../told_failure.hpp"
#include "frame.hpp"
#include "shared_state.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/pe.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

namespace quarry::net::gravel {

/// Why a job has failed, as one node tells it to the others, and they to each other.
struct failure_notice {
  std::uint32_t code;   ///< a net_errc
  std::uint32_t origin; ///< the node whose words these are
  std::string text;

  [[nodiscard]] static failure_notice of(error const& e, std::uint32_t self) {
    return {static_cast<std::uint32_t>(told_code(e)), self,
            std::string(without_prefix(e.what).substr(0, most_text))};
  }
  /// Of a frame: none if it is of no known code, or of no other node than `self`.
  [[nodiscard]] static std::optional<failure_notice> read(std::span<std::uint32_t const> head,
                                                          std::span<std::byte const> text,
                                                          std::uint32_t nodes, std::uint32_t self) {
    failure_notice n{head[1], head[2], printable(text.first(std::min(text.size(), most_text)))};
    if (!is_net_errc(n.code) || n.origin >= nodes || n.origin == self)
      return std::nullopt;
    return n;
  }

  [[nodiscard]] std::array<std::uint32_t, 3> head() const noexcept {
    return {static_cast<std::uint32_t>(frame_kind::failure), code, origin};
  }
  [[nodiscard]] error as_error() const {
    return {std::error_code(static_cast<int>(code), net_category()),
            fmt::format("gravel: {} says: {}", to_string(pe{origin}), text)};
  }

private:
  static constexpr std::size_t most_text = 1024;
};

} // namespace quarry::net::gravel
