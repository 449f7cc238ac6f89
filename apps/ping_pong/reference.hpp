// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <cstdint>
#include <vector>

namespace quarry::ping_pong {

/// The message of `group` of node `from`, serially.
inline void fill(message_shape s, std::uint64_t* out, std::uint64_t first) {
  for (std::uint64_t i = 0; i < s.words; ++i)
    out[i] = word_of(first, i);
}
[[nodiscard]] inline std::uint64_t sum(message_shape s, std::uint64_t const* in) {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i < s.words; ++i)
    all += in[i];
  return all;
}

/// The check that `group` ends with if all messages of node `from` come as they should: of every
/// round, or, if it gets the same one always, of round 0.
[[nodiscard]] inline std::uint64_t reference(message_shape s, std::uint32_t from,
                                             std::uint32_t group, bool is_same_always) {
  std::vector<std::uint64_t> message(s.words);
  std::uint64_t check = 0;
  for (std::uint32_t round = 1; round <= s.rounds; ++round) {
    fill(s, message.data(), first_word(s, from, group, is_same_always ? 0 : round));
    check = with_message(check, sum(s, message.data()));
  }
  return check;
}

} // namespace quarry::ping_pong
