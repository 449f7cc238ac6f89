// SPDX-License-Identifier: Apache-2.0
#include "left_strands.hpp"
#include "sequential_driving.hpp"

#include <quarry/assert.hpp>
#include <quarry/misuse.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <fmt/core.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace quarry {

static_assert(scheduler<sequential_scheduler>);

sequential_scheduler::sequential_scheduler() : sequential_scheduler(options{}) {}
sequential_scheduler::sequential_scheduler(options const& o)
    : options_(o), random_(o.seed.value_or(0)) {
  debug_entry().kind = name;
  debug_entry().current = &current_;
  debug_entry().decisions = &decisions_;
}
sequential_scheduler::~sequential_scheduler() {
  if (options_.choices == nullptr) // explored executions leave some behind, in frames kept for good
    need_no_strands(debug_entry());
}

void sequential_scheduler::begin(chooser& choices) {
  QUARRY_ASSERT(current_ == nullptr && waiting_in_run_until_.empty());
  ++debug_entry().executions;
  options_.choices = &choices;
  tells_effects_ = choices.wants_effects();
  ready_.clear();
  numbers_.resize(1);
  polling_.clear();
  nobody_can_go_on_ = is_at_decision_ = false;
  next_ = nullptr;
  actor_count_ = 0;
  set_decisions(0);
  trace_hash_ = 0xcbf29ce484222325;
}

void sequential_scheduler::make_ready(actor& a) {
  if (a.is_abandoned)
    return;
  if (current_ == nullptr && !is_driven_here()) {
    driving const thread(*this); // against reports, when the host wakes or spawns between two runs
    take_up(a);
  } else {
    take_up(a);
  }
}

void sequential_scheduler::take_up(actor& a) {
  actor* const runs = a.on_ready();
  if (tells_effects_ && current_ != nullptr) [[unlikely]]
    options_.choices->on_effect(current_->number, {.is_any = true});
  if (runs == nullptr)
    return;
  runs->state = actor_state::ready;
  if (runs->number == 0)
    runs->number = ++actor_count_;
  if (runs != current_) // run_slice() does so for the one that runs, whose slice is not over
    offer(*runs);
}

void sequential_scheduler::offer(actor& a) {
  numbers_.push_back(a.number);
  try {
    ready_.push_back(&a);
  } catch (...) { // it stays as it was
    numbers_.pop_back();
    throw;
  }
}

void sequential_scheduler::withdraw(std::size_t index) {
  auto const at = static_cast<std::ptrdiff_t>(index);
  ready_.erase(ready_.begin() + at);
  numbers_.erase(numbers_.begin() + at + 1);
}

void sequential_scheduler::withdraw(actor const& a) {
  for (std::size_t i = ready_.size(); i-- != 0;)
    if (ready_[i] == &a)
      withdraw(i);
}

