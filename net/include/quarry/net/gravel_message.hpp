// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>

#include <algorithm>
#include <cstdint>

namespace quarry::net::gravel {

/// What a message asks of the node that it goes to (thesis §5.4: PUT, atomic increment, active
/// message; differs: `add` is an increment by any number).
enum class command : std::uint8_t {
  increment = 1,  ///< word += 1
  add,            ///< word += value
  put,            ///< word = value
  active_message, ///< handler(word, value)
};
[[nodiscard]] constexpr char const* to_string(command c) noexcept {
  constexpr char const* names[] = {"increment", "add", "put", "active_message"};
  return names[static_cast<int>(c) - 1];
}

/// What a kernel names: a word, counted from the heap's begin, of a node. There may be none such.
struct named_word {
  std::uint64_t node;
  std::uint64_t word;
  unsigned byte = 0; ///< of the word, where it begins between two
};

/// Where a message goes: the node, and the 64-bit word of its symmetric heap. One 64-bit row of a
/// package, so that work-items write it in one store. Only of words that there are: it has no room
/// for others, and nobody who reads it asks again.
///
/// Shape    65 536 nodes; 2^32 words (32 GiB) of heap a node
struct remote_word {
  static constexpr int pe_shift = 48;
  [[nodiscard]] static constexpr std::uint64_t encode(pe target, std::uint32_t word) noexcept {
    return std::uint64_t{target.id} << pe_shift | word;
  }
  [[nodiscard]] static constexpr pe target(std::uint64_t row) noexcept {
    return pe{static_cast<std::uint32_t>(row >> pe_shift)};
  }
  [[nodiscard]] static constexpr std::uint32_t word(std::uint64_t row) noexcept {
    return static_cast<std::uint32_t>(row);
  }
};

/// What a package's tag says: the command, and for active messages the handler's number.
struct package_tag {
  static constexpr std::uint32_t most_handlers = (1U << 24) - 1;
  [[nodiscard]] static constexpr std::uint32_t encode(command c,
                                                      std::uint32_t handler = 0) noexcept {
    // A number that is too large is the largest, which nobody has added either.
    return static_cast<std::uint32_t>(c) | std::min(handler, most_handlers) << 8;
  }
  [[nodiscard]] static constexpr command what(std::uint32_t tag) noexcept {
    return static_cast<command>(tag & 0xff);
  }
  [[nodiscard]] static constexpr std::uint32_t handler(std::uint32_t tag) noexcept {
    return tag >> 8;
  }
};

} // namespace quarry::net::gravel
