// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/debug_root.hpp>
#include <quarry/report.hpp>
#include <quarry/strand.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace quarry {

/// What somebody else hangs on a deterministic scheduler: emu its emulated caches.
class executor_attachment {
public:
  virtual ~executor_attachment() = default;
  /// What reports call an address that somebody waits on; empty: as it is.
  [[nodiscard]] virtual std::string name_of(void const* address) const {
    static_cast<void>(address);
    return {};
  }

  // What starting and joining orders, for models of memory; all by the actor that runs

  using edge = std::uint32_t;
  static constexpr edge nothing = ~edge{0};
  /// Where it is another, edges from before are worth nothing.
  [[nodiscard]] virtual std::uint64_t epoch() const noexcept { return 0; }
  /// What it has done so far, for an actor that it starts on `s`.
  [[nodiscard]] virtual edge before_start(strand const& s) {
    static_cast<void>(s);
    return nothing;
  }
  /// It has been started with that: it comes after.
  virtual void after_start(edge e) { static_cast<void>(e); }
  /// What it has done, for who joins it. Somebody else may go on first.
  ///
  /// Throws   `abandoned`
  [[nodiscard]] virtual edge at_end() { return nothing; }
  /// It has joined those, and comes after them.
  virtual void after_join(std::span<edge const> ends) { static_cast<void>(ends); }
  /// An actor has, that somebody may join: until then others may wait for it in vain.
  virtual void has_thrown(actor const& who, std::exception_ptr const& what) {
    static_cast<void>(who);
    static_cast<void>(what);
  }
  /// Somebody has joined it.
  virtual void has_heard(std::exception_ptr const& what) { static_cast<void>(what); }
  /// What an actor has used wrongly. True if somebody will tell of it: the process need not end.
  [[nodiscard]] virtual bool takes_note_of_misuse(std::string const& what) {
    static_cast<void>(what);
    return false;
  }
};

/// What strands and actors know of the scheduler that runs them. It is asked once per slice or
/// wait, never per memory operation, so that a virtual call does not matter.
class executor {
public:
  /// For what somebody waits in run_until(), and where: for reports.
  struct wait_site {
    char const* what; ///< a literal
    std::source_location where;
  };

  executor();
  executor(executor const&) = delete;
  executor& operator=(executor const&) = delete;
  virtual ~executor();

  /// Lets a waiting actor go on. Through strand::make_ready() only.
  virtual void make_ready(actor& a) = 0;
  /// Somebody who waits in run_until() should look again. From any thread.
  virtual void notify() = 0;

  /// Runs actors on the calling thread, beside whatever else runs them, until `is_over(argument)`.
  ///
  /// False when it cannot come to that: a deterministic scheduler found nobody ready and no poll
  /// that says yes; `native` saw no progress for its stall timeout. report_now() then tells who
  /// waits: an actor that is in here itself, at `site`.
  [[nodiscard]] virtual bool run_until(bool (*is_over)(void*), void* argument,
                                       wait_site const& site) = 0;

  /// Whose turn the calling thread is in; null: nobody's.
  [[nodiscard]] virtual strand const* turn() const noexcept = 0;

  /// True if every actor runs on a fiber and decision_point() may switch.
  [[nodiscard]] virtual bool decides() const noexcept = 0;
  /// Where a deterministic scheduler may run somebody else; called by the memory operations of an
  /// actor that runs on a fiber. Throws `abandoned` once if the execution was given up.
  virtual void decision_point(actor& self) = 0;

  /// What the actor does now may concern everybody, for schedulers that search (effect::is_any).
  virtual void tell_all(actor& self) noexcept { static_cast<void>(self); }

  /// Lets go of an actor that will never be resumed again, before its owner destroys it. A strand
  /// does so for what it spawned. Wake-ups for it are ignored from now on.
  virtual void abandon(actor& a) {
    std::atomic_ref(a.is_abandoned).store(true, std::memory_order_relaxed); // wakers look
  }

  /// Null in schedulers that do not explore.
  [[nodiscard]] executor_attachment* attachment() const noexcept { return attachment_; }
  /// Must outlive every actor that is started from now on.
  void attach(executor_attachment* a) noexcept { attachment_ = a; }

  /// The table of all actors, now. From any thread. A strand that does not come to a suspension
  /// within a second is listed as busy, and so is the one that the caller itself runs on.
  [[nodiscard]] report report_now();

  /// For debuggers; the kind of scheduler is said by the model.
  [[nodiscard]] debug_executor& debug_entry() noexcept { return debug_; }

  template<class F>
  [[nodiscard]] bool run_until(F&& is_over,
                               std::source_location where = std::source_location::current()) {
    return run_until(std::forward<F>(is_over), wait_site{"run_until", where});
  }
  template<class F>
  [[nodiscard]] bool run_until(F&& is_over, wait_site const& site) {
    return run_until(
        [](void* f) -> bool { return (*static_cast<std::remove_reference_t<F>*>(f))(); },
        const_cast<void*>(static_cast<void const*>(&is_over)), site);
  }

protected:
  friend class strand;
  virtual void add(strand& s);
  /// On return no thread runs the strand, or will.
  virtual void remove(strand& s) noexcept;

  /// `native` only: a turn that some thread is in the middle of.
  struct turn_under_way {
    strand const* whose;
    std::uint64_t number;
    bool operator==(turn_under_way const&) const = default;
  };
  [[nodiscard]] std::vector<turn_under_way> turns_under_way();

  /// Between these two no actor runs, for executors that do not hold each strand by itself. False
  /// if that did not come to be within a second.
  virtual bool pause_for_report() { return true; }
  virtual void go_on_after_report() {}

private:
  executor_attachment* attachment_ = nullptr;
  std::mutex strands_mutex_; ///< guards debug_.strands
  debug_executor debug_;     ///< holds the list of strands
};

/// What decides what happens next (design §2). Models: native_scheduler, sequential_scheduler.
///
/// `is_deterministic`: one thread, and the same choices give the same execution.
template<class S>
concept scheduler = std::derived_from<S, executor> && requires {
  { S::is_deterministic } -> std::convertible_to<bool>;
  { S::name } -> std::convertible_to<char const*>;
};

} // namespace quarry
