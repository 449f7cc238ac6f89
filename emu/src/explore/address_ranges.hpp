// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry::emu {

/// A few ranges of addresses that do not overlap.
class address_ranges {
public:
  void add(std::uintptr_t begin, std::size_t bytes) { all_.push_back({begin, bytes}); }
  /// The one that begins there, if there is one.
  void remove(std::uintptr_t begin) noexcept {
    std::erase_if(all_, [begin](range const& r) { return r.begin == begin; });
  }
  void clear() noexcept { all_.clear(); }

  [[nodiscard]] bool is_empty() const noexcept { return all_.empty(); }
  [[nodiscard]] bool contain(std::uintptr_t at) const noexcept {
    return std::any_of(all_.begin(), all_.end(),
                       [at](range const& r) { return at - r.begin < r.bytes; });
  }

private:
  struct range {
    std::uintptr_t begin;
    std::size_t bytes;
  };
  std::vector<range> all_;
};

} // namespace quarry::emu
