// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/explore.hpp>
#include <quarry/emu/explored_memory.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/nursery.hpp>
#include <quarry/replay.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/shrink.hpp>
#include <quarry/strand.hpp>
#include <quarry/strategy.hpp>
#include <quarry/this_actor.hpp>

#include <fmt/core.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace quarry {

/// One execution's actors and memory.
class world::implementation {
public:
  implementation(sequential_scheduler& s, emu::explored_memory& m)
      : scheduler_(s), memory_(m), host_({s.current(), &s}) {
    known_.tell(&m);
  }

  void start(std::string name, std::function<task<>(world_core&)> body) {
    places_.push_back(std::make_unique<strand>(scheduler_, name));
    auto const begun = memory_.signal(*scheduler_.current());
    children_.start(*places_.back(), run(std::move(body), begun), std::move(name));
  }

  void join() {
    children_.wait(scheduler_);
    for (auto const end : ended_)
      memory_.receive(*scheduler_.current(), end);
    ended_.clear();
    memory_.to_host();
  }

  sequential_scheduler& scheduler_;
  emu::explored_memory& memory_;
  emu::allocations known_;
  world_core host_;

private:
  task<> run(std::function<task<>(world_core&)> body, emu::explored_memory::edge begun) {
    actor& self = co_await this_actor();
    memory_.receive(self, begun);
    world_core core({&self, &scheduler_});
    task<> work = body(core);
    co_await std::move(work);
    scheduler_.decision_point(self); // others may act before its end makes its stores visible
    ended_.push_back(memory_.signal(self));
  }

  nursery children_;
  std::vector<emu::explored_memory::edge> ended_;
  std::vector<std::unique_ptr<strand>> places_; ///< first to go: whoever runs there is let go of
};

executor& world::scheduler() noexcept {
  return implementation_.scheduler_;
}
world_core& world::host() noexcept {
  return implementation_.host_;
}
emu::allocations& world::known() noexcept {
  return implementation_.known_;
}
void world::start(std::string name, std::function<void(world_core&)> body) {
  implementation_.start(std::move(name), [body = std::move(body)](world_core& self) -> task<> {
    body(self);
    co_return;
  });
}
void world::start_task(std::string name, std::function<task<>(world_core&)> body) {
  implementation_.start(std::move(name), std::move(body));
}
void world::join() {
  implementation_.join();
}
void world::check(bool holds, std::string_view what, std::source_location where) {
  if (!holds)
    implementation_.memory_.found(
        {"check", to_string(where), fmt::format("{}: {}\n", to_string(where), what)});
}

namespace {

/// Runs a world function again and again.
class explorer {
public:
  struct result {
    std::optional<emu::explored_memory::finding> finding;
    bool is_cut = false; ///< by the limit of decisions
    std::string history{};
  };

  explorer(explore_options const& o, std::function<void(world&)> const& f)
      : function_(f), scheduler_({.most_decisions = o.most_decisions,
                                  .when_nobody_can = [this] { return memory_.settle(); }}),
        memory_(scheduler_, {.detects_races = o.detects_races, .direct_lint = o.direct_lint}) {}

  result run(chooser& choices, bool keeps_history = false) {
    scheduler_.begin(choices);
    memory_.begin(choices, keeps_history);
    try {
      scheduler_.run([&] {
        world::implementation parts(scheduler_, memory_);
        world w(parts);
        function_(w);
      });
    } catch (std::exception const& e) {
      bool const nobody_can =
          std::string_view(e.what()).find("nobody can go on") != std::string_view::npos ||
          std::string_view(e.what()).find("do not come to an end") != std::string_view::npos;
      memory_.found({nobody_can ? "deadlock" : "exception", "", e.what()});
    }
    return {memory_.first_finding(), scheduler_.is_out_of_decisions(), memory_.history()};
  }

private:
  std::function<void(world&)> const& function_;
  sequential_scheduler scheduler_;
  emu::explored_memory memory_;
};

bool is_same_class(emu::explored_memory::finding const& a, exploration_failure const& b) {
  return a.kind == b.kind && a.where == b.where;
}

/// Fills in what is known once an execution has failed: is it repeatable, how short can it be?
void examine(explorer& worlds, explore_options const& options, exploration_failure& f) {
  auto const again = [&](choice_record const& r) -> std::optional<choice_record> {
    replay recorded(r);
    recorder choices(recorded);
    recorded.begin(0);
    auto const found = worlds.run(choices).finding;
    if (!found || !is_same_class(*found, f))
      return std::nullopt;
    return choices.record();
  };
  auto const first = again(f.found);
  f.is_repeatable = first && *first == f.found;
  f.shrunk = f.found;
  if (!f.is_repeatable || !options.shrinks)
    return;
  f.shrunk =
      shrink(f.found, failing_execution(again), {.most_runs = options.most_shrinking}).record;
}

/// The failure once more, with its last operations, and words that have numbers in its report.
void narrate(explorer& worlds, exploration_failure& f) {
  replay choices(f.shrunk);
  choices.begin(0);
  auto const r = worlds.run(choices, true);
  f.history = r.history;
  if (r.finding && is_same_class(*r.finding, f))
    f.report = r.finding->report;
}

class exploration {
public:
  exploration(explore_options const& o, std::function<void(world&)> const& f)
      : options_(o), worlds_(o, f) {
    verdict_.name = o.name;
  }

