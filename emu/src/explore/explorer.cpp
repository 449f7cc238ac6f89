// SPDX-License-Identifier: Apache-2.0
// A world's own operations, and one execution of it.
#include "explorer.hpp"

#include "command_lines.hpp"
#include "failure_class.hpp"
#include "replay_request.hpp"

#include <quarry/replay.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace quarry {

executor& world::scheduler() noexcept {
  return implementation_.scheduler;
}
world_core& world::host() noexcept {
  return implementation_.host;
}
emu::allocations& world::known() noexcept {
  return implementation_.known;
}
void world::start(std::string name, std::function<void(world_core&)> body,
                  std::source_location where) {
  implementation_.scheduler.need_own_thread("start", where);
  implementation_.threads.start(std::move(name), std::move(body));
}
void world::start_task(std::string name, std::function<task<>(world_core&)> body,
                       std::source_location where) {
  implementation_.scheduler.need_own_thread("start_task", where);
  implementation_.threads.start(std::move(name), std::move(body));
}
void world::join(std::source_location where) {
  implementation_.threads.join(where);
}
void world::check(bool holds, std::string_view what, std::source_location where) {
  if (!holds)
    implementation_.memory.found(
        {"check", to_string(where),
         fmt::format("{}: {}\n{}", to_string(where), what, implementation_.memory.text_of(where))});
}

// The end

void fair_end::begin(chooser& choices) noexcept {
  choices_ = &choices;
  tells_effects_ = choices.wants_effects();
  has_begun_ = was_at_work_ = false;
  early_activity_.reset();
  looks_at_.reset();
  busiest_before_.clear();
  last_ = 0;
  activity_.reset();
}

bool fair_end::is_without_hope() const noexcept {
  return activity_ && last_activity_ == *activity_;
}

unsigned fair_end::pick(unsigned n, choice_kind kind) {
  unsigned const chosen = choices_->pick(n, kind);
  return has_begun_ || looks_at_ == scheduler_.decision_count() ? 0 : chosen;
}

bool fair_end::look_again() noexcept {
  return std::exchange(looks_at_, scheduler_.decision_count()) != scheduler_.decision_count();
}

void fair_end::on_only(std::uint32_t actor) {
  choices_->on_only(actor);
  give_up_if_redundant();
}

void fair_end::begin_if_due() {
  if (scheduler_.decision_count() < begins_at_) {
    if (!early_activity_ && scheduler_.decision_count() >= begins_at_ / 2)
      early_activity_ = memory_.activity();
    return;
  }
  if (scheduler_.is_out_of_decisions())
    return;
  if (!std::exchange(has_begun_, true)) {
    busiest_before_ = memory_.busiest();
    was_at_work_ = memory_.activity() != early_activity_; // with a single decision nobody knows
    while (memory_.settle()) {
    }
    memory_.count_operations();
  }
  if (!activity_ && scheduler_.decision_count() >= half_at_)
    activity_ = memory_.activity();
  last_activity_ = memory_.activity();
}

unsigned fair_end::pick_late(std::span<std::uint32_t const> ready) {
  unsigned const chosen = choices_->pick_actor(ready);
  if (tells_effects_) [[unlikely]]
    give_up_if_redundant();
  begin_if_due();
  if (!has_begun_ || scheduler_.is_out_of_decisions())
    return chosen;
  // The next number after the last one, or the smallest.
  auto const after = [this](std::uint32_t number) { return number - last_ - 1; };
  auto const next = std::min_element(ready.begin(), ready.end(),
                                     [&](auto a, auto b) { return after(a) < after(b); });
  last_ = *next;
  return static_cast<unsigned>(next - ready.begin());
}

// Executions

namespace {

/// "nobody can go on", without who says so.
std::string without_thrower(std::string_view text) {
  constexpr std::string_view thrower = "sequential_scheduler: ";
  return std::string(text.substr(text.starts_with(thrower) ? thrower.size() : 0));
}

/// More decisions, for the end of an execution that has come to its limit.
std::uint64_t with_end(std::uint64_t most_decisions) {
  std::uint64_t const end = std::max<std::uint64_t>(most_decisions / 4, 500);
  return most_decisions + std::min(end, ~most_decisions);
}

} // namespace

explorer::explorer(explore_options const& o, std::function<void(world&)> const& f, watchdog& watch)
    : watch_(watch), function_(f),
      scheduler_({.most_decisions = with_end(o.most_decisions),
                  .tells_alone_from = o.most_decisions / 2,
                  .when_nobody_can = [this] { return memory_.settle() || end_.look_again(); },
                  .when_given_up =
                      [this](report const& table) {
                        waits_ = source_lines_of(table.to_string());
                        idlest_ = memory_.idlest(table);
                        memory_.note_given_up(table);
                        strand::destroy_spawned_of(scheduler_); // they refer to what others own
                        threads_.end();
                      },
                  .when_left = [this](actor const& a) { leave(a); }}),
      memory_(scheduler_, {.detects_races = o.detects_races,
                           .direct_lint = o.direct_lint,
                           .tells_debugger = o.repeats != nullptr || !is_replay_requested()}),
      threads_(scheduler_, memory_),
      end_(scheduler_, memory_, o.most_decisions, with_end(o.most_decisions)) {
  memory_.note_left_out(o.strategy == "exhaustive");
  watch_.begin(*this);
}

std::uint64_t explorer::look_at_progress() noexcept {
  if (!is_running_.load(std::memory_order_relaxed))
    return 0;
  return 1 + executions_.load(std::memory_order_relaxed) * 0x9e37'79b9'7f4a'7c15 +
         scheduler_.look_at_decision_count();
}

