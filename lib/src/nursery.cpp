// SPDX-License-Identifier: Apache-2.0
#include "turn_exceptions.hpp"

#include <quarry/misuse.hpp>
#include <quarry/nursery.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/what_was_thrown.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quarry {

struct nursery::state {
  using edge = executor_attachment::edge;
  struct place {
    strand* at;
    std::size_t frames; ///< of children that are there
  };

  wait_queue queue; ///< those in join(); its lock guards the rest
  std::size_t at_work = 0;
  std::exception_ptr error;  ///< the first that nobody has heard of
  std::string thrower;       ///< of that
  std::vector<place> places; ///< where children have run
  std::unordered_map<strand*, std::size_t> place_numbers;
  std::size_t recent = 0;  ///< the one that was looked for last
  std::vector<edge> ends;  ///< what children have done, for everybody who joins them
  std::uint64_t epoch = 0; ///< of those
  bool is_dead = false;    ///< the nursery is gone
  bool gave_up = false;    ///< wait() has thrown the report of a stall

  /// A child has come to its end, as the actor `self`.
  void finish(actor& self, std::exception_ptr thrown, edge end) {
    wait_place* released = nullptr;
    {
      std::lock_guard const guard(queue);
      auto* const memory = self.home->owner().attachment();
      if (is_dead && !gave_up) {
        if (std::string const what = died_early(self.name());
            memory == nullptr || !memory->takes_note_of_misuse(what))
          misuse(what);
        return;
      }
      if (thrown && !error) {
        error = std::move(thrown);
        thrower = self.name();
        if (memory != nullptr)
          memory->has_thrown(self, error);
      }
      if (end != executor_attachment::nothing)
        keep_end(end, memory->epoch());
      released = one_less();
    }
    wait_queue::wake(released);
  }

  static std::string died_early(std::string_view child) {
    return fmt::format("the nursery of \"{}\" died before it was joined", child);
  }

  /// Under the lock: whom to wake.
  wait_place* one_less() noexcept { return --at_work == 0 ? queue.take_all() : nullptr; }

  void keep_end(edge end, std::uint64_t now) {
    if (std::exchange(epoch, now) != now)
      ends.clear(); // of another execution
    ends.push_back(end);
  }

  /// For who waits for the others in vain: "; child threw: no such file".
  std::string who_threw() const {
    return error ? fmt::format("; {} {}", thrower, what_was_thrown(error)) : std::string();
  }

  bool is_over() noexcept {
    std::lock_guard const guard(queue);
    return at_work == 0;
  }

  /// By who has waited for it, and runs on `e`.
  void end_join(executor& e) {
    std::exception_ptr first;
    auto* const memory = e.attachment();
    {
      std::lock_guard const guard(queue);
      first = std::exchange(error, nullptr);
    }
    if (memory != nullptr && !ends.empty() && epoch == memory->epoch()) // then all is one thread
      memory->after_join(ends);
    if (!first)
      return;
    if (memory != nullptr)
      memory->has_heard(first);
    std::rethrow_exception(first);
  }

  /// Where children are.
  std::vector<strand*> places_in_use() const {
    std::vector<strand*> all;
    for (place const& p : places) // while there are frames, there is their strand
      if (p.frames != 0)
        all.push_back(p.at);
    return all;
  }

  /// Whether children go with their parent that are on the strand of one that is destroyed where it
  /// stands, or that an exception leaves; anywhere, where somebody takes note of that.
  bool go_with_parent(strand& s, bool is_thrown) const {
    return s.is_let_go_of_here() || (is_thrown && s.owner().turn() == &s) || is_told_of(s);
  }

  bool is_told_of(strand& s) const {
    auto* const memory = s.owner().attachment();
    if (memory == nullptr)
      return false;
    std::string const child = s.name_of_one(this);
    return gave_up || child.empty() || memory->takes_note_of_misuse(died_early(child));
  }

