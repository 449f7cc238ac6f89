// SPDX-License-Identifier: Apache-2.0
#include <quarry/scheduler.hpp>
#include <quarry/strand.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace quarry {

namespace {

constexpr int slices_per_turn = 256; // about 1 us of empty slices: fair to other strands, and cheap

// Values of strand::inbox_ that are no actors: odd, as no address of one is.
actor* const not_scheduled = reinterpret_cast<actor*>(1);
actor* const posted_again = reinterpret_cast<actor*>(3);

} // namespace

/// The actor behind strand::spawn().
class spawned_actor final : public actor {
public:
  spawned_actor(strand& s, task<> root, std::string name)
      : root_(std::move(root)), name_(std::move(name)) {
    home = &s;
    root_.start_on(*this);
    std::lock_guard const lock(s.spawned_mutex_);
    before_ = std::exchange(s.last_spawned_, this);
    (before_ == nullptr ? s.spawned_ : before_->after_) = this;
  }

  std::string name() const override { return name_; }

  void on_done() noexcept override {
    if (error)
      std::terminate();
    {
      std::lock_guard const lock(home->spawned_mutex_);
      (before_ == nullptr ? home->spawned_ : before_->after_) = after_;
      (after_ == nullptr ? home->last_spawned_ : after_->before_) = before_;
    }
    delete this;
  }

  [[nodiscard]] spawned_actor* after() const noexcept { return after_; }

private:
  task<> root_;
  std::string name_;
  spawned_actor* before_ = nullptr; ///< neighbours in strand::spawned_
  spawned_actor* after_ = nullptr;
};

strand::strand(executor& executor, std::string name)
    : executor_(executor), name_(std::move(name)), inbox_(not_scheduled) {
  executor_.add(*this);
}

strand::~strand() {
  retire();
  // All are told before the first one goes: what one does on its way out may wake another.
  for (spawned_actor* a = spawned_; a != nullptr; a = a->after())
    executor_.abandon(*a);
  while (spawned_ != nullptr)
    delete std::exchange(spawned_, spawned_->after());
}

void strand::retire() noexcept {
  if (!std::exchange(is_retired_, true))
    executor_.remove(*this);
}

void strand::make_ready(actor& a) {
  if (!a.is_abandoned)
    executor_.make_ready(a);
}

void strand::spawn(task<> root, std::string name) {
  make_ready(*new spawned_actor(*this, std::move(root), std::move(name)));
}

/// Adds to the inbox. True if the caller must now hand the strand to the executor's queue;
/// otherwise the caller must not touch it again.
bool strand::push(actor& a) noexcept {
  actor* seen = inbox_.load(std::memory_order_relaxed);
  do
    a.next = seen == not_scheduled || seen == posted_again ? nullptr : seen;
  // Release: pairs with the acquire in take_inbox(). The same exchange tells whether the strand is
  // scheduled: there is no moment between the two in which a wake-up could be lost.
  while (!inbox_.compare_exchange_weak(seen, &a, std::memory_order_release,
                                       std::memory_order_relaxed));
  return seen == not_scheduled;
}

/// Makes sure that a turn begins after this call. Returns as push() does.
bool strand::schedule() noexcept {
  actor* seen = inbox_.load(std::memory_order_relaxed);
  // A null inbox must change too: its turn may already have looked for what the caller brought, and
  // only a changed inbox makes its try_to_idle() fail. Release: pairs with take_inbox().
  while (!inbox_.compare_exchange_weak(
      seen, seen == not_scheduled ? nullptr : (seen == nullptr ? posted_again : seen),
      std::memory_order_release, std::memory_order_relaxed)) {
  }
  return seen == not_scheduled;
}

actor* strand::take_inbox() noexcept {
  // Acquire: pairs with the release in push() and schedule(); what the waker wrote before it woke
  // the actor is visible to the actor.
  actor* newest = inbox_.exchange(nullptr, std::memory_order_acquire);
  if (newest == posted_again)
    return nullptr;
  actor* oldest = nullptr;
  while (newest != nullptr) {
    actor* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

bool strand::try_to_idle() noexcept {
  // One exchange looks and marks: either it sees what push() or schedule() brought, or they see
  // that the strand is not scheduled any more.
  actor* seen = nullptr;
  if (inbox_.compare_exchange_strong(seen, not_scheduled, std::memory_order_acq_rel))
    return true;
  if (seen == posted_again) // it gets its turn; if an actor comes now, that is in the list
    inbox_.compare_exchange_strong(seen, nullptr, std::memory_order_acq_rel);
  return false;
}

void strand::after_slice(actor& a) {
  switch (a.state) {
  case actor_state::ready:
    ready_.push_back(a);
    break;
  case actor_state::polling:
    polling_.push_back(&a);
    break;
  case actor_state::done:
    a.on_done();
    break;
  case actor_state::waiting: // somebody may have woken it already: then it is in the inbox
  case actor_state::running:
    break;
  }
}

bool strand::ask_the_polling() {
  auto const still = std::stable_partition(polling_.begin(), polling_.end(),
                                           [](actor* a) { return !a->poll(a->poll_argument); });
  bool const any = still != polling_.end();
  for (auto i = still; i != polling_.end(); ++i) {
    (*i)->state = actor_state::ready;
    ready_.push_back(**i);
  }
  polling_.erase(still, polling_.end());
  return any;
}

strand::turn strand::drain() {
  bool progressed = false;
  // Once a turn in any case: actors that yield to each other for ever must not keep a poller out.
  if (!polling_.empty())
    ask_the_polling();
  for (int slice = 0; slice < slices_per_turn; ++slice) {
    if (has_inbox()) {
      for (actor* a = take_inbox(); a != nullptr;) {
        actor* const next = a->next;
        if (actor* const runs = a->on_ready(); runs != nullptr) {
          runs->state = actor_state::ready;
          ready_.push_back(*runs);
        }
        a = next;
      }
    }
    if (ready_.is_empty() && (slice == 0 || polling_.empty() || !ask_the_polling()))
      break;
    actor& a = ready_.pop_front();
    a.resume();
    after_slice(a);
    progressed = true;
  }
  bool const again = !ready_.is_empty() || !polling_.empty();
  return {progressed, again || !try_to_idle()};
}

void strand::describe(report& into) const {
  std::lock_guard const lock(spawned_mutex_);
  for (spawned_actor const* a = spawned_; a != nullptr; a = a->after())
    into.add(name_, *a);
}

} // namespace quarry
