// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/fiber.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace quarry {

/// One thread, and the same choices give the same execution: what `explore` runs on.
///
/// Every actor runs on a fiber, so that a memory operation inside a plain function may switch to
/// another actor. Who goes on is chosen in turn, by a seed, or by a chooser. It knows when nobody
/// can go on: that is a deadlock, found at once and not by a timeout.
///
/// Everything happens on the thread that calls run_until() or run(); nothing here is
/// thread-safe but report_now().
class sequential_scheduler final : public executor {
public:
  static constexpr bool is_deterministic = true;
  static constexpr char const* name = "sequential";

  struct options {
    /// None: round robin, a switch at every decision point. A value: seeded random choices.
    std::optional<std::uint64_t> seed{};
    /// Decisions after which run_until() gives up, as if nobody could go on.
    std::uint64_t most_decisions = 100'000'000;
    /// From this decision on, choices->on_alone() is called where there is nothing to choose: at
    /// operations and yields of who is alone, and where somebody begins to wait beside a single one
    /// that is ready.
    std::uint64_t tells_alone_from = ~std::uint64_t{0};
    /// Decides instead of the seed, with the actor that runs as its first alternative.
    chooser* choices = nullptr;
    /// Called when nobody can go on; true if it has changed something that somebody may wait for.
    std::function<bool()> when_nobody_can{};
    /// Called before hosts that have not ended are abandoned, with who waits for what: whoever uses
    /// what is theirs goes first.
    std::function<void(report const&)> when_given_up{};
    /// Operations and waits of an actor that is unwound. One that goes on even then is left where
    /// it is: it has caught `abandoned`, or waits in a destructor.
    std::uint64_t most_unwinding = 10'000;
    /// Called after that.
    std::function<void(actor const&)> when_left{};
  };

  sequential_scheduler();
  explicit sequential_scheduler(options const& o);
  ~sequential_scheduler() override;

  void make_ready(actor& a) override;
  void notify() override {}
  using executor::run_until;
  /// From an actor's fiber: parks the actor until `is_over`. From a plain thread: runs the actors.
  ///
  /// Errors   std::logic_error – need_own_thread(), where choices are explored
  [[nodiscard]] bool run_until(bool (*is_over)(void*), void* argument,
                               wait_site const& site) override;
  [[nodiscard]] strand const* turn() const noexcept override {
    return current_ == nullptr ? nullptr : current_->home;
  }
  [[nodiscard]] bool decides() const noexcept override { return true; }
  /// Errors   std::logic_error – another actor's function does it, or a thread that does not run
  ///          the actors: each has a core of its own
  void decision_point(actor& self) override;
  /// To be asked before somebody launches or waits, `what` as in "run_until": an actor may wait for
  /// a thread of its own, which would wait for that actor's turn to end.
  ///
  /// Errors   std::logic_error – another thread runs the actors
  void need_own_thread(std::string_view what, std::source_location where) const;
  void tell_all(actor& self) noexcept override;
  // What is no operation of a core's, of the actor that runs on the calling thread; nothing where
  // no such scheduler runs one

  static void tell_all_here() noexcept;
  /// Before it waits, or need not: somebody else may go on, where there is a choice.
  ///
  /// Throws   `abandoned`
  static void decide_here();
  /// Before it asks what others may change (event::is_set()), or tries to take it: somebody else
  /// may go on, where there is a choice.
  ///
  /// Throws   `abandoned`
  static void before_asking_here();
  /// The same before it gives what others may wait for, or ask about. Destructors do so, too: where
  /// the execution is given up, it is the next decision point that throws.
  static void before_giving_here() noexcept;

  /// Runs `host` as actor 0, on a fiber of its own, to its end. Rethrows what it throws.
  ///
  /// Errors   stall_error – nobody can go on, or most_decisions were taken
  void run(std::function<void()> host);
  /// A coroutine is an actor's: nursery::start().
  template<awaitable_function F>
  void run(F host) = delete;
  /// The same with several host threads, a node each say. Rethrows what the first of them threw.
  void run(std::vector<std::function<void()>> hosts);

  /// Lets go of an actor that will never be resumed again: a parked one forgets its frames (their
  /// owner destroys them), one in mid-function is unwound by `abandoned`. Where that does not end
  /// it, is_left() afterwards.
  void abandon(actor& a) override;
  /// The same without unwinding it, where what its frames refer to has gone already: they are
  /// never left, and never destroyed. To be followed by keep().
  void leave(actor& a) noexcept;
  /// An abandoned actor that stands in the midst of its frames for ever: its fiber is kept, and its
  /// owner hands the frames to keep() instead of destroying them.
  [[nodiscard]] static bool is_left(actor const& a) noexcept {
    return a.is_abandoned && a.fiber != nullptr;
  }
  static void keep(actor& of, task<>&& frames);
  /// Of an actor that is being unwound, where it would have waited. Does not return if there have
  /// been too many.
  void count_unwinding(actor& self);

