// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actor_names.hpp"
#include "address_ranges.hpp"
#include "cache_machine.hpp"
#include "effect_teller.hpp"
#include "host_writes.hpp"
#include "kept_memory.hpp"
#include "lds_writes.hpp"
#include "memory_map.hpp"
#include "operation_history.hpp"
#include "operation_watch.hpp"
#include "polled_words.hpp"
#include "race_detector.hpp"
#include "thrown_exceptions.hpp"

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace quarry::emu {

struct launch_state;
class agent_core;
class wave_slot;
class work_group;

/// The memory of an explored execution: emulated caches, the race detector beside them, and what
/// was found. Hangs on the scheduler; actors join it when they first reach for memory.
///
/// Host code that reads or writes device memory directly does so between launches: a launch begins
/// with a release of the host's writes, a completion ends with everything in host memory.
class explored_memory final : public executor_attachment, public allocation_listener {
public:
  struct options {
    bool detects_races = true;
    bool direct_lint = false;   ///< HRF-direct: also what is ordered only through different scopes
    bool tells_debugger = true; ///< of failures
  };

  explored_memory(sequential_scheduler& scheduler, options o);
  ~explored_memory() override;

  /// A new execution: nothing of the last one is left.
  void begin(chooser& choices, bool keeps_history);
  /// The execution is over.
  void end() noexcept;
  /// Of the execution that the calling thread runs; null outside of one.
  [[nodiscard]] static explored_memory* running() noexcept;
  /// What every agent may touch beside its own memory, in this execution; null: nothing.
  void share(allocations const* host_memory) noexcept { map_.share(host_memory); }
  [[nodiscard]] allocations const* shared() const noexcept { return map_.shared(); }

  /// Which operations there are, and how they are performed; over executions.
  [[nodiscard]] operation_watch& operations() noexcept { return operations_; }
  /// Somebody begins an operation of a network. What it has before it, as adjusted: nothing, a
  /// fence() of its context (release), or a quiet() of every context (seq_cst: never if it is no
  /// host that may wait).
  [[nodiscard]] std::optional<order> begins_operation(operation_kind of_network, bool is_hosts,
                                                      std::source_location where) {
    return operations_.is_wanted() ? watch_network(of_network, is_hosts, where) : std::nullopt;
  }

  /// A load could not see what it might have: its caches remember but so much, or it had seen too
  /// many stale values in a row. Of executions since note_left_out(true), which costs time.
  [[nodiscard]] bool has_left_out() const noexcept { return has_left_out_; }
  /// Gives what it was.
  bool note_left_out(bool is_wanted) noexcept { return std::exchange(notes_left_out_, is_wanted); }
  /// Writes, wake-ups by memory, launches, meetings: whatever may let somebody go on.
  [[nodiscard]] std::uint64_t activity() const noexcept { return activity_; }
  /// Counts the operations of each actor anew. From now on it is activity, too, when an actor looks
  /// where it has not looked since: who goes through an array comes to its end.
  void count_operations() noexcept;
  /// Those that did most operations since then, and where their last ones were.
  [[nodiscard]] std::string busiest(std::size_t most = 3) const;
  /// "wave 1:1:1:1 (0,0,0)/0": who goes on there, but has done no operation since then.
  [[nodiscard]] std::string idlest(report const& table, std::size_t most = 3) const;
  /// `tell()` is asked at a failure for lines of its report: what a network has not delivered, say.
  /// In place of what was to be asked for `who` before; an empty one: nothing.
  void tell_of(void const* who, std::function<std::string()> tell);

  /// Nobody can go on, who waits for what. Who waits is told so one after the other, and the last
  /// ones when others have gone: what is said of all is what was true now.
  /// What they find on their way out is no failure of its own, until note_let_go(); but what a
  /// launch waits for says more than that it does.
  void note_given_up(report table);
  /// All have been let go of.
  void note_let_go() noexcept {
    if (given_up_)
      given_up_->is_over = true;
  }
  /// As it was when nobody could go on; now, if it is not so.
  [[nodiscard]] report who_waits() const;
  /// Why the execution comes to its end, once it does: what was found, or who waited for what when
  /// it was given up; empty: it goes on.
  [[nodiscard]] std::string why_it_ends() const;
  /// To who_waits(), lines of a report: what was written last to each word that somebody waits for,
  /// and what else is told of; empty without a history.
  [[nodiscard]] std::string about_waits() const;

  /// Null if the scheduler does not explore.
  [[nodiscard]] static explored_memory* of(executor const& scheduler) noexcept;
  [[nodiscard]] std::string name_of(void const* address) const override;
  /// "'ranks' + 4100": an address that may be in no allocation, for reports.
  [[nodiscard]] std::string offset_of(void const* address) const;
  /// "4 bytes after the end of 'ranks' (4096 bytes of memory of agent 1, allocated at main.cpp:9)":
  /// of an access of so many bytes
  [[nodiscard]] std::string surroundings_of(void const* address, std::size_t bytes) const;

  /// The actor's port; one that is met for the first time becomes a host thread with a cache of its
  /// own over memory.
  [[nodiscard]] cache_port& join(actor& self) {
    cache_port*& port = port_of(self);
    return port != nullptr ? *port : join_host(self, port);
  }
  /// Makes the actor, before its first access, a core of the agent's command processor.
  void join_core(actor& self, agent_core const& agent);

  /// The race detector has a clock for each, with a time of each other one.
  static constexpr std::size_t most_actors = 4'096;
  /// So far in this execution: those that have ended, and the wavefronts that launches will have,
  /// among them.
  [[nodiscard]] std::size_t actor_count() const noexcept { return port_count_ + coming_waves_; }

  // What a launch orders

  /// The launch will have so many wavefronts: until it has completed, no other actor takes their
  /// room.
  void expect_waves(launch_state const& l, std::uint64_t count);
  void launching(launch_state& l);
  /// `by_core`: who sees it is a core of the agent's command processor, and no host.
  void completed(launch_state& l, bool by_core = false);
  /// A wavefront begins: a new actor, on the slot's compute unit.
  void begin_wave(wave_slot& w, void const* unit, agent_core const& agent);
  void end_wave(wave_slot& w);
  /// A work-group operation: the wavefronts of `who` have all arrived, and go on.
  void meet(work_group& g, std::uint32_t who);

  /// What the actor did until now, and who comes after it from then on; at system scope.
  using edge = race_detector::edge;
  [[nodiscard]] edge signal(actor& self);
  void receive(actor& self, edge from);
  /// signal() for an actor that it starts, with what host code has written past us.
  [[nodiscard]] edge starting(actor& self);
  // Of a nursery's children, but for those of a wavefront, which run as a part of it
  [[nodiscard]] std::uint64_t epoch() const noexcept override { return execution_; }
  [[nodiscard]] edge before_start(strand const& s) override;
  void after_start(edge e) override;
  [[nodiscard]] edge at_end() override;
  void after_join(std::span<edge const> ends) override;

  [[nodiscard]] thrown_exceptions& thrown() noexcept { return thrown_; }
  void has_thrown(actor const& who, std::exception_ptr const& what) override;
  void has_heard(std::exception_ptr const& what) override { thrown_.hear(what); }
  /// By who unwinds: for the end, where what is thrown has not become a failure.
  [[nodiscard]] bool takes_note_of_misuse(std::string const& what) override;
  void tell_misuse_by_unwinding();
  /// That says why others wait; null: there is none.
  [[nodiscard]] thrown_exceptions::entry const* first_unheard() const noexcept;
  /// That one, when the first thing was found.
  [[nodiscard]] std::optional<thrown_exceptions::entry> const& cause() const noexcept {
    return cause_;
  }
  /// The first finding is of somebody who waits on its way out, by an exception that is still to
  /// come.
  [[nodiscard]] bool is_found_by_unwinding() const noexcept { return is_found_by_unwinding_; }
  void forget_thrown() noexcept;

  /// Delayed stores come to their level. True if there were any.
  bool settle();
  void listens_to(allocations const& those) override;
  void left(allocations const& those) noexcept override;
  void added() override;
  void added_uninitialised(void const* begin, std::size_t bytes) override;
  void added_coarse_grained(void const* begin, std::size_t bytes) override;
  /// The range is no device memory any more: what is on its way there arrives, then it is
  /// forgotten.
  void removed(void const* begin, std::size_t bytes) noexcept override;
  void has_gone(known_range&& what) noexcept override;
  /// Until the execution is over. False: there is no room to note it.
  bool keep(void* memory, std::size_t bytes, kept_memory::free_function free) noexcept {
    return kept_.keep(memory, bytes, free);
  }
  /// Memory's newest values become those that host code finds there.
  void to_host();
  /// What host code has stored there meanwhile is the actor's, which has released it.
  void take_from_host(actor& self);

  /// The first thing that went wrong.
  struct finding {
    std::string kind;  ///< "race", "deadlock", …: with `where`, the class of the failure
    std::string where; ///< "queue.hpp:12"
    std::string report;
  };
  void found(finding f);
  void found(fault const& f);
  /// If something else has gone wrong before, it becomes a part of that one's report.
  void found_or_noted(finding f);
  /// Findings of the first one's class beside it.
  [[nodiscard]] std::uint64_t equal_count() const noexcept { return equal_count_; }
  /// What an operation of an actor that is no wavefront has thrown; `who` says it in the report.
  void found(kernel_stop const& stop, std::string_view who);
  /// Who has done wrong: "  by       wave 1:1:1:1 (0,0,0)/0 lane 3, work-item 3 of its group,
  /// main.cpp:12", that line, and the dispatch. Without a line: its last operation's.
  [[nodiscard]] std::string culprit(wave_slot const& w, int lane,
                                    std::optional<std::source_location> where) const;
  /// A kernel is about to be stopped, one of the execution's, or one that somebody in it runs
  /// natively meanwhile: a debugger is told of the former.
  void hear(kernel_stop const& stop);
  [[nodiscard]] std::optional<finding> const& first_finding() const noexcept { return finding_; }

  /// What was done last, a line for each operation; empty where that is not kept.
  [[nodiscard]] std::string history() const { return history_.lines(); }

  /// "  | w.check(…);", that source line, for reports: where there is a history and the file can be
  /// read; otherwise empty.
  [[nodiscard]] std::string text_of(std::source_location where) const;
  /// "wave 1:1:2:5 (1,0,0)/0 of produce: last operation at a.hpp:12, last wait at a.hpp:9"
  [[nodiscard]] std::string describe(actor const& a) const;
  /// The same of the actor whose slice runs, in native code perhaps.
  [[nodiscard]] std::string who_runs() const;
  /// Its last operation's line; empty: it has done none.
  [[nodiscard]] std::string where_it_runs() const;

  [[nodiscard]] cache_machine& machine() noexcept { return machine_; }
  [[nodiscard]] sequential_scheduler& scheduler() noexcept { return scheduler_; }
  /// What runs is a destructor, of an execution that has ended before its time.
  [[nodiscard]] bool is_being_left() const noexcept {
    actor const* const self = scheduler_.current();
    return is_letting_go() || self == nullptr || self->is_abandoned;
  }

private:
  friend class cache_port;
  friend class operation_history;
  using actor_id = cache_machine::actor_id;
  struct known_actor {
    std::uint64_t operations = 0; ///< since they were last counted anew
    std::source_location last{};  ///< operation
    polled_words polled{};
    std::uint32_t looks = 0; ///< at atomics, since it last changed something
  };
  struct known_unit {
    void const* unit;
    cache_machine::node_id node;
    std::uint32_t number;   ///< by first use
    std::uint32_t rank = 0; ///< as debuggers count
  };

  void count(actor_id who, std::source_location where) noexcept {
    ++actors_[who].operations;
    actors_[who].last = where;
  }
  /// An operation that has changed memory.
  void note_change(actor_id who, unsigned operations = 1) noexcept {
    activity_ += operations;
    actors_[who].looks = 0;
  }
  /// An atomic operation that has changed nothing. Who does many of them, and changes nothing
  /// itself, waits for others, as if it yielded. (Whether others have changed something meanwhile
  /// does not count: in which order they did is not always to make a difference.)
  void note_idle(actor_id who) {
    constexpr std::uint32_t many = 32;
    known_actor& a = actors_[who];
    if (++a.looks != many) [[likely]]
      return;
    a.looks = 0;
    if (actor const* const self = scheduler_.current())
      choices_->on_yield(self->number);
  }
  void note_update(actor_id who, bool changes) {
    if (changes)
      note_change(who);
    else
      note_idle(who);
  }
  void note_look(actor_id who, std::uintptr_t at, std::source_location where) {
    if (looks_) [[unlikely]]
      add_look(who, at, where);
  }
  void add_look(actor_id who, std::uintptr_t at, std::source_location where);
  /// A plain load has read a value: has a loop of such loads ended by mere chance?
  void watch_polling(actor_id who, std::uintptr_t at, unsigned bytes, std::uint64_t value,
                     std::source_location where) {
    if (auto const loop = actors_[who].polled.read(at, bytes, value, where.line())) [[unlikely]]
      blame_chance(who, *loop, value, where);
  }
  void blame_chance(actor_id who, polled_words::ended_loop const& loop, std::uint64_t value,
                    std::source_location where);
  void end_polling(actor_id who) noexcept { actors_[who].polled.forget(); }
  void end_polling(actor_id who, std::uintptr_t at, unsigned bytes) noexcept {
    actors_[who].polled.forget(at, bytes);
  }
  void end_polling(actor_id who, order o) noexcept {
    if (acquires(o))
      end_polling(who);
  }
  void check_initialised(actor_id who, std::uintptr_t at, unsigned bytes,
                         cache_machine::reading const& r, race_detector::site by);
  void check_lds(actor_id who, std::uintptr_t at, unsigned bytes, race_detector::site by);
  [[nodiscard]] cache_machine::reading load_lds(actor_id who, cache_port::word_access const& w,
                                                race_detector::site by);
  known_unit const& agent_of(agent_core const& agent);
  /// Where the port of an actor that is no wavefront is, or will be.
  cache_port*& port_of(actor const& self) {
    if (by_number_.size() <= self.number) [[unlikely]]
      by_number_.resize(self.number + 1);
    return by_number_[self.number];
  }
  cache_port& join_host(actor& self, cache_port*& port);
  void receive_all(actor& self, std::span<edge const> from);
  /// Of whatever kind the actor is; a host joins.
  [[nodiscard]] actor_id id_of(actor& self);
  /// Throws std::length_error where there are `most_actors`: before the machine knows one more.
  void check_room() const;
  /// Its name has yet to be given.
  cache_port& add(actor_id id, race_detector::place where);
  [[nodiscard]] std::string name_of(actor_id who) const;
  /// Null: it has reached for no memory.
  [[nodiscard]] cache_port const* find_port(actor const& a) const;
  /// "memory of agent 1"
  [[nodiscard]] std::string space_of(actor_id who, std::uintptr_t at) const;
  /// "'ranks', 256 bytes of memory of agent 1"; empty: of no allocation.
  [[nodiscard]] std::string allocation_of(actor_id who, std::uintptr_t at) const;
  cache_machine::node_id node_of(void const* unit, agent_core const& agent);
  /// "ranks[3]", or "word 7" where there is no name. `bytes`: of an access; 0: it is unknown.
  [[nodiscard]] std::string word_of(std::uintptr_t at, unsigned bytes = 0) const;
  /// Whether the bytes lie in one allocation; otherwise that is found.
  [[nodiscard]] bool is_allocated(actor_id who, std::uintptr_t at, unsigned bytes,
                                  std::source_location where) {
    return map_.was_accessed(at, bytes) || map_.allows(at, bytes) ||
           blame_bounds(who, at, bytes, where);
  }
  /// False.
  bool blame_bounds(actor_id who, std::uintptr_t at, unsigned bytes, std::source_location where);
  /// Whether the actor that runs is the port's, or might be.
  [[nodiscard]] bool may_run(cache_port const& port) const noexcept;

  void note(std::optional<race_detector::race> const& race) {
    if (race) [[unlikely]]
      report_race(*race);
  }
  [[nodiscard]] std::string awaited(report const& table) const;
  [[nodiscard]] std::string told_of() const;
  [[nodiscard]] bool is_letting_go() const noexcept { return given_up_ && !given_up_->is_over; }
  [[nodiscard]] bool is_cut_off() const;
  [[nodiscard]] bool runs_wavefront() const;
  /// Of the first failure of the execution, as soon as it is known.
  void tell_debugger(std::string const& kind, std::string const& where);
  void report_race(race_detector::race const& race);
  /// What to add to where an actor has done something: text_of(), and a wavefront's dispatch.
  [[nodiscard]] std::string about(actor_id who, std::source_location where) const;
  /// Finds what an actor has done there; `what` follows its name.
  void blame(char const* kind, actor_id who, race_detector::site by, std::string_view what);
  /// Coarse-grained memory knows no scope beyond the agent.
  void limit(scope& s, std::uintptr_t at) const noexcept {
    if (!coarse_.is_empty() && s == scope::system && coarse_.contain(at)) [[unlikely]]
      s = scope::agent;
  }
  /// A load has seen an old value there, or a wait none that lets it go on.
  void miss(actor_id who, std::uintptr_t at, std::source_location where) {
    if (!coarse_.is_empty() && coarse_.contain(at)) [[unlikely]]
      missed_ = {who, where};
  }
  /// The order and scope in which an operation is performed.
  void watch(actor_id who, operation_kind what, std::optional<order>& o, scope& s,
             std::source_location where);
  [[nodiscard]] std::optional<order> watch_network(operation_kind what, bool is_hosts,
                                                   std::source_location where);
  /// Whether operations are to be written down.
  [[nodiscard]] bool remembers() const noexcept { return history_.is_kept(); }
  void write_down(operation_history::operation const& o);

  sequential_scheduler& scheduler_;
  options options_;
  memory_map map_;
  chooser* choices_ = nullptr;
  kept_memory kept_;
  bool notes_left_out_ = false;
  bool has_left_out_ = false;
  std::optional<std::unordered_set<std::uint64_t>> looks_; ///< since operations are counted anew
  operation_watch operations_;
  struct given_up {
    report who_waits;
    std::string about;    ///< them
    bool is_over = false; ///< nobody is on the way out
  };
  std::optional<given_up> given_up_;
  cache_machine machine_;
  host_writes host_writes_{machine_};
  effect_teller effects_{scheduler_, map_, machine_};
  race_detector races_;
  std::deque<cache_port> ports_; ///< by actor
  std::vector<known_actor> actors_;
  actor_names names_;
  std::size_t port_count_ = 0;         ///< in use: ports and actors keep their memory
  std::vector<cache_port*> by_number_; ///< of actors that are not wavefronts
  std::vector<known_unit> agents_;
  std::vector<known_unit> units_;
  struct known_launch {
    std::uint64_t coming = 0;      ///< wavefronts that have not begun
    std::uint32_t place = ~0U;     ///< among those that have names, once a wavefront has begun
    std::uint32_t first_group = 0; ///< its number, from then on
    std::vector<race_detector::edge> edges; ///< the launcher's, then those of ended wavefronts
  };
  std::unordered_map<launch_state const*, known_launch> launches_;
  std::uint32_t group_count_ = 0;
  std::uint32_t wave_count_ = 0;
  std::uint64_t coming_waves_ = 0; ///< of all launches
  std::uint32_t host_count_ = 0;
  lds_writes lds_;
  address_ranges uninitialised_;
  address_ranges coarse_;
  struct sighting {
    actor_id who;
    std::source_location where;
  };
  std::optional<sighting> missed_; ///< who has last missed something in coarse-grained memory
  std::uint64_t activity_ = 0;
  std::uint64_t execution_ = 0;
  thrown_exceptions thrown_;
  std::optional<thrown_exceptions::entry> cause_;
  bool is_found_by_unwinding_ = false;
  std::string misuse_by_unwinding_; ///< empty: none
  std::optional<finding> finding_;
  std::vector<std::pair<void const*, std::function<std::string()>>> tellers_;
  bool is_told_ = false; ///< to a debugger
  std::uint64_t equal_count_ = 0;
  operation_history history_{*this};
};

/// A deadlock, of whatever kind.
[[nodiscard]] bool is_wait_in_vain(explored_memory::finding const& f);

} // namespace quarry::emu
