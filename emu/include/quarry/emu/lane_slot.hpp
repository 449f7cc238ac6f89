// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/spin_watch.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/fiber.hpp>
#include <quarry/task.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

namespace quarry::emu {

class item_lanes;

/// What runs for a kernel's function that has given no coroutine.
task<> over_already();

/// Something that lanes of an item kernel do together, as their wavefront: a collective, a network
/// operation. Lanes that wait at the same source line are served in one call.
struct lane_request {
  /// Does it for the lanes `who`, whose requests are item_lanes::request(lane).
  task<> (*serve)(wave_slot& wave, item_lanes& lanes, lane_mask who) = nullptr;
  char const* what = "";
  std::source_location where{};
  /// Served only when every work-item of the wavefront waits at it: a barrier, a converged
  /// collective.
  bool needs_all = false;
  /// What the wavefront meets others in when it is served; null: in nothing, or not in one meeting.
  meeting_kind const* kind = nullptr;
};

/// One work-item of an item kernel: a coroutine, or a function on a fiber.
class lane_slot final : public actor {
public:
  [[nodiscard]] std::string name() const override;
  void on_done() noexcept override {}
  [[nodiscard]] actor* on_ready() noexcept override;

  item_lanes* lanes = nullptr;
  int lane = 0;
  lane_request* request = nullptr;      ///< what it waits at, if it is a request
  task<> root;                          ///< of an item coroutine
  execution_fiber* own_fiber = nullptr; ///< of a plain item function that has blocked
  spin_watch spin;                      ///< of a plain item function
  explored_spin explored;               ///< the same where an exploration decides
};

/// The lanes of one wavefront of an item kernel, and which of them may run.
///
/// Between two suspensions of the wavefront they run one after the other, each to its next wait: in
/// ascending order, unless an exploration has them come down.
class item_lanes {
public:
  explicit item_lanes(wave_slot& wave);
  item_lanes(item_lanes const&) = delete;
  item_lanes& operator=(item_lanes const&) = delete;
  /// Unwinds plain functions that are still suspended.
  ~item_lanes();

  [[nodiscard]] lane_slot& operator[](int lane) noexcept {
    return slots_[static_cast<std::size_t>(lane)];
  }
  [[nodiscard]] lane_request& request(int lane) noexcept { return *(*this)[lane].request; }
  [[nodiscard]] wave_slot& wave() noexcept { return wave_; }
  [[nodiscard]] lane_mask live() const noexcept { return live_; }

  /// What an item coroutine's lane runs. One that is empty, of a function that has given no
  /// coroutine, is over at once.
  void start(int lane, task<> root) {
    lane_slot& s = (*this)[lane];
    s.root = root ? std::move(root) : over_already();
    s.root.start_on(s);
  }
  /// Runs the ready lanes, each to its next wait or its end. Throws what a lane threw.
  void run_ready();
  /// Asks the polling lanes; true if one of them may go on.
  bool ask_the_polling();
  /// The lanes to serve next, once every live lane has come to a request: those at the first source
  /// line that can be served. None while a lane polls or waits by itself. Throws kernel_stop
  /// barrier_divergence if lanes wait for lanes that have ended.
  [[nodiscard]] lane_mask next_served();
  void release(lane_mask served) noexcept;
  /// What the wavefront waits for when all its lanes do: the reason of the first that has its own.
  [[nodiscard]] wait_reason const& reason();
  /// For reports: where lanes wait otherwise than for `shown`, which the wavefront's own row says:
  /// "62 lanes at elect_leader at a.cpp:6". Empty if none does.
  [[nodiscard]] std::string others_than(wait_reason const& shown) const;
  /// A lane was made ready from outside.
  void woken(int lane) noexcept { ready_.set(lane); }
  /// True if some lane may go on: what the wavefront polls while all its lanes wait.
  static bool may_go_on(void* lanes);

  // Plain item functions

  /// Runs `call(context, lane)` for every lane on pooled fibers, the next lanes on a fresh one when
  /// a lane blocks.
  void start_plain(void (*call)(void const*, item_lanes&, int), void const* context);
  /// Blocks the calling plain function: its lane's state says what it waits for.
  void block(lane_slot& lane);
  /// Tells the lane's watch of the calling plain function's access, and does what it advises. Gives
  /// spin_watch::next().
  std::uint32_t watch_for_spin(lane_slot& lane, spin_watch::word seen, std::source_location where);

private:
  friend struct debug_layout_access;
  void runs(int lane) noexcept;
  [[nodiscard]] static bool goes_on(lane_slot& s) noexcept;
  void after_slice(int lane);
  [[nodiscard]] int next_of(lane_mask lanes) const noexcept;
  void run_plain_lanes();
  void resume_plain(lane_slot& lane);
  static void plain_loop(void* lanes);
  [[noreturn]] void ended_too_early(lane_mask waiting);

  wave_slot& wave_;
  lane_mask live_;
  lane_mask ready_;
  lane_mask requested_;
  lane_mask served_; ///< of those, while the wavefront is at it
  lane_mask polling_;
  lane_mask yielded_;          ///< ready again after the wavefront has given way
  bool is_descending_ = false; ///< in this round
  std::unique_ptr<lane_slot[]> slots_;
  // Plain functions: the fibers' job, the lanes that have not started yet, the fiber that runs.
  void (*call_)(void const*, item_lanes&, int) = nullptr;
  void const* context_ = nullptr;
  lane_mask to_start_;
  execution_fiber* running_ = nullptr;
};

/// Parks a wavefront until one of its lanes may go on. Awaited by drive_items().
class [[nodiscard]] lanes_wait {
public:
  explicit lanes_wait(item_lanes& lanes) noexcept : lanes_(lanes) {}
  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept;
  void await_resume() const noexcept {}

private:
  item_lanes& lanes_;
};

/// Runs the lanes of one wavefront of an item kernel to their ends. They have been started.
task<> drive_items(item_lanes& lanes);

// Implementation

template<task_promise P>
void lanes_wait::await_suspend(std::coroutine_handle<P> h) noexcept {
  wait_reason const& why = lanes_.reason();
  h.promise().self->poll_for(why.what, why.where, why.on, &item_lanes::may_go_on, &lanes_);
}

} // namespace quarry::emu
