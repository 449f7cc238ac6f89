// SPDX-License-Identifier: Apache-2.0
#include "kept_for_good.hpp"

#include <quarry/assert.hpp>
#include <quarry/misuse.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/strand.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

namespace quarry {

namespace {

thread_local strand const* let_go_here = nullptr; // whose frames the thread destroys, the innermost

constexpr int slices_per_turn = 256; // about 1 us of empty slices: fair to other strands, and cheap

/// Of an actor that was abandoned; one that stands in the midst of its frames for ever is kept.
void destroy(actor* a) {
  if (a->fiber == nullptr)
    delete a;
  else
    keep_for_good(std::exchange(a, nullptr));
}

} // namespace

/// The actor behind strand::spawn().
class spawned_actor final : public actor {
public:
  spawned_actor(strand& s, task<> root, std::string name, void const* of)
      : family(of), root_(std::move(root)), name_(std::move(name)) {
    home = &s;
    root_.start_on(*this);
  }

  std::string name() const override { return name_; }

  void on_done() noexcept override {
    if (error)
      std::rethrow_exception(error); // to std::terminate(), which can say what it was
    leave();
    delete this;
  }

  /// Under the strand's lock.
  void list() noexcept {
    home->debug_.actors.push_back(debug_);
    is_listed_ = true;
  }
  void leave() noexcept {
    std::lock_guard const lock(home->spawned_mutex_);
    home->debug_.actors.remove(debug_);
    is_listed_ = false;
  }
  /// Not once it is cancelled.
  [[nodiscard]] bool is_listed() const noexcept { return is_listed_; }
  void destroy_frames() noexcept { root_ = {}; }

