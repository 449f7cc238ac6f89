// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarry::emu {

/// Which allocations an explored execution has, of all its agents and of the host, and which it
/// had: by address.
class memory_map {
public:
  /// A new execution: there are none.
  void clear() noexcept;
  /// What every agent may touch beside its own memory; null: nothing is checked.
  void share(allocations const* host_memory) noexcept { shared_ = host_memory; }
  [[nodiscard]] allocations const* shared() const noexcept { return shared_; }

  void add(allocations const& source);
  void remove(allocations const& source) noexcept;
  /// One of them is about to be given back.
  void forget_accessed() noexcept { accessed_ = {}; }
  void has_gone(known_range&& what) noexcept;

  /// Whether the bytes lie in one of the last few allocations of which that was asked: cheap. If
  /// not, allows() finds out.
  [[nodiscard]] bool was_accessed(std::uintptr_t at, unsigned bytes) const noexcept {
    for (extent const& e : accessed_)
      if (at >= e.begin && at + bytes <= e.end)
        return true;
    return false;
  }
  /// Whether they lie in any that is not LDS, or nothing is checked.
  [[nodiscard]] bool allows(std::uintptr_t at, unsigned bytes) noexcept;

  [[nodiscard]] known_range const* find(std::uintptr_t at) const noexcept;
  /// The one that the address is in, or is nearest to, unless all are far away; or null.
  [[nodiscard]] known_range const* find_near(std::uintptr_t at) const noexcept;
  /// The one that held it, and was given back in this execution; or null.
  [[nodiscard]] known_range const* find_gone(std::uintptr_t at) const noexcept;

  // For reports

  /// "slots", or "slots #2" where there are several of that name.
  [[nodiscard]] std::string title_of(known_range const& r) const;
  /// "'ranks' + 4100", "'ranks' - 4": an address that may be in no allocation.
  [[nodiscard]] std::string offset_of(std::uintptr_t at) const;

private:
  struct extent {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };
  allocations const* shared_ = nullptr;
  std::vector<allocations const*> sources_; ///< of everything that there is
  std::array<extent, 4> accessed_{};
  std::size_t next_accessed_ = 0; ///< which of those makes room for another one
  std::vector<known_range> gone_; ///< in this execution, the last one last
};

} // namespace quarry::emu
