// SPDX-License-Identifier: Apache-2.0
#include <quarry/assert.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/strand.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace quarry {

namespace {
constexpr int slices_per_turn = 256; // about 1 us of empty slices: fair to other strands, and cheap
}

/// The actor behind strand::spawn().
class spawned_actor final : public actor {
public:
  spawned_actor(strand& s, task<> root, std::string name)
      : root_(std::move(root)), name_(std::move(name)) {
    home = &s;
    root_.start_on(*this);
  }

  std::string name() const override { return name_; }

  void on_done() noexcept override {
    if (error)
      std::terminate();
    {
      std::lock_guard const lock(home->spawned_mutex_);
      std::erase(home->spawned_, this);
    }
    delete this;
  }

private:
  task<> root_;
  std::string name_;
};

strand::strand(executor& executor, std::string name) : executor_(executor), name_(std::move(name)) {
  executor_.add(*this);
}

strand::~strand() {
  executor_.remove(*this);
  // Actors that nobody will wake any more, after a deadlock say, go with their strand.
  for (actor* a : std::exchange(spawned_, {}))
    delete a;
}

void strand::make_ready(actor& a) {
  executor_.make_ready(a);
}

void strand::spawn(task<> root, std::string name) {
  auto* const a = new spawned_actor(*this, std::move(root), std::move(name));
  {
    std::lock_guard const lock(spawned_mutex_);
    spawned_.push_back(a);
  }
  make_ready(*a);
}

actor* strand::take_inbox() noexcept {
  // Acquire: pairs with the release push in native_scheduler::make_ready(); what the waker wrote
  // before it woke the actor is visible to the actor.
  actor* newest = inbox_.exchange(nullptr, std::memory_order_acquire);
  actor* oldest = nullptr;
  while (newest != nullptr) {
    actor* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

bool strand::try_to_idle() noexcept {
  // seq_cst on both sides of a Dekker handshake with make_ready(): either it sees that the strand
  // is no longer scheduled, or we see what it pushed. Otherwise a wake-up could be lost.
  is_scheduled_.store(false, std::memory_order_seq_cst);
  if (inbox_.load(std::memory_order_seq_cst) == nullptr)
    return true;
  return is_scheduled_.exchange(true, std::memory_order_seq_cst);
}

void strand::after_slice(actor& a) {
  switch (a.state) {
  case actor_state::ready:
    ready_.push_back(&a);
    break;
  case actor_state::polling:
    polling_.push_back(&a);
    break;
  case actor_state::done:
    a.on_done();
    break;
  case actor_state::waiting:
  case actor_state::running:
    break;
  }
}

bool strand::ask_the_polling() {
  auto const still = std::partition(polling_.begin(), polling_.end(),
                                    [](actor* a) { return !a->poll(a->poll_argument); });
  bool const any = still != polling_.end();
  ready_.insert(ready_.end(), still, polling_.end());
  polling_.erase(still, polling_.end());
  return any;
}

strand::turn strand::drain() {
  bool progressed = false;
  for (int slice = 0; slice < slices_per_turn; ++slice) {
    for (actor* a = take_inbox(); a != nullptr;) {
      actor* const next = std::exchange(a->next, nullptr);
      ready_.push_back(a);
      a = next;
    }
    if (ready_.empty() && !ask_the_polling())
      break;
    actor& a = *ready_.front();
    ready_.pop_front();
    a.resume();
    after_slice(a);
    progressed = true;
  }
  bool const again = !ready_.empty() || !polling_.empty();
  return {progressed, again || !try_to_idle()};
}

void strand::describe(report& into) const {
  std::lock_guard const lock(spawned_mutex_);
  for (actor const* a : spawned_)
    into.add(name_, *a);
}

} // namespace quarry