/// Found when the execution is over: what has led to its end counts first.
void explorer::leave(actor const& a) {
  left_ += memory_.describe(a) + "\n";
}

namespace {

using finding = emu::explored_memory::finding;

/// What an actor has thrown; nothing, unless it is a std::exception: it goes through where it is
/// heard of.
std::optional<finding> finding_of(emu::thrown_exceptions::entry const& t) {
  try {
    std::rethrow_exception(t.what);
  } catch (std::exception const& e) {
    return finding{"exception", without_addresses(e.what()),
                   fmt::format("{}\n  thrown by {}", e.what(), t.who)};
  } catch (...) {
    return std::nullopt;
  }
}

/// Those that it has left waiting are no failure of their own.
finding with_others(finding f, std::string_view others) {
  f.report += fmt::format("; others do not come to their end: {}", others);
  return f;
}

} // namespace

/// Errors   what the world throws, or one of its threads while others wait, or poll, for ever
void explorer::run_world() {
  struct letting_go {
    emu::explored_memory& memory;
    ~letting_go() { memory.note_let_go(); }
  };
  try {
    letting_go const at_end{memory_};
    scheduler_.run([&] {
      world::implementation parts(scheduler_, memory_, threads_, known_);
      world w(parts);
      function_(w);
      threads_.need_joined();
    });
  } catch (stall_error const& e) {
    who_waits_ = without_thrower(e.what());
    // Who is merely cut off may be about to hear of it.
    bool const is_for_ever = !scheduler_.is_out_of_decisions();
    if (auto const* const t = memory_.first_unheard()) {
      if (is_for_ever || end_.is_without_hope())
        std::rethrow_exception(t->what);
      if (auto const f = finding_of(*t))
        unheard_ = fmt::format("; {} has thrown: {}", t->who, f->where);
    }
    if (is_for_ever)
      memory_.found({"deadlock", waits_, "deadlock: " + who_waits_ + memory_.about_waits()});
  }
}

/// What a world has thrown, an actor of it perhaps.
void explorer::found(std::exception const& e) {
  auto const* const t = memory_.thrown().find(std::current_exception());
  auto by_actor = t == nullptr ? std::nullopt : finding_of(*t);
  finding const f =
      by_actor ? *by_actor : finding{"exception", without_addresses(e.what()), e.what()};
  if (memory_.is_found_by_unwinding())
    late_cause_ = f;
  else if (memory_.first_finding()) // whose cause it may be: a peer was lost, say
    return memory_.found_or_noted({"", "",
                                   fmt::format("  ended    by what {} has thrown: {}\n",
                                               t == nullptr ? "the world" : t->who, e.what())});
  memory_.found(by_actor && !who_waits_.empty() ? with_others(f, who_waits_) : f);
}

explorer::result explorer::run(chooser& choices, bool keeps_history) {
  end_.begin(choices);
  recorder_.begin();
  scheduler_.begin(recorder_);
  memory_.begin(recorder_, keeps_history);
  waits_.clear();
  who_waits_.clear();
  idlest_.clear();
  left_.clear();
  unheard_.clear();
  late_cause_.reset();
  executions_.store(executions_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  is_running_.store(true, std::memory_order_relaxed);
  try {
    run_world();
  } catch (emu::kernel_stop const& stop) { // by an operation of a host thread
    memory_.found(stop, to_string(stop.what));
  } catch (std::exception const& e) {
    found(e);
  } catch (...) {
    is_running_.store(false, std::memory_order_relaxed); // while it goes through, nobody is stuck
    throw;
  }
  is_running_.store(false, std::memory_order_relaxed);
  // For what somebody waits in vain, perhaps.
  auto cause = memory_.cause() ? finding_of(*memory_.cause()) : std::move(late_cause_);
  end_execution();
  bool const is_cut = scheduler_.is_out_of_decisions() && !memory_.first_finding();
  bool const is_beyond = end_.has_begun() && !memory_.first_finding();
  auto const& f = memory_.first_finding();
  return {cause && f && emu::is_wait_in_vain(*f) ? with_others(*std::move(cause), f->report) : f,
          is_cut,
          is_beyond,
          is_beyond && end_.was_at_work(),
          is_cut      ? busiest() + unheard_
          : is_beyond ? end_.busiest_before() + unheard_
                      : "",
          memory_.history(),
          memory_.equal_count(),
          memory_.has_left_out()};
}

explorer::result explorer::repeat(choice_record const& r, bool keeps_history) {
  replay choices(r);
  choices.begin(0);
  return run(choices, keeps_history);
}

std::string explorer::busiest() const {
  std::string const those = memory_.busiest();
  return idlest_.empty() ? those
                         : fmt::format("{}{}{} (without an operation)", those,
                                       those.empty() ? "" : ", ", idlest_);
}

/// What can be said only now.
void explorer::end_execution() {
  memory_.forget_thrown();
  memory_.tell_misuse_by_unwinding();
  if (scheduler_.is_out_of_decisions() && end_.is_without_hope())
    memory_.found(
        {"livelock", source_lines_of(memory_.busiest(~std::size_t{0}) + who_waits_),
         fmt::format("livelock: nobody changes memory or wakes anybody any more, even if all "
                     "take turns and see the newest values\n  busiest: {}\n{}",
                     busiest(), who_waits_ + memory_.about_waits())});
  if (!left_.empty())
    memory_.found_or_noted(
        {"unwinding", source_lines_of(left_),
         fmt::format("an actor goes on although its execution was given up, and was left there, "
                     "with what it owns:\n{}  does it catch quarry::abandoned, by catch (...) say, "
                     "and not rethrow it? does a destructor wait?\n",
                     indented(left_))});
  memory_.end();
}

} // namespace quarry
