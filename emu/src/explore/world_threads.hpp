// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explored_memory.hpp"

#include <quarry/emu/explore.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry {

class world_threads;

/// A host thread that a world has started: a plain function, or a task.
class world_thread final : public actor {
public:
  using plain_body = std::function<void(world_core&)>;
  using task_body = std::function<task<>(world_core&)>;

  world_thread(world_threads& of, strand& place) noexcept : all_(of) { home = &place; }
  void start(std::string&& name, plain_body&& body, emu::explored_memory::edge begun);
  void start(std::string&& name, task_body&& body, emu::explored_memory::edge begun);
  /// What it did comes before whoever receives this. After its end, by an exception too.
  [[nodiscard]] emu::explored_memory::edge ended() const noexcept { return ended_; }
  /// Its functions and frames go.
  void forget() noexcept;
  /// The same, but its frames are kept for good, as they are.
  void keep_frames() noexcept;

  [[nodiscard]] std::string name() const override { return name_; }
  /// As it was given: others may have the same.
  [[nodiscard]] std::string_view given_name() const noexcept {
    return std::string_view(name_).substr(0, given_length_);
  }
  void run() override;
  void on_done() noexcept override;

private:
  void begin(std::string&& name, emu::explored_memory::edge begun);
  void go_on();
  void end();
  void fail() noexcept; ///< by the exception that is handled

  world_threads& all_;
  std::string name_;
  std::size_t given_length_ = 0; ///< of it; then comes what tells it from others
  plain_body plain_;
  task_body makes_task_;
  task<> work_;
  std::optional<world_core> core_;
  emu::explored_memory::edge begun_{};
  emu::explored_memory::edge ended_{};
  bool has_begun_ = false;
  bool is_listed_ = false;
  debug_actor debug_{.self = this};
};

/// The threads of a world. Kept from execution to execution: to make an actor costs as much as a
/// short execution.
class world_threads final : public strand {
public:
  world_threads(sequential_scheduler& s, emu::explored_memory& m);
  ~world_threads() override;

  template<class Body>
  void start(std::string&& name, Body&& body);
  /// Parks the actor that runs until all have ended; rethrows what the first of them threw that
  /// nobody has heard of. What the others threw is for the next one who joins.
  void join(std::source_location where);
  /// The world function has returned: it is a misuse if somebody whom it has started has not ended.
  /// Rethrows what nobody has heard of.
  void need_joined();
  /// The execution is over: those that have not ended are unwound.
  void end();
  /// The same, where the world's own frame has gone: to unwind those that have not ended would be
  /// to use what they share with it. They stand where they are, for good.
  void leave() noexcept;

  void describe(report& into) const override;

private:
  friend class world_thread;
  world_thread& next();
  /// Of those of this execution, so far.
  [[nodiscard]] std::size_t count_named(std::string_view name) const noexcept;
  void has_ended() noexcept;

  sequential_scheduler& scheduler_;
  emu::explored_memory& memory_;
  std::vector<std::unique_ptr<world_thread>> threads_;
  std::size_t used_ = 0;    ///< of them, in this execution
  std::size_t joined_ = 0;  ///< of those
  std::size_t at_work_ = 0; ///< have not ended
  std::vector<actor*> joining_;
  std::vector<emu::explored_memory::edge> ends_; ///< for whoever joins
};

template<class Body>
void world_threads::start(std::string&& name, Body&& body) {
  auto const begun = memory_.starting(*scheduler_.current());
  world_thread& t = next();
  t.start(std::move(name), std::forward<Body>(body), begun);
  make_ready(t);
}

} // namespace quarry
