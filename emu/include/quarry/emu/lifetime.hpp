// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace quarry::emu {

/// Tells who asks later whether its owner still lives. Unlike a shared count it holds nothing that
/// those who ask must give back: they may be on the stack of an explored actor that cannot be
/// unwound, and is discarded. Thread-safe.
class lifetime {
  /// Used by one owner after another, until the process ends.
  struct place {
    std::atomic<std::uint64_t> owners_gone{0};
    place* next_free = nullptr;
  };
  class places;

public:
  class observer {
  public:
    observer() = default; ///< of nobody: it has expired
    observer(observer const&) = default;
    observer& operator=(observer const&) = default;
    /// The other one is of nobody then.
    observer(observer&& other) noexcept
        : at_(std::exchange(other.at_, nullptr)), number_(other.number_) {}
    observer& operator=(observer&& other) noexcept {
      at_ = std::exchange(other.at_, nullptr);
      number_ = other.number_;
      return *this;
    }
    ~observer() = default;

    [[nodiscard]] bool expired() const noexcept {
      return at_ == nullptr || at_->owners_gone.load(std::memory_order_acquire) != number_;
    }

  private:
    friend lifetime;
    observer(place const& at, std::uint64_t number) noexcept : at_(&at), number_(number) {}
    place const* at_ = nullptr;
    std::uint64_t number_ = 0;
  };

  lifetime();
  lifetime(lifetime const&) = delete;
  lifetime& operator=(lifetime const&) = delete;
  ~lifetime();

  [[nodiscard]] observer observed() const noexcept {
    return {*at_, at_->owners_gone.load(std::memory_order_relaxed)};
  }

private:
  place* at_;
};

} // namespace quarry::emu
