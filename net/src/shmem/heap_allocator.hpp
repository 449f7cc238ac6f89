// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace quarry::net::shmem {

/// Which bytes of a heap are taken: first fit, in whole cache lines. The same calls give the same
/// offsets.
class heap_allocator {
public:
  explicit heap_allocator(std::uint64_t bytes) {
    if (bytes != 0)
      free_[0] = bytes;
  }

  /// Shape    alignment a power of two; less than a line is a line
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes,
                                                  std::uint64_t alignment = line) {
    bytes = bytes < line ? line : (bytes + line - 1) / line * line;
    alignment = alignment < line ? line : alignment;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      auto const [offset, size] = *it;
      std::uint64_t const place = (offset + alignment - 1) / alignment * alignment;
      std::uint64_t const before = place - offset;
      if (size < before || size - before < bytes)
        continue;
      free_.erase(it);
      if (before != 0)
        free_[offset] = before;
      if (size - before > bytes)
        free_[place + bytes] = size - before - bytes;
      taken_[place] = bytes;
      return place;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool has(std::uint64_t offset) const { return taken_.count(offset) != 0; }

  /// Shape    has(offset)
  void give_back(std::uint64_t offset) {
    auto const it = taken_.find(offset);
    auto const mine = free_.emplace(offset, it->second).first;
    taken_.erase(it);
    if (auto const after = std::next(mine);
        after != free_.end() && mine->first + mine->second == after->first) {
      mine->second += after->second;
      free_.erase(after);
    }
    if (mine == free_.begin())
      return;
    auto const before = std::prev(mine);
    if (before->first + before->second == mine->first) {
      before->second += mine->second;
      free_.erase(mine);
    }
  }

  [[nodiscard]] std::uint64_t largest_free() const {
    std::uint64_t most = 0;
    for (auto const& [offset, size] : free_)
      most = size > most ? size : most;
    return most;
  }

private:
  static constexpr std::uint64_t line = 64;
  std::map<std::uint64_t, std::uint64_t> free_; ///< by offset; never two side by side
  std::map<std::uint64_t, std::uint64_t> taken_;
};

} // namespace quarry::net::shmem
