// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lifetime.hpp>

#include <deque>
#include <mutex>
#include <utility>

namespace quarry::emu {

class lifetime::places {
public:
  /// Not destroyed: owners with static storage may go later.
  static places& all() {
    static places& those = *new places;
    return those;
  }
  place& take() {
    std::lock_guard const lock(mutex_);
    if (free_ == nullptr)
      return made_.emplace_back();
    return *std::exchange(free_, free_->next_free);
  }
  void give_back(place& p) noexcept {
    std::lock_guard const lock(mutex_);
    p.next_free = std::exchange(free_, &p);
  }

private:
  std::mutex mutex_;
  std::deque<place> made_;
  place* free_ = nullptr;
};

lifetime::lifetime() : at_(&places::all().take()) {}

lifetime::~lifetime() {
  at_->owners_gone.fetch_add(1, std::memory_order_release);
  places::all().give_back(*at_);
}

} // namespace quarry::emu
