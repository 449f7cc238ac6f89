// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "race_detector.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>

namespace quarry::emu {

/// Who has written the bytes of LDS last, in an explored execution. (Of global memory the caches
/// know that.)
class lds_writes {
public:
  using write_id = race_detector::write_id;

  void clear() noexcept {
    if (!words_.empty())
      words_.clear();
  }
  /// Nobody has written there.
  void forget(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void add(std::uintptr_t at, unsigned bytes, write_id by);

  /// Whether somebody has written each of them.
  [[nodiscard]] bool cover(std::uintptr_t at, unsigned bytes) const;
  /// The last writes of these bytes, as one; 0: there were none.
  [[nodiscard]] write_id of(std::uintptr_t at, unsigned bytes, race_detector& races) const;

private:
  struct word {
    std::array<write_id, 8> by{}; ///< the last write of each byte
    std::uint8_t written = 0;     ///< a bit for each
  };
  std::unordered_map<std::uintptr_t, word> words_; ///< by address / 8
};

} // namespace quarry::emu
