// SPDX-License-Identifier: Apache-2.0
#include <quarry/misuse.hpp>
#include <quarry/nursery.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/this_actor.hpp>

#include <fmt/core.h>

#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace quarry {

struct nursery::state {
  using edge = executor_attachment::edge;

  wait_queue queue; ///< those in join(); its lock guards the rest
  std::size_t at_work = 0;
  std::exception_ptr error;   ///< the first
  strand* joins_on = nullptr; ///< where somebody has waited in join()
  std::vector<edge> ends;     ///< what children have done that were not joined yet
  bool is_dead = false;       ///< the nursery is gone
  bool gave_up = false;       ///< wait() has thrown the report of a stall

  /// A child has come to its end, as the actor `self`.
  void finish(actor& self, std::exception_ptr thrown, edge end) {
    wait_place* released = nullptr;
    {
      std::lock_guard const guard(queue);
      if (is_dead && !gave_up)
        misuse(fmt::format("the nursery of \"{}\" died before it was joined", self.name()));
      if (thrown && !error)
        error = std::move(thrown);
      if (end != executor_attachment::nothing)
        ends.push_back(end);
      if (--at_work == 0)
        released = queue.take_all();
    }
    wait_queue::wake(released);
  }

  bool is_over() noexcept {
    std::lock_guard const guard(queue);
    return at_work == 0;
  }

  /// By who has waited for it, and runs on `e`.
  void end_join(executor& e) {
    std::exception_ptr first;
    std::vector<edge> joined;
    {
      std::lock_guard const guard(queue);
      first = std::exchange(error, nullptr);
      joined.swap(ends);
    }
    if (auto* const memory = e.attachment(); memory != nullptr && !joined.empty())
      memory->after_join(joined);
    if (first)
      std::rethrow_exception(first);
  }
};

nursery::nursery() : state_(std::make_shared<state>()) {}

nursery::~nursery() {
  strand* with_us = nullptr;
  {
    std::lock_guard const guard(state_->queue);
    state_->is_dead = true;
    if (state_->at_work != 0)
      with_us = state_->joins_on;
  }
  if (with_us != nullptr)
    with_us->cancel(state_.get());
}

task<> nursery::run(std::shared_ptr<state> shared, task<> child, state::edge begun) {
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
    } catch (abandoned const&) { // so it is
    }
  if (self.is_abandoned) // nobody joins any more
    co_return;
  if (error)
    self.before_taking(); // the first one counts
  shared->finish(self, std::move(error), end);
  runs_us.notify(); // a host thread in wait() may sleep
}

void nursery::start(strand& s, task<> child, std::string name) {
  {
    std::lock_guard const guard(state_->queue);
    ++state_->at_work;
  }
  auto* const memory = s.owner().attachment();
  auto const begun = memory == nullptr ? executor_attachment::nothing : memory->before_start(s);
  s.spawn(run(state_, std::move(child), begun), std::move(name), state_.get());
}

void nursery::wait(executor& children_run_on, std::source_location where) {
  if (!children_run_on.run_until([this] { return state_->is_over(); },
                                 executor::wait_site{"nursery", where})) {
    std::string const table = children_run_on.report_now().to_string();
    std::lock_guard const guard(state_->queue);
    state_->gave_up = true;
    throw stall_error(
        fmt::format("nursery: {} children do not come to an end\n{}", state_->at_work, table));
  }
  state_->end_join(children_run_on);
}

bool nursery::joining::enlist(actor& self) noexcept {
  executor_ = &self.home->owner();
  // Look and push under one lock: the last child's end comes before both or after both.
  std::lock_guard const guard(nursery_.state_->queue);
  if (nursery_.state_->at_work == 0)
    return false;
  nursery_.state_->joins_on = self.home;
  self.wait_for("nursery", where_, &nursery_);
  nursery_.state_->queue.push(place_, self);
  return true;
}

void nursery::joining::await_resume() const {
  nursery_.state_->end_join(*executor_);
}

} // namespace quarry
