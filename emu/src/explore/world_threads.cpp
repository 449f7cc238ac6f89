// SPDX-License-Identifier: Apache-2.0
#include "world_threads.hpp"

#include <quarry/assert.hpp>

#include <fmt/core.h>

#include <utility>

namespace quarry {

void world_thread::begin(std::string&& name, emu::explored_memory::edge begun) {
  name_ = std::move(name);
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
    if (!std::exchange(has_begun_, true)) {
      all_.memory_.receive(*this, begun_);
      core_.emplace(emu::memory_context{this, &all_.scheduler_});
      if (plain_) {
        plain_(*core_);
        end();
        return;
      }
      work_ = makes_task_(*core_);
      work_.start_on(*this);
    }
    resume();
    if (state == actor_state::done && !error)
      end();
  } catch (...) {
    if (!is_abandoned)
      error = std::current_exception();
    state = actor_state::done;
  }
}

void world_thread::end() {
  if (!is_abandoned) {
    state = actor_state::running;
    all_.scheduler_.decision_point(*this); // others may act before its end makes its stores visible
    ended_ = all_.memory_.signal(*this);
  }
  state = actor_state::done;
}

void world_thread::on_done() noexcept {
  all_.has_ended(*this);
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

void world_threads::has_ended(world_thread const& t) noexcept {
  if (t.error && !t.is_abandoned && !thrown_first_.what && !memory_.first_finding()) [[unlikely]]
    thrown_first_ = {t.error, t.name()};
  if (--at_work_ == 0 && joining_ != nullptr)
    make_ready(*std::exchange(joining_, nullptr));
}

void world_threads::join(std::source_location where) {
  actor& self = *scheduler_.current();
  if (self.is_abandoned) {
    scheduler_.count_unwinding(self);
    throw abandoned{};
  }
  while (at_work_ != 0) {
    QUARRY_ASSERT(joining_ == nullptr);
    joining_ = &self;
    self.wait_for("join", where); // the other rows say for whom
    self.fiber->suspend();
    if (self.is_abandoned)
      throw abandoned{};
  }
  std::exception_ptr first;
  for (; joined_ < used_; ++joined_) {
    world_thread& t = *threads_[joined_];
    if (t.error && !first) {
      first = t.error;
      thrown_ = {first, t.name(), true};
    } else if (!t.error) {
      memory_.receive(self, t.ended());
    }
    t.forget();
  }
  if (first)
    std::rethrow_exception(first);
}

void world_threads::need_joined() {
  for (std::size_t i = joined_; i < used_; ++i) {
    world_thread const& t = *threads_[i];
    if (t.state != actor_state::done || t.error)
      return memory_.found(
          {"misuse", "world::join",
           fmt::format("misuse: the world function has returned without join(): {} {}", t.name(),
                       t.error ? "has thrown" : "has not ended")});
  }
}

void world_threads::end() {
  joining_ = nullptr;
  for (std::size_t i = used_; i-- != joined_;)
    if (threads_[i]->error)
      thrown_ = {threads_[i]->error, threads_[i]->name()};
  for (std::size_t i = 0; i < used_; ++i)
    if (threads_[i]->state != actor_state::done && !threads_[i]->is_abandoned)
      scheduler_.abandon(*threads_[i]);
  for (std::size_t i = 0; i < used_; ++i)
    threads_[i]->forget();
  used_ = joined_ = at_work_ = 0;
}

void world_threads::leave() noexcept {
  for (std::size_t i = 0; i < used_; ++i)
    if (world_thread& t = *threads_[i]; t.state != actor_state::done) {
      scheduler_.leave(t);
      t.keep_frames();
    }
  end();
}

void world_threads::describe(report& into) const {
  for (std::size_t i = 0; i < used_; ++i)
    if (threads_[i]->state != actor_state::done)
      into.add(threads_[i]->name(), *threads_[i]);
}

} // namespace quarry
