// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace quarry {

/// Locks a mutex that is held for a microsecond at most: looks again for about that long before it
/// sleeps, which takes the kernel several, as does the wake-up.
class [[nodiscard]] brief_lock {
public:
  explicit brief_lock(std::mutex& m) : mutex_(m) {
    for (int i = 0; i < pauses; ++i) {
      if (mutex_.try_lock())
        return;
      __builtin_ia32_pause();
    }
    mutex_.lock();
  }
  brief_lock(brief_lock const&) = delete;
  brief_lock& operator=(brief_lock const&) = delete;
  ~brief_lock() { mutex_.unlock(); }

private:
  static constexpr int pauses = 32;
  std::mutex& mutex_;
};

} // namespace quarry
