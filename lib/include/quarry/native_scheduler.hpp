// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/scheduler.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace quarry {

/// Hardware threads that this process may use by its affinity, as it was when they were first asked
/// for: taskset, a cpuset or mpirun may leave it fewer than the machine has. At least 1.
[[nodiscard]] unsigned usable_threads() noexcept;

/// The machine decides: strands run in parallel on a oneTBB pool, in wall-clock time.
///
/// A worker takes a strand, drains it and puts it back while it has more to do; TBB sees one task
/// per worker, never one per resume. A thread in run_until() is a worker itself. Workers without
/// progress pause, then yield, then sleep: for a millisecond at a time, after long for up to ten.
class native_scheduler final : public executor {
public:
  static constexpr bool is_deterministic = false;
  static constexpr char const* name = "native";

  struct options {
    /// Threads that run strands, the one in run_until() included: of one, nothing goes on but while
    /// somebody waits. 0: usable_threads().
    std::size_t threads = 0;
    /// How long nothing may progress before run_until() gives up. Ten times as long for a strand
    /// in the middle of a turn: its actor has not come to a suspension, and may progress.
    std::chrono::milliseconds stall_timeout{10'000};
  };

  native_scheduler();
  /// Errors   std::invalid_argument – more than 1024 threads, or a stall timeout that is not
  ///          positive; std::system_error – so many threads cannot be started
  explicit native_scheduler(options o);
  ~native_scheduler() override;

  void make_ready(actor& a) override;
  void notify() override;
  using executor::run_until;
  [[nodiscard]] bool run_until(bool (*is_over)(void*), void* argument,
                               wait_site const& site) override;
  [[nodiscard]] strand const* turn() const noexcept override;
  [[nodiscard]] bool decides() const noexcept override { return false; }
  void decision_point(actor&) override {}

  /// A turn for a strand that is ready, if there is one; true if an actor went on. For who waits
  /// for something else as well.
  bool run_turn();

  /// Schedules a strand, for who drives strands itself (a compute unit with new work).
  /// `wake_workers` false leaves the work to the thread in run_until(): waking a worker costs 40
  /// us. The strand gets a turn that begins after the call, also if it is scheduled already.
  enum class wake_workers : bool { no, yes };
  void post(strand& s, wake_workers wake = wake_workers::yes);

  /// While it lives, make_ready() by this thread wakes no worker of the scheduler: the thread runs
  /// what it makes ready itself, in run_until() at once or after the turn that is about to end.
  class [[nodiscard]] runs_itself {
  public:
    explicit runs_itself(native_scheduler const& s) noexcept;
    runs_itself(runs_itself const&) = delete;
    runs_itself& operator=(runs_itself const&) = delete;
    ~runs_itself();

  private:
    native_scheduler const* outer_;
  };

  /// What a worker without progress calls instead of sleeping, one worker at a time: a network
  /// interface blocks in it until a message may have come, for at most the given time; true if one
  /// may have come. Null: none.
  /// On return nobody is in the old one. Not to be called from within it.
  ///
  /// `polling`: before that a thread polls for 0.2 ms. Where processes that send each other
  /// messages outnumber the cores, it keeps others from what it waits for, and is to be brief.
  enum class idle_polling : bool { usual, brief };
  void set_idle_wait(std::function<bool(std::chrono::nanoseconds)> wait,
                     idle_polling polling = idle_polling::usual);

  [[nodiscard]] std::size_t thread_count() const noexcept;

protected:
  void remove(strand& s) noexcept override;

private:
  struct state;
  class strand_queue;
  class stall_watch;
  class outside_of_turn;
  bool work_until(bool (*is_over)(void*), void* argument);
  std::unique_ptr<state> state_;
};

} // namespace quarry