  /// A new execution, of other choices, after the last one's actors have all gone. Its fibers stay.
  void begin(chooser& choices);
  /// An execution that need not be run: debuggers count it.
  void pass_over() noexcept { ++debug_entry().executions; }

  /// A choice of whoever runs, about something else than who goes on: one of 0 … n - 1, for n >= 2.
  [[nodiscard]] unsigned pick(unsigned n, choice_kind kind);

  /// Whose slice runs; null outside.
  [[nodiscard]] actor* current() const noexcept { return current_; }
  /// A predicate of somebody who waits is asked: whoever is `current()` has nothing to do with it.
  [[nodiscard]] bool is_asking() const noexcept { return is_asking_ || is_in_predicate_; }
  /// As if that were the last decision of the execution.
  void give_up() noexcept { set_decisions(options_.most_decisions); }
  [[nodiscard]] bool is_out_of_decisions() const noexcept {
    return decisions_ >= options_.most_decisions;
  }
  [[nodiscard]] std::uint64_t decision_count() const noexcept { return decisions_; }
  /// The same, from any thread: whether it goes on.
  [[nodiscard]] std::uint64_t look_at_decision_count() noexcept {
    return std::atomic_ref(decisions_).load(std::memory_order_relaxed);
  }
  /// While it lives a function of somebody's runs that may not act: operations of any actor throw.
  class [[nodiscard]] predicate {
  public:
    explicit predicate(sequential_scheduler& s) noexcept
        : scheduler_(s), runs_(std::exchange(s.current_, nullptr)),
          outer_(std::exchange(s.is_in_predicate_, true)) {}
    predicate(predicate const&) = delete;
    ~predicate() {
      scheduler_.current_ = runs_;
      scheduler_.is_in_predicate_ = outer_;
    }

  private:
    sequential_scheduler& scheduler_;
    actor* runs_;
    bool outer_;
  };

  /// A hash of all choices so far: equal for equal executions.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }

protected:
  bool pause_for_report() override;
  void go_on_after_report() override;

private:
  class driving;
  class host_actor;
  [[nodiscard]] static actor* choosing_here() noexcept;
  void run_hosts(std::span<host_actor* const> hosts);
  [[noreturn]] void give_up(std::span<host_actor* const> hosts);
  enum class step_result : std::uint8_t { ran, nobody };
  step_result step();
  std::size_t draw(std::size_t count); ///< where there is no chooser
  actor& choose_next();
  bool ask_the_polling() { return !polling_.empty() && ask_each_polling(); }
  bool ask_each_polling();
  [[nodiscard]] bool ask(actor& a);
  bool wait_until(actor& self, bool (*is_over)(void*), void* argument, wait_site const& site);
  void tell_alone() {
    if (decisions_ >= options_.tells_alone_from) [[unlikely]]
      options_.choices->on_alone();
  }
  void count_lone_slice();
  void set_decisions(std::uint64_t count) noexcept {
    std::atomic_ref(decisions_).store(count, std::memory_order_relaxed);
  }
  void take_up(actor& a);
  void offer(actor& a);
  void withdraw(std::size_t index);
  void withdraw(actor const& a);
  void take_from_all_lists(actor& a) noexcept;
  void run_slice(actor& first);
  void begin_slice(actor& a);
  [[nodiscard]] bool may_hand_over() const noexcept;
  void hand_over(actor& self);
  [[nodiscard]] bool is_driven_here() const noexcept;
  void out_of_turn(actor& self);
  bool wake_a_waiter();
  static void run_actor(void* a);

  options options_;
  std::mt19937_64 random_;
  std::vector<actor*> ready_; ///< in the order in which they became ready
  std::vector<actor*> polling_;
  std::vector<actor*> waiting_in_run_until_;
  bool nobody_can_go_on_ = false;
  actor const* has_not_thrown_ = nullptr; ///< since it was given up, see before_giving_here()
  bool is_asking_ = false;                ///< a poll, on behalf of the actor that waits
  bool is_in_predicate_ = false;
  /// Of whoever runs, at a decision point; then of those that are ready.
  std::vector<std::uint32_t> numbers_{0};
  std::uint32_t actor_count_ = 0;
  bool tells_effects_ = false;  ///< to the chooser
  bool is_at_decision_ = false; ///< why the slice that runs ends
  bool hands_over_ = false;     ///< who drives waits for ends of actors only, not for their slices
  actor* next_ = nullptr;       ///< who was chosen at a decision point of the one that runs
  actor* current_ = nullptr;    ///< whose slice runs: the innermost, if one abandons another
  fiber_pool fibers_;
  std::uint64_t unwinding_ = 0; ///< what the actor that is being unwound has done
  std::uint64_t decisions_ = 0; ///< written by set_decisions() only
  std::uint64_t trace_hash_ = 0xcbf29ce484222325;

  std::atomic<bool> is_held_{false};          ///< by the thread that runs actors, or by a report
  std::atomic<bool> is_report_wanted_{false}; ///< whoever runs actors should let go for a moment
  std::atomic<void const*> driver_{nullptr};  ///< the thread that runs actors, if one does
};

} // namespace quarry
