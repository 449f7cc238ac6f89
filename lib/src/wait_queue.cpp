// SPDX-License-Identifier: Apache-2.0
#include <quarry/strand.hpp>
#include <quarry/wait_queue.hpp>

#include <limits>
#include <mutex>
#include <thread>

namespace quarry {

bool wait_place::leave(std::size_t* count) noexcept {
  if (state_.load(std::memory_order_acquire) == state::queued && queue_->leave(*this, count))
    return false;
  // Acquire: pairs with the release in wake(). The waker never waits for whoever destroys an actor:
  // it is on another thread, and goes on as soon as it has a processor.
  while (state_.load(std::memory_order_acquire) == state::being_woken)
    std::this_thread::yield();
  bool const was_granted = is_granted_;
  accept();
  return was_granted;
}

void wait_place::give_up_grant() noexcept {
  std::lock_guard const guard(*queue_);
  is_granted_ = false;
  (previous_granted_ == nullptr ? queue_->granted_ : previous_granted_->next_granted_) =
      next_granted_;
  if (next_granted_ != nullptr)
    next_granted_->previous_granted_ = previous_granted_;
}

wait_queue::~wait_queue() {
  for (wait_place* p = first_; p != nullptr; p = p->next_)
    p->state_.store(wait_place::state::free, std::memory_order_relaxed);
  for (wait_place* p = granted_; p != nullptr; p = p->next_granted_)
    p->is_granted_ = false;
}

void wait_queue::push(wait_place& place, actor& who) noexcept {
  place.who_ = &who;
  place.queue_ = this;
  place.state_.store(wait_place::state::queued, std::memory_order_relaxed);
  place.next_ = nullptr;
  place.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &place;
  last_ = &place;
}

wait_place* wait_queue::grant(std::size_t& most) noexcept {
  wait_place* const taken = take(most);
  for (wait_place* p = taken; p != nullptr; p = p->next_) {
    p->is_granted_ = true;
    p->previous_granted_ = nullptr;
    p->next_granted_ = granted_;
    if (granted_ != nullptr)
      granted_->previous_granted_ = p;
    granted_ = p;
  }
  return taken;
}

wait_place* wait_queue::take(std::size_t& most) noexcept {
  wait_place* const taken = first_;
  wait_place* end = nullptr; // the last one taken
  for (; most != 0 && first_ != nullptr; --most) {
    end = first_;
    end->state_.store(wait_place::state::being_woken, std::memory_order_relaxed);
    first_ = end->next_;
  }
  if (end == nullptr)
    return nullptr;
  end->next_ = nullptr;
  if (first_ == nullptr)
    last_ = nullptr;
  else
    first_->previous_ = nullptr;
  return taken;
}

wait_place* wait_queue::take_all() noexcept {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  return take(most);
}

void wait_queue::wake(wait_place* taken) {
  while (taken != nullptr) {
    wait_place* const next = taken->next_;
    actor& a = *taken->who_;
    a.home->make_ready(a);
    // The last touch: until now the place's destructor has waited, and the actor is there.
    taken->state_.store(wait_place::state::free, std::memory_order_release);
    taken = next;
  }
}

/// False if it was taken before.
bool wait_queue::leave(wait_place& place, std::size_t* count) noexcept {
  std::lock_guard const guard(*this);
  if (place.state_.load(std::memory_order_relaxed) != wait_place::state::queued)
    return false;
  (place.previous_ == nullptr ? first_ : place.previous_->next_) = place.next_;
  (place.next_ == nullptr ? last_ : place.next_->previous_) = place.previous_;
  place.state_.store(wait_place::state::free, std::memory_order_relaxed);
  if (count != nullptr)
    --*count;
  return true;
}

} // namespace quarry
