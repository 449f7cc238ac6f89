// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/gravel.hpp>

#include <atomic>
#include <cstdint>

namespace quarry::net::gravel {

/// What a network interface has sent and applied: counted by its actor, read by anybody.
class traffic {
public:
  class counter {
  public:
    void add(std::uint64_t n) noexcept {
      value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t value() const noexcept {
      return value_.load(std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t> value_{0};
  };

  counter operations; ///< sent
  counter applied;
  counter frames;
  counter frame_bytes;
  counter remote_frames;

  [[nodiscard]] statistics counts() const noexcept {
    statistics s;
    s.operations = operations.value();
    s.applied = applied.value();
    s.frames = frames.value();
    s.frame_bytes = frame_bytes.value();
    s.remote_frames = remote_frames.value();
    return s;
  }
};

} // namespace quarry::net::gravel