bool sequential_scheduler::pause_for_report() {
  if (is_driven_here())
    return true; // an actor, or its host, asks: nobody else runs
  is_report_wanted_.store(true, std::memory_order_relaxed);
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (is_held_.exchange(true, std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() > end) {
      is_report_wanted_.store(false, std::memory_order_relaxed);
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

void sequential_scheduler::go_on_after_report() {
  if (is_driven_here())
    return;
  is_held_.store(false, std::memory_order_release);
  is_report_wanted_.store(false, std::memory_order_relaxed);
}

std::size_t sequential_scheduler::draw(std::size_t count) {
  std::size_t const drawn = options_.seed ? random_() % count : 0;
  trace_hash_ = (trace_hash_ ^ (drawn * 64 + count)) * 0x100000001b3;
  return drawn;
}

unsigned sequential_scheduler::pick(unsigned n, choice_kind kind) {
  return options_.choices == nullptr ? static_cast<unsigned>(draw(n))
                                     : options_.choices->pick(n, kind);
}

/// Among those that are ready, of whom there is one.
actor& sequential_scheduler::choose_next() {
  std::size_t chosen = 0;
  if (options_.choices == nullptr || ready_.size() != 1) {
    if (debugger_asks()) [[unlikely]]
      debug_decision(debug_entry(), nullptr, decisions_ + 1);
    set_decisions(decisions_ + 1);
    chosen = options_.choices == nullptr
                 ? draw(ready_.size())
                 : options_.choices->pick_actor(std::span(numbers_).subspan(1));
  }
  actor& a = *ready_[chosen];
  if (tells_effects_ && ready_.size() == 1) [[unlikely]]
    options_.choices->on_only(a.number);
  withdraw(chosen);
  return a;
}

bool sequential_scheduler::ask_each_polling() {
  std::size_t const count = polling_.size();
  for (std::size_t i = 0; i < polling_.size();) {
    actor& a = *polling_[i];
    if (!ask(a)) { // what it throws leaves the list as it is
      ++i;
      continue;
    }
    polling_.erase(polling_.begin() + static_cast<std::ptrdiff_t>(i));
    make_ready(a);
  }
  return polling_.size() != count;
}

/// On behalf of an actor that waits.
inline bool sequential_scheduler::ask(actor& a) {
  struct asking {
    explicit asking(bool& f) noexcept : is_under_way(f) { is_under_way = true; }
    asking(asking const&) = delete;
    ~asking() { is_under_way = false; }
    bool& is_under_way;
  } const now(is_asking_);
  return a.poll(a.poll_argument);
}

void sequential_scheduler::run_actor(void* a) {
  static_cast<actor*>(a)->run();
}

void sequential_scheduler::begin_slice(actor& a) {
  if (a.fiber == nullptr) {
    a.fiber = &fibers_.take();
    a.fiber->start(&run_actor, &a);
  }
  a.state = actor_state::running;
  current_ = &a;
}

/// Runs one actor to its next decision point, wait or end; and those to whom it hands over there.
void sequential_scheduler::run_slice(actor& first) {
  actor* const before = current_;
  begin_slice(first);
  static_cast<void>(first.fiber->resume());
  actor& a = *std::exchange(current_, before);
  bool const has_yielded = !std::exchange(is_at_decision_, false);
  if (has_yielded && debugger_asks()) [[unlikely]]
    debug_slice_end(debug_entry(), a, decisions_ + 1);
  if (a.state == actor_state::ready) { // it has come to a decision point, or yielded
    offer(a);
    if (has_yielded && options_.choices != nullptr)
      options_.choices->on_yield(a.number);
  }
  if (has_yielded && ready_.size() == 1 && options_.choices != nullptr &&
      (a.state == actor_state::ready || a.state == actor_state::waiting))
    count_lone_slice();
  if (a.state == actor_state::polling)
    polling_.push_back(&a);
  if (a.fiber->is_idle()) // suspended at a co_await, or done
    fibers_.give_back(*std::exchange(a.fiber, nullptr));
  if (a.state == actor_state::done)
    a.on_done();
}

/// Whoever goes on without an alternative, and without an operation, may do so for ever: by
/// yielding, or in turns with somebody whom it wakes.
void sequential_scheduler::count_lone_slice() {
  if (is_out_of_decisions())
    return;
  if (debugger_asks()) [[unlikely]]
    debug_decision(debug_entry(), nullptr, decisions_ + 1);
  set_decisions(decisions_ + 1);
  tell_alone();
}

sequential_scheduler::step_result sequential_scheduler::step() {
  if (is_out_of_decisions())
    return step_result::nobody;
  if (actor* const a = std::exchange(next_, nullptr)) {
    withdraw(*a);
    run_slice(*a);
    return step_result::ran;
  }
  ask_the_polling();
  while (ready_.empty()) {
    if (!options_.when_nobody_can || !options_.when_nobody_can())
      return step_result::nobody;
    ask_the_polling();
  }
  run_slice(choose_next());
  return step_result::ran;
}

/// Tells the actor that entered run_until() last that it waits in vain.
bool sequential_scheduler::wake_a_waiter() {
  if (waiting_in_run_until_.empty() || decisions_ >= options_.most_decisions)
    return false;
  nobody_can_go_on_ = true;
  actor& a = *waiting_in_run_until_.back();
  std::erase(polling_, &a);
  run_slice(a);
  return true;
}

/// An actor waits; whoever drives the scheduler goes on.
bool sequential_scheduler::wait_until(actor& self, bool (*is_over)(void*), void* argument,
                                      wait_site const& site) {
  if (self.is_abandoned) [[unlikely]]
    count_unwinding(self);
  struct waiting {
    waiting(std::vector<actor*>& l, actor& a) : list(l), who(a) { list.push_back(&who); }
    waiting(waiting const&) = delete;
    ~waiting() { std::erase(list, &who); } // also by what is_over() throws
    std::vector<actor*>& list;
    actor& who;
  } const now(waiting_in_run_until_, self);
  struct question {
    bool (*is_over)(void*);
    void* argument;
  } asked{is_over, argument};
  // What it throws where another actor runs, it throws once more where this one does.
  auto const poll = [](void* q) noexcept {
    try {
      return static_cast<question*>(q)->is_over(static_cast<question*>(q)->argument);
    } catch (...) {
      return true;
    }
  };
  // Asked once a time: the question may be a decision point, and the answer another one behind it.
  bool over = is_over(argument);
  while (!over && !nobody_can_go_on_ && !self.is_abandoned) {
    self.poll_for(site.what, site.where, nullptr, poll, &asked);
    self.fiber->suspend();
    over = is_over(argument);
  }
  nobody_can_go_on_ = false; // taken note of: what the actor does next may wait again
  return over;
}

void sequential_scheduler::need_own_thread(std::string_view what,
                                           std::source_location where) const {
  if (driving::is_elsewhere(*this))
    throw std::logic_error(
        fmt::format("{} at {} in a thread that runs none of the actors: a thread of one's own can "
                    "start and launch nothing, nor wait",
                    what, to_string(where)));
}

bool sequential_scheduler::run_until(bool (*is_over)(void*), void* argument,
                                     wait_site const& site) {
  if (is_asking_)
    misuse("a predicate of run_until() waits itself, asked on behalf of an actor that waits");
  if (options_.choices != nullptr)
    need_own_thread(site.what, site.where);
  if (current_ != nullptr)
    return wait_until(*current_, is_over, argument, site);
  driving thread(*this);
  while (!is_over(argument)) {
    if (step() == step_result::nobody && !wake_a_waiter())
      return is_over(argument);
    thread.let_a_report_pass();
  }
  return true;
}

void sequential_scheduler::tell_all(actor& self) noexcept {
  if (tells_effects_ && current_ == &self) [[unlikely]]
    options_.choices->on_effect(self.number, {.is_any = true});
}

/// Nobody else has anything to do between the slice of who is at a decision point and the next one,
/// which has a stack: where there is none, that is no error of who is about to be left.
inline bool sequential_scheduler::may_hand_over() const noexcept {
  return hands_over_ && next_ != nullptr && !is_out_of_decisions() &&
         !is_report_wanted_.load(std::memory_order_relaxed) &&
         (next_->fiber != nullptr || fibers_.has_idle());
}

/// To the next one: what run_slice() and step() would do, without going back to them.
inline void sequential_scheduler::hand_over(actor& self) {
  actor& next = *std::exchange(next_, nullptr);
  withdraw(next);
  offer(self);
  begin_slice(next);
  self.fiber->switch_to(*next.fiber);
}

void sequential_scheduler::decision_point(actor& self) {
  if (!is_driven_here() || self.is_abandoned || current_ != &self) [[unlikely]]
    return out_of_turn(self);
  if (debugger_asks()) [[unlikely]]
    debug_decision(debug_entry(), &self, decisions_ + 1);
  if (options_.choices != nullptr && !is_out_of_decisions()) {
    set_decisions(decisions_ + 1);
    ask_the_polling();
    if (ready_.empty())
      return tell_alone();
    numbers_.front() = self.number;
    unsigned const chosen = options_.choices->pick_actor(numbers_);
    if (chosen == 0)
      return;
    next_ = ready_[chosen - 1];
  }
  self.state = actor_state::ready;
  if (may_hand_over()) {
    hand_over(self);
  } else {
    is_at_decision_ = true;
    self.fiber->suspend();
  }
  if (self.is_abandoned)
    throw abandoned{};
}

void sequential_scheduler::out_of_turn(actor& self) {
  if (driving::is_elsewhere(*this))
    throw std::logic_error(fmt::format("an operation of {} in a thread that runs none of the "
                                       "actors: a thread of one's own has no core",
                                       self.name()));
  if (self.is_abandoned) {
    if (has_not_thrown_ == &self && std::uncaught_exceptions() == 0) {
      has_not_thrown_ = nullptr;
      throw abandoned{};
    }
    return count_unwinding(self);
  }
  if (is_in_predicate_)
    throw std::logic_error(
        fmt::format("an operation of {} within a predicate of wait_until(): that "
                    "is a function of the value alone",
                    self.name()));
  if (current_ != nullptr && !is_asking_) // outside of all turns are hosts before they wait
    throw std::logic_error(fmt::format("an operation of {} in a turn of {}: each actor has a core "
                                       "of its own, which only its own function uses",
                                       self.name(), current_->name()));
}

} // namespace quarry
