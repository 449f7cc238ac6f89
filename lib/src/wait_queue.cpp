// SPDX-License-Identifier: Apache-2.0
#include <quarry/strand.hpp>
#include <quarry/wait_queue.hpp>

#include <limits>
#include <mutex>

namespace quarry {

wait_place::~wait_place() {
  if (queue_ != nullptr)
    queue_->leave(*this);
}

wait_queue::~wait_queue() {
  for (wait_place* p = first_; p != nullptr; p = p->next_)
    p->queue_ = nullptr;
}

void wait_queue::push(wait_place& place, actor& who) noexcept {
  place.who_ = &who;
  place.queue_ = this;
  place.next_ = nullptr;
  place.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &place;
  last_ = &place;
}

actor* wait_queue::pop() noexcept {
  std::size_t one = 1;
  wait_place* const place = take(one);
  return place == nullptr ? nullptr : place->who_;
}

wait_place* wait_queue::take(std::size_t& most) noexcept {
  wait_place* const taken = first_;
  wait_place* end = nullptr; // the last one taken
  for (; most != 0 && first_ != nullptr; --most) {
    end = first_;
    end->queue_ = nullptr;
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
    // Read first: once it is ready, the actor may run and its frame with the place be gone.
    wait_place* const next = taken->next_;
    actor& a = *taken->who_;
    a.home->make_ready(a);
    taken = next;
  }
}

void wait_queue::leave(wait_place& place) noexcept {
  std::lock_guard const guard(*this);
  if (place.queue_ == nullptr)
    return;
  (place.previous_ == nullptr ? first_ : place.previous_->next_) = place.next_;
  (place.next_ == nullptr ? last_ : place.next_->previous_) = place.previous_;
  place.queue_ = nullptr;
}

} // namespace quarry