  std::size_t place_of(strand& s) {
    if (recent < places.size() && places[recent].at == &s)
      return recent;
    if (auto const at = place_numbers.find(&s); at != place_numbers.end())
      return recent = at->second;
    places.push_back({&s, 0});
    return recent = place_numbers.emplace(&s, places.size() - 1).first->second;
  }
};

/// What a child's frame holds of its nursery.
class nursery::link {
public:
  /// Under its lock.
  link(std::shared_ptr<state> s, strand& at) : state_(std::move(s)), place_(state_->place_of(at)) {
    ++state_->places[place_].frames;
  }
  link(link&& from) noexcept = default;
  link& operator=(link&&) = delete;
  ~link() {
    if (state_ == nullptr) // moved from
      return;
    std::lock_guard const guard(state_->queue);
    --state_->places[place_].frames;
  }
  state* operator->() const noexcept { return state_.get(); }

private:
  std::shared_ptr<state> state_; ///< a child may be told to go on by the nursery's death
  std::size_t place_;
};

nursery::nursery() : state_(std::make_shared<state>()), thrown_before_(exceptions_on_their_way()) {}

nursery::~nursery() {
  bool const is_thrown = exceptions_on_their_way() > thrown_before_;
  std::vector<strand*> those;
  {
    std::lock_guard const guard(state_->queue);
    state_->is_dead = true;
    if (state_->at_work != 0)
      those = state_->places_in_use();
  }
  std::erase_if(those, [&](strand* s) { return !state_->go_with_parent(*s, is_thrown); });
  for (strand* const s : those)
    s->cancel(state_.get());
}

task<> nursery::run(link parent, task<> child, state::edge begun) {
  actor& self = co_await this_actor();
  executor& runs_us = self.home->owner();
  std::exception_ptr error;
  try {
    if (begun != executor_attachment::nothing)
      runs_us.attachment()->after_start(begun);
    co_await std::move(child);
  } catch (...) {
    error = std::current_exception();
  }
  child = task<>();
  state::edge end = executor_attachment::nothing;
  if (auto* const memory = runs_us.attachment(); memory != nullptr && !self.is_abandoned)
    try {
      end = memory->at_end();
    } catch (abandoned const&) {
      co_return; // nobody joins any more
    }
  if (self.is_abandoned) // nobody joins any more
    co_return;
  if (error)
    self.tell_all_of_it();
  parent->finish(self, std::move(error), end);
  runs_us.notify(); // a host thread in wait() may sleep
}

void nursery::start(strand& s, task<> child, std::string name) {
  auto* const memory = s.owner().attachment();
  auto const begun = memory == nullptr ? executor_attachment::nothing : memory->before_start(s);
  std::unique_lock guard(state_->queue);
  link parent(state_, s);
  ++state_->at_work;
  guard.unlock();
  try {
    s.spawn(run(std::move(parent), std::move(child), begun), std::move(name), state_.get());
  } catch (...) { // there is no such child
    guard.lock();
    wait_place* const released = state_->one_less();
    guard.unlock();
    wait_queue::wake(released);
    throw;
  }
}

void nursery::wait(executor& children_run_on, std::source_location where) {
  if (!children_run_on.run_until([this] { return state_->is_over(); },
                                 executor::wait_site{"nursery", where})) {
    std::string const table = children_run_on.report_now().to_string();
    std::lock_guard const guard(state_->queue);
    state_->gave_up = true;
    throw stall_error(fmt::format("nursery: {} children do not come to an end{}\n{}",
                                  state_->at_work, state_->who_threw(), table));
  }
  state_->end_join(children_run_on);
}

bool nursery::joining::enlist(actor& self) noexcept {
  executor_ = &self.home->owner();
  // Look and push under one lock: the last child's end comes before both or after both.
  std::lock_guard const guard(nursery_.state_->queue);
  if (nursery_.state_->at_work == 0)
    return false;
  self.wait_for("nursery", where_, &nursery_);
  nursery_.state_->queue.push(place_, self);
  return true;
}

void nursery::joining::await_resume() const {
  nursery_.state_->end_join(*executor_);
}

} // namespace quarry
