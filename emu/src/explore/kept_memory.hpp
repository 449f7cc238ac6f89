// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace quarry::emu {

/// Memory that was given back, and stays until the execution is over: who comes too late finds it
/// there, and nobody gets its addresses meanwhile.
class kept_memory {
public:
  using free_function = void (*)(void*, std::size_t) noexcept;

  kept_memory() = default;
  kept_memory(kept_memory const&) = delete;
  kept_memory& operator=(kept_memory const&) = delete;
  ~kept_memory() { free(); }

  /// False: there is no room to note it, and it is still the caller's.
  bool keep(void* memory, std::size_t bytes, free_function free) noexcept {
    try {
      all_.push_back({memory, bytes, free});
    } catch (std::bad_alloc const&) {
      return false;
    }
    return true;
  }
  void free() noexcept {
    for (given_back const& g : all_)
      g.free(g.memory, g.bytes);
    all_.clear();
  }

private:
  struct given_back {
    void* memory;
    std::size_t bytes;
    free_function free;
  };
  std::vector<given_back> all_;
};

} // namespace quarry::emu
