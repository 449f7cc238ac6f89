// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explored_memory.hpp"
#include "watchdog.hpp"
#include "world_threads.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quarry {

/// The end of an execution that has come to its limit: everybody in turn, with the newest values.
/// Where nothing happens even then, in its second half, nothing ever will.
class fair_end final : public chooser {
public:
  fair_end(sequential_scheduler& s, emu::explored_memory& m, std::uint64_t begins_at,
           std::uint64_t ends_at) noexcept
      : scheduler_(s), memory_(m), begins_at_(begins_at),
        half_at_(begins_at + (ends_at - begins_at) / 2) {}

  void begin(chooser& choices) noexcept;
  /// Nobody can go on: who polls looks once more, and sees the newest values. False if all have
  /// done so since the last decision.
  bool look_again() noexcept;
  /// Others than the choices that were asked for were taken.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }
  /// Nobody has written or woken anybody in its second half.
  [[nodiscard]] bool is_without_hope() const noexcept;
  /// Who had done most operations until then.
  [[nodiscard]] std::string const& busiest_before() const noexcept { return busiest_before_; }
  /// When it began somebody was at work: had written or woken somebody in the half before.
  [[nodiscard]] bool was_at_work() const noexcept { return was_at_work_; }

  unsigned pick(unsigned n, choice_kind kind) override;
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    bool const is_early = !tells_effects_ && scheduler_.decision_count() < begins_at_ / 2;
    return is_early ? choices_->pick_actor(ready) : pick_late(ready);
  }
  void on_yield(std::uint32_t actor) override { choices_->on_yield(actor); }
  [[nodiscard]] bool wants_effects() const noexcept override { return choices_->wants_effects(); }
  void on_effect(std::uint32_t actor, effect const& e) override { choices_->on_effect(actor, e); }
  void on_only(std::uint32_t actor) override;
  void on_alone() override { begin_if_due(); }
  [[nodiscard]] bool is_redundant() const noexcept override { return choices_->is_redundant(); }

private:
  void give_up_if_redundant() noexcept {
    if (choices_->is_redundant()) [[unlikely]]
      scheduler_.give_up();
  }

  unsigned pick_late(std::span<std::uint32_t const> ready);
  void begin_if_due();

  sequential_scheduler& scheduler_;
  emu::explored_memory& memory_;
  std::uint64_t begins_at_; ///< decisions
  std::uint64_t half_at_;   ///< of it
  chooser* choices_ = nullptr;
  bool tells_effects_ = false;
  bool has_begun_ = false;
  bool was_at_work_ = false;
  std::string busiest_before_;
  std::optional<std::uint64_t> early_activity_; ///< until half of what comes before it was over
  std::optional<std::uint64_t> looks_at_;       ///< the decision before the last look
  std::uint32_t last_ = 0;                      ///< who went on
  std::optional<std::uint64_t> activity_;       ///< until its first half was over
  std::uint64_t last_activity_ = 0;             ///< until its last decision
};

/// Runs one execution of a world after the other.
class explorer {
public:
  struct result {
    std::optional<emu::explored_memory::finding> finding;
    bool is_cut = false;    ///< by the limit of decisions, without a finding
    bool is_beyond = false; ///< the limit, without one: its end was not that of the choices
    bool is_left = false;   ///< and there was more to do at the limit than to see a newer value
    std::string busiest{};  ///< then
    std::string history{};
    std::uint64_t equal = 0;   ///< findings like it, beside it
    bool has_left_out = false; ///< if that is noted: a load could not see what it might have
  };

  /// All are borrowed.
  explorer(explore_options const& o, std::function<void(world&)> const& f, watchdog& watch);
  ~explorer() { watch_.end(*this); }

  /// Errors   what the world throws that is no std::exception
  result run(chooser& choices, bool keeps_history = false);
  /// The execution of these choices once more.
  result repeat(choice_record const& r, bool keeps_history = false);
  /// An execution counts that is not run.
  void pass_over() noexcept { scheduler_.pass_over(); }
  /// What was chosen in the last execution that was run.
  [[nodiscard]] recorder const& chosen() const noexcept { return recorder_; }

  /// Executions from now on perform operations as these say.
  void adjust(std::vector<emu::adjustment> those) { memory_.operations().adjust(std::move(those)); }
  /// Which operations there were, in executions from now on; null: not to be kept.
  void collect(std::vector<emu::operation_site>* into) { memory_.operations().collect(into); }
  /// Whether result::has_left_out is told, in executions from now on; at first of an exhaustive
  /// search alone. Gives what it was.
  bool note_left_out(bool is_wanted) noexcept { return memory_.note_left_out(is_wanted); }

  // For who watches from another thread

  [[nodiscard]] watchdog& watch() noexcept { return watch_; }
  /// Another number after each decision; 0: no execution runs.
  [[nodiscard]] std::uint64_t look_at_progress() noexcept;
  /// The next execution's.
  void note_seed(std::uint64_t seed) noexcept { seed_.store(seed, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t seed() const noexcept {
    return seed_.load(std::memory_order_relaxed);
  }
  // Of the last execution, or the one that does not go on
  [[nodiscard]] bool came_to_limit() const noexcept { return end_.has_begun(); }
  [[nodiscard]] std::uint64_t decision_count() const noexcept {
    return scheduler_.decision_count();
  }
  [[nodiscard]] std::string who_runs() const { return memory_.who_runs(); }
  [[nodiscard]] std::string where_it_runs() const { return memory_.where_it_runs(); }
  /// Who has done most operations, and where the last one was.
  [[nodiscard]] std::string who_did_most() const { return memory_.busiest(1); }
  /// Empty: the execution goes on.
  [[nodiscard]] std::string why_it_ends() const { return memory_.why_it_ends(); }

private:
  void run_world();
  void found(std::exception const& e);
  void leave(actor const& a);
  [[nodiscard]] std::string busiest() const;
  void end_execution();

  watchdog& watch_;
  std::function<void(world&)> const& function_;
  sequential_scheduler scheduler_;
  emu::explored_memory memory_;
  world_threads threads_;
  emu::allocations known_; ///< empty between executions
  fair_end end_;
  recorder recorder_{end_};
  std::string waits_;     ///< where somebody waited when the execution was given up
  std::string who_waits_; ///< the same as a report
  std::string idlest_;    ///< who went on then without an operation
  std::string unheard_;   ///< what somebody had thrown when the execution was cut off
  std::string left_;      ///< who could not be unwound
  /// What was on its way out when somebody, on that way, waited in vain.
  std::optional<emu::explored_memory::finding> late_cause_;
  std::atomic<bool> is_running_{false};
  std::atomic<std::uint64_t> executions_{0};
  std::atomic<std::uint64_t> seed_{0};
};

/// What a world stands on.
class world::implementation {
public:
  implementation(sequential_scheduler& s, emu::explored_memory& m, world_threads& t,
                 emu::allocations& a)
      : scheduler(s), memory(m), threads(t), known(a), host({s.current(), &s}) {
    known.tell(&m);
    m.share(&known);
  }
  ~implementation() {
    threads.leave(); // the world function has returned, or thrown: its locals have gone
    memory.share(nullptr);
  }
  implementation(implementation const&) = delete;

  sequential_scheduler& scheduler;
  emu::explored_memory& memory;
  world_threads& threads;
  emu::allocations& known;
  world_core host;
};

} // namespace quarry