  verdict run() {
    auto const begun = std::chrono::steady_clock::now();
    if (options_.replays)
      repeat();
    else if (options_.strategy == "exhaustive")
      search();
    else
      sample();
    if (verdict_.failure) {
      examine(worlds_, options_, *verdict_.failure);
      narrate(worlds_, *verdict_.failure);
    }
    verdict_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return std::move(verdict_);
  }

private:
  void repeat() {
    replay recorded(*options_.replays);
    recorder choices(recorded);
    recorded.begin(0);
    one(choices, 0);
    recorded.end();
    if (auto const& d = recorded.diverged())
      verdict_.divergence = d->to_string();
  }

  void sample() {
    auto made = make_strategy(options_.strategy, {.bytes = options_.bytes});
    if (!made)
      throw std::invalid_argument(made.error().what + ", or exhaustive");
    any_strategy& strategy = *made;
    recorder choices(strategy.choices());
    for (std::uint64_t i = 0; i < options_.executions && !verdict_.failure; ++i) {
      strategy.begin(options_.seed + i);
      choices.begin();
      one(choices, options_.seed + i);
      strategy.end();
    }
  }

  void search() {
    exhaustive_search all;
    recorder choices(all);
    bool is_left = true;
    while (is_left && verdict_.executions < options_.executions && !verdict_.failure) {
      all.begin();
      choices.begin();
      one(choices, 0);
      is_left = all.next();
    }
    verdict_.is_complete = !is_left && verdict_.inconclusive == 0;
  }

  void one(recorder& choices, std::uint64_t seed) {
    auto const r = worlds_.run(choices);
    ++verdict_.executions;
    verdict_.trace_hash = (verdict_.trace_hash ^ choices.trace_hash()) * 0x9e3779b97f4a7c15;
    if (r.is_cut)
      ++verdict_.inconclusive;
    else if (r.finding)
      verdict_.failure = exploration_failure{.kind = r.finding->kind,
                                             .where = r.finding->where,
                                             .report = r.finding->report,
                                             .history = {},
                                             .seed = seed,
                                             .execution = verdict_.executions,
                                             .found = choices.record(),
                                             .shrunk = {}};
  }

  explore_options const& options_;
  explorer worlds_;
  verdict verdict_;
};

} // namespace

verdict explore(explore_options const& options, std::function<void(world&)> const& world_function) {
  return exploration(options, world_function).run();
}

std::string verdict::to_string() const {
  std::string const extent = fmt::format(
      "{} execution{} in {:.2f} s{}{}", executions, executions == 1 ? "" : "s", seconds,
      is_complete ? ", all there are" : "",
      inconclusive == 0 ? ""
                        : fmt::format("; {} inconclusive: cut off by the limit", inconclusive));
  std::string const warning = divergence.empty() ? "" : fmt::format("  {}\n", divergence);
  if (!failure)
    return fmt::format("{}  {}: no failure in {}\n{}", is_complete ? "PASS" : "OK  ", name, extent,
                       warning);
  exploration_failure const& f = *failure;
  return fmt::format("FAIL  {}  kind={}  {}  (execution {}, seed {:#x}; {})\n{}{}"
                     "  the last operations before it:\n{}  shrunk: {} -> {} choices that are "
                     "not the boring one, {} -> {} pre-emptions\n{}",
                     name, f.kind, f.where, f.execution, f.seed, extent, f.report, warning,
                     f.history, f.found.nonzero_count(), f.shrunk.nonzero_count(),
                     f.found.preemption_count(), f.shrunk.preemption_count(),
                     f.is_repeatable
                         ? ""
                         : "  hidden state: the same choices did not lead to the same execution\n");
}

} // namespace quarry