  void const* const family;

private:
  task<> root_;
  std::string name_;
  debug_actor debug_{.self = this, .name = name_.c_str()}; ///< in strand::debug_
  bool is_listed_ = false;
};

strand::letting_go::letting_go(strand const& s) noexcept : outer_(std::exchange(let_go_here, &s)) {}
strand::letting_go::~letting_go() {
  let_go_here = outer_;
}

bool strand::is_let_go_of_here() const noexcept {
  return let_go_here == this;
}

bool strand::lets_go_here() noexcept {
  return let_go_here != nullptr;
}

strand::strand(executor& executor, std::string name)
    : executor_(executor), name_(std::move(name)),
      debug_{.self = this, .name = name_.c_str(), .actors = {}} {
  executor_.add(*this);
}

strand::~strand() {
  retire();
  destroy_spawned();
}

/// Those of `these` that were spawned and are not done. What was spawned later may refer to what
/// was there, so that it comes first.
std::vector<spawned_actor*> strand::youngest_first(std::span<strand* const> these) {
  std::vector<spawned_actor*> all;
  for (strand* const s : these) {
    auto const more = s->spawned([](spawned_actor const&) { return true; });
    all.insert(all.end(), more.begin(), more.end());
  }
  std::sort(all.begin(), all.end(),
            [](actor const* a, actor const* b) { return a->number > b->number; });
  return all;
}

void strand::destroy_spawned_of(std::span<strand* const> these) {
  // All are told before the first one goes: what one does on its way out may wake another.
  for (spawned_actor* const a : youngest_first(these)) {
    letting_go const now(*a->home);
    a->home->executor_.abandon(*a);
  }
  for (spawned_actor* const a : youngest_first(these))
    if (a->is_listed()) { // still: who was destroyed may have cancelled others
      letting_go const now(*a->home);
      a->leave();
      destroy(a);
    }
}

void strand::destroy_spawned() {
  if (debug_.actors.first != nullptr) {
    strand* const only[] = {this};
    destroy_spawned_of(only);
  }
  bury_cancelled();
}

void strand::destroy_spawned_of(executor& e) {
  std::vector<strand*> all;
  for (debug_strand const* s = e.debug_entry().strands.first; s != nullptr; s = s->next)
    all.push_back(s->self);
  destroy_spawned_of(all);
  // Actors may have had strands of their own.
  for (debug_strand const* s = e.debug_entry().strands.first; s != nullptr; s = s->next)
    s->self->bury_cancelled();
}

std::vector<actor*> strand::keep_spawned() {
  std::vector<actor*> all;
  for (spawned_actor* const a : spawned([](spawned_actor const&) { return true; })) {
    a->leave();
    all.push_back(keep_for_good(static_cast<actor*>(a)));
  }
  return all;
}

void strand::retire() noexcept {
  if (std::exchange(is_retired_, true))
    return;
  if (executor_.turn() == this)
    misuse("strand \"" + name_ + "\" is destroyed by an actor that runs on it");
  executor_.remove(*this);
}

void strand::make_ready(actor& a) {
  // Relaxed: whoever destroys the actor meanwhile waits for its wakers, see wait_place.
  if (!std::atomic_ref(a.is_abandoned).load(std::memory_order_relaxed))
    executor_.make_ready(a);
}

void strand::spawn(task<> root, std::string name, void const* family) {
  auto* const a = new spawned_actor(*this, std::move(root), std::move(name), family);
  // cancel() must not know of it before it is in the inbox: from then on nobody here touches it.
  std::unique_lock lock(spawned_mutex_);
  a->list();
  if (executor_.decides()) // one thread, which may have to wait for a report that reads the list
    lock.unlock();
  try {
    executor_.make_ready(*a);
  } catch (...) {                       // there was no room for it, and nobody else knows of it
    QUARRY_ASSERT(executor_.decides()); // others throw nothing: it might run already
    a->leave();
    delete a;
    throw;
  }
}

/// Those that are not done, among them.
template<class Condition>
std::vector<spawned_actor*> strand::spawned(Condition is_meant) {
  std::vector<spawned_actor*> those;
  std::lock_guard const lock(spawned_mutex_);
  for (debug_actor const* a = debug_.actors.first; a != nullptr; a = a->next)
    if (auto* const s = dynamic_cast<spawned_actor*>(a->self); s != nullptr && is_meant(*s))
      those.push_back(s);
  return those;
}

std::vector<spawned_actor*> strand::cancellable(void const* family) {
  return spawned([family](spawned_actor const& a) {
    return a.family == family && a.state != actor_state::running;
  });
}

std::string strand::name_of_one(void const* family) {
  auto const those = cancellable(family);
  return those.empty() ? "" : those.front()->name();
}

std::size_t strand::cancel(void const* family) {
  std::vector<spawned_actor*> const those = cancellable(family);
  letting_go const now(*this);
  // All are told before the first one goes, as in destroy_spawned().
  for (spawned_actor* const a : those)
    executor_.abandon(*a);
  ready_.remove_if([](actor const& a) { return a.is_abandoned; });
  std::erase_if(polling_, [](actor const* a) { return a->is_abandoned; });
  for (spawned_actor* const a : those) {
    a->leave();
    if (a->fiber == nullptr)
      a->destroy_frames();
    cancelled_.push_back(a);
  }
  return those.size();
}

void strand::bury_cancelled() noexcept {
  for (actor* const a : cancelled_)
    destroy(a);
  cancelled_.clear();
}

/// Adds to the inbox. True if the caller must now hand the strand to the executor's queue;
/// otherwise the caller must not touch it again.
bool strand::push(actor& a) noexcept {
  std::uintptr_t seen = inbox_.load(std::memory_order_relaxed);
  std::uintptr_t pushed = 0;
  do {
    a.next = reinterpret_cast<actor*>(seen & ~flags);
    pushed = reinterpret_cast<std::uintptr_t>(&a) | (seen & is_posted_again);
    // Release: pairs with the acquire in take_inbox(). The same exchange tells whether the strand
    // is scheduled: there is no moment between the two in which a wake-up could be lost.
  } while (!inbox_.compare_exchange_weak(seen, pushed, std::memory_order_release,
                                         std::memory_order_relaxed));
  return (seen & is_idle) != 0;
}

/// Makes sure that a turn begins after this call. Returns as push() does.
bool strand::schedule() noexcept {
  std::uintptr_t seen = inbox_.load(std::memory_order_relaxed);
  std::uintptr_t marked = 0;
  do {
    // A turn that is under way may already have looked for what the caller brought: the flag makes
    // its try_to_idle() fail. Release: pairs with the acquires there and in take_inbox().
    marked = (seen & is_idle) != 0 ? 0 : seen | is_posted_again;
  } while (!inbox_.compare_exchange_weak(seen, marked, std::memory_order_release,
                                         std::memory_order_relaxed));
  return (seen & is_idle) != 0;
}

actor* strand::take_inbox() noexcept {
  // Acquire: pairs with the release in push() and schedule(); what the waker wrote before it woke
  // the actor is visible to the actor.
  std::uintptr_t const taken = inbox_.exchange(0, std::memory_order_acquire);
  wants_turn_ = wants_turn_ || (taken & is_posted_again) != 0;
  auto* newest = reinterpret_cast<actor*>(taken & ~flags);
  actor* oldest = nullptr;
  while (newest != nullptr) {
    actor* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

bool strand::try_to_idle() noexcept {
  if (std::exchange(wants_turn_, false))
    return false;
  // One exchange looks and marks: either it sees what push() or schedule() brought, or they see
  // that the strand is idle.
  std::uintptr_t seen = 0;
  if (inbox_.compare_exchange_strong(seen, is_idle, std::memory_order_acq_rel))
    return true;
  // The next turn comes; a post from now on wants another.
  inbox_.fetch_and(~is_posted_again, std::memory_order_acq_rel);
  return false;
}

void strand::after_slice(actor& a) {
  switch (a.state) {
  case actor_state::ready:
    if (has_inbox())
      make_ready_what_came(); // before the one that gives way
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
  std::size_t const count = polling_.size();
  std::erase_if(polling_, [this](actor* a) {
    if (!a->poll(a->poll_argument))
      return false;
    a->state = actor_state::ready;
    ready_.push_back(*a);
    return true;
  });
  return polling_.size() != count;
}

/// What is in the inbox: it runs later, but for what is abandoned.
inline void strand::make_ready_what_came() {
  for (actor* a = take_inbox(); a != nullptr;) {
    actor* const next = a->next;
    if (actor* const runs = a->is_abandoned ? nullptr : a->on_ready(); runs != nullptr)
      run_later(*runs);
    a = next;
  }
}

strand::turn strand::drain() {
  bool progressed = false;
  // Once a turn in any case: actors that yield to each other for ever must not keep a poller out.
  if (!polling_.empty())
    ask_the_polling();
  for (int slice = 0; slice < slices_per_turn; ++slice) {
    if (has_inbox())
      make_ready_what_came();
    if (!cancelled_.empty())
      bury_cancelled();
    if (ready_.is_empty() && (slice == 0 || polling_.empty() || !ask_the_polling()))
      break;
    actor& a = ready_.pop_front();
    a.resume();
    after_slice(a);
    progressed = true;
  }
  return {progressed, has_others() || !try_to_idle()};
}

bool strand::run_others() {
  ask_the_polling();
  bool progressed = false;
  for (int slice = 0; slice < slices_per_turn && !ready_.is_empty(); ++slice) {
    actor& a = ready_.pop_front();
    a.resume();
    after_slice(a);
    progressed = true;
  }
  return progressed;
}

void strand::describe(report& into) const {
  std::lock_guard const lock(spawned_mutex_);
  for (debug_actor const* a = debug_.actors.first; a != nullptr; a = a->next)
    if (dynamic_cast<spawned_actor const*>(a->self) != nullptr)
      into.add(name_, *a->self);
}

} // namespace quarry
