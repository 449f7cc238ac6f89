// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/native_scheduler.hpp>
#include <quarry/strand.hpp>

#include <cstddef>
#include <utility>

namespace quarry {

/// Strands that wait for their turn, each once, without a need for memory.
class native_scheduler::strand_queue {
public:
  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push_back(strand& s) noexcept {
    s.queued_before_ = last_;
    (last_ == nullptr ? first_ : last_->queued_behind_) = &s;
    last_ = &s;
    s.is_queued_ = true;
    ++size_;
  }
  strand& pop_front() noexcept {
    strand& s = *first_;
    remove(s);
    return s;
  }
  /// Nothing, if it is not there.
  void remove(strand& s) noexcept {
    if (!std::exchange(s.is_queued_, false))
      return;
    strand* const before = std::exchange(s.queued_before_, nullptr);
    strand* const behind = std::exchange(s.queued_behind_, nullptr);
    (before == nullptr ? first_ : before->queued_behind_) = behind;
    (behind == nullptr ? last_ : behind->queued_before_) = before;
    --size_;
  }

private:
  strand* first_ = nullptr;
  strand* last_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace quarry
