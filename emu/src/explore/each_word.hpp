// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace quarry::emu {

/// Calls f(number, mask) for each word of 8 bytes of which the range has some, with a bit for each
/// of those.
template<class F>
void for_each_word(std::uintptr_t at, unsigned bytes, F const& f) {
  for (std::uintptr_t const end = at + bytes; at < end;) {
    std::uintptr_t const word = at / 8;
    auto const first = static_cast<unsigned>(at % 8);
    at = std::min(end, word * 8 + 8);
    auto const last = static_cast<unsigned>(at - word * 8);
    f(word, static_cast<std::uint8_t>((1U << last) - (1U << first)));
  }
}

} // namespace quarry::emu
