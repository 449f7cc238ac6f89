// SPDX-License-Identifier: Apache-2.0
#include "world_threads.hpp"

#include <quarry/assert.hpp>

#include <fmt/core.h>

#include <utility>

namespace quarry {

void world_thread::begin(std::string&& name, emu::explored_memory::edge begun) {
  std::size_t const others = all_.count_named(name);
  name_ = std::move(name);
  given_length_ = name_.size();
  if (others != 0)
    name_ += fmt::format(" #{}", others + 1);
  begun_ = begun;
  has_begun_ = is_abandoned = false;
  error = nullptr;
  leaf = nullptr;
  next = nullptr;
  number = 0;
  reason.where = {};
  debug_.name = name_.c_str();
  all_.list(debug_);
  is_listed_ = true;
}

void world_thread::start(std::string&& name, plain_body&& body, emu::explored_memory::edge begun) {
  begin(std::move(name), begun);
  plain_.swap(body);
}

void world_thread::start(std::string&& name, task_body&& body, emu::explored_memory::edge begun) {
  begin(std::move(name), begun);
  makes_task_.swap(body);
}

void world_thread::forget() noexcept {
  if (!std::exchange(is_listed_, false))
    return;
  all_.unlist(debug_);
  if (sequential_scheduler::is_left(*this))
    keep_frames();
  if (makes_task_) {
    work_ = task<>();
    makes_task_ = nullptr;
  }
  plain_ = nullptr;
  core_.reset();
  error = nullptr;
}

void world_thread::keep_frames() noexcept {
  sequential_scheduler::keep(*this, std::exchange(work_, task<>()));
}

void world_thread::run() {
  try {
    go_on();
  } catch (...) {
    fail();
  }
  if (state != actor_state::done || is_abandoned)
    return;
  try {
    end();
  } catch (...) { // it has done nothing before, and there is no room for one more that does
    fail();
  }
}

void world_thread::fail() noexcept {
  state = actor_state::done;
  if (is_abandoned || error)
    return;
  error = std::current_exception();
  all_.memory_.thrown().add({.what = error, .who = name_});
}

/// To its next wait, or its end.
void world_thread::go_on() {
  if (!std::exchange(has_begun_, true)) {
    all_.memory_.receive(*this, begun_);
    core_.emplace(emu::memory_context{this, &all_.scheduler_});
    if (plain_) {
      plain_(*core_);
      state = actor_state::done;
      return;
    }
    work_ = makes_task_(*core_);
    work_.start_on(*this);
  }
  resume();
}

void world_thread::end() {
  state = actor_state::running;
  try {
    all_.scheduler_.decision_point(*this); // others may act before its end makes its stores visible
    ended_ = all_.memory_.signal(*this);
  } catch (abandoned const&) {
    ended_ = emu::explored_memory::nothing;
  }
  state = actor_state::done;
}

void world_thread::on_done() noexcept {
  all_.has_ended();
}

world_threads::world_threads(sequential_scheduler& s, emu::explored_memory& m)
    : strand(s, "world"), scheduler_(s), memory_(m) {}

world_threads::~world_threads() {
  end();
  retire();
}

world_thread& world_threads::next() {
  if (used_ == threads_.size())
    threads_.push_back(std::make_unique<world_thread>(*this, *this));
  ++at_work_;
  return *threads_[used_++];
}

std::size_t world_threads::count_named(std::string_view name) const noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < used_; ++i) // the last one is about to have its name
    count += threads_[i]->given_name() == name ? 1 : 0;
  return count;
}

void world_threads::has_ended() noexcept {
  if (--at_work_ != 0)
    return;
  for (actor* const a : joining_)
    make_ready(*a);
  joining_.clear();
}

void world_threads::join(std::source_location where) {
  actor& self = *scheduler_.current();
  if (self.is_abandoned) {
    scheduler_.count_unwinding(self);
    throw abandoned{};
  }
  while (at_work_ != 0) {
    joining_.push_back(&self);
    self.wait_for("join", where); // the other rows say for whom
    self.fiber->suspend();
    if (self.is_abandoned) {
      std::erase(joining_, &self);
      throw abandoned{};
    }
  }
  ends_.clear(); // all of them: two may join, and only one of them be the first
  for (std::size_t i = 0; i < used_; ++i)
    ends_.push_back(threads_[i]->ended());
  memory_.after_join(ends_);
  std::exception_ptr first;
  for (; joined_ < used_ && !(first && threads_[joined_]->error); ++joined_) {
    if (threads_[joined_]->error)
      first = threads_[joined_]->error;
    threads_[joined_]->forget();
  }
  if (!first)
    return;
  memory_.has_heard(first);
  std::rethrow_exception(first);
}

void world_threads::need_joined() {
  for (std::size_t i = joined_; i < used_; ++i) {
    world_thread const& t = *threads_[i];
    if (t.error)
      std::rethrow_exception(t.error);
    if (t.state != actor_state::done)
      return memory_.found(
          {"misuse", "world::join",
           fmt::format("misuse: the world function has returned without join(): {} has not ended",
                       t.name())});
  }
}

void world_threads::end() {
  letting_go const now(*this); // with the children that have been started beside them
  joining_.clear();
  for (std::size_t i = 0; i < used_; ++i)
    if (threads_[i]->state != actor_state::done && !threads_[i]->is_abandoned)
      scheduler_.abandon(*threads_[i]);
  for (std::size_t i = 0; i < used_; ++i)
    threads_[i]->forget();
  destroy_spawned();
  used_ = joined_ = at_work_ = 0;
}

void world_threads::leave() noexcept {
  for (std::size_t i = 0; i < used_; ++i)
    if (world_thread& t = *threads_[i]; t.state != actor_state::done) {
      scheduler_.leave(t);
      t.keep_frames();
    }
  for (actor* const child : keep_spawned())
    scheduler_.leave(*child);
  end();
}

void world_threads::describe(report& into) const {
  for (std::size_t i = 0; i < used_; ++i)
    if (threads_[i]->state != actor_state::done)
      into.add(threads_[i]->name(), *threads_[i]);
  strand::describe(into); // their children
}

} // namespace quarry
