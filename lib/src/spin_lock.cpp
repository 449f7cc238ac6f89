// SPDX-License-Identifier: Apache-2.0
#include <quarry/spin_lock.hpp>

#include <thread>

namespace quarry {

void spin_lock::wait() const noexcept {
  constexpr int pauses = 64;
  for (int i = 0; is_held_.load(std::memory_order_relaxed); ++i) {
    if (i < pauses)
      __builtin_ia32_pause();
    else
      std::this_thread::yield();
  }
}

} // namespace quarry
