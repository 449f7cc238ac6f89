// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>
#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry {

struct replay_file;

/// How many of what an execution of an exhaustive exploration may have; nothing: any number.
struct search_bounds {
  /// Choices that are not the boring one, of whatever kind (delay bound).
  std::optional<std::uint32_t> deviations{};
  /// Pre-emptions (context bound): somebody else goes on though the actor that ran last could, and
  /// has not yielded. Who has done nothing but look at atomics, 32 times, counts as yielding.
  std::optional<std::uint32_t> preemptions{};
  /// Loads that do not see the newest value there is, writes and messages that are late.
  std::optional<std::uint32_t> stale{};

  [[nodiscard]] explicit operator bool() const noexcept {
    return deviations || preemptions || stale;
  }
  bool operator==(search_bounds const&) const = default;
};

/// "2 pre-emptions and 1 stale value or late write"
[[nodiscard]] std::string to_string(search_bounds const& b);

/// How to explore.
struct explore_options {
  std::uint64_t executions = 10'000;
  /// Threads that run executions. With more than one the world function is called concurrently:
  /// what it shares needs synchronisation, and must not influence what an execution does. What
  /// comes of an exploration depends on this number, because a strategy learns from executions of
  /// its own job, but not on timing; of an exhaustive one it does not even depend on the number,
  /// unless there are more than `executions`: which of them are run is chance then.
  ///
  /// Shape    1 to most_jobs; 1 for "bytes", and with `reduces` or `hashes_states`
  unsigned jobs = 1;
  static constexpr unsigned most_jobs = 256;
  /// Of the first execution; the others follow from it.
  std::uint64_t seed = 1;
  /// A name of make_strategy() but "replay" (--quarry-replay=FILE repeats), or "exhaustive".
  std::string strategy = "swarm";
  /// Of "exhaustive": only executions within them.
  search_bounds bounds{};
  /// Of "exhaustive", without a bound of deviations: of executions that differ only in the order of
  /// steps that have nothing to do with each other, one. Only for worlds whose actors share nothing
  /// but Quarry's memory and what they wait for each other with (quarry::mutex, …): no variable of
  /// the world function.
  bool reduces = false;
  /// Of "exhaustive", not with `reduces`: an execution is given up when it has come to a state that
  /// has been seen. Also within bounds; for the same worlds as `reduces`.
  bool hashes_states = false;
  /// Of the strategy "bytes": every execution takes them as its choices. Borrowed.
  std::span<std::uint8_t const> bytes{};
  /// Decisions after which an execution is given up: it counts as inconclusive, unless it is a
  /// livelock: given a fair end, nobody changes memory, wakes anybody or looks at anything new any
  /// more.
  std::uint64_t most_decisions = 20'000;
  /// Without a decision for so long, an execution is taken for one that never ends: an actor spins
  /// on what only native code can change, or holds a native lock. stderr is told who and where, a
  /// replay file is saved, and the process ends with the status `stuck_status`: a native loop
  /// cannot be left in another way. 0: waits for ever, as it does under a debugger.
  std::chrono::milliseconds patience{5'000};
  static constexpr int stuck_status = 70;
  /// Runs executions also whose choices have all been made in an earlier one, one after the other:
  /// for a world that keeps something of its own, such as how often it has seen an outcome. What an
  /// exploration comes to is the same.
  bool runs_repeated = false;
  bool detects_races = true;
  bool direct_lint = false; ///< HRF-direct: also what is ordered only through different scopes
  bool shrinks = true;
  std::size_t most_shrinking = 2'000; ///< executions for it
  /// After a failure: which operations would have to be stronger.
  bool diagnoses = true;
  /// A failure is saved as soon as it is found; shrinking it ends after half of this, and
  /// diagnosing it after all (ten times as much under a sanitizer): what is left then depends on
  /// how fast it went. None: nothing of both.
  std::chrono::seconds examines_for{30};
  /// Without a failure: which operations could be weaker, one at a time, each tried in
  /// `executions`, and in as many one after the other.
  bool narrows = false;
  /// Only this execution, nothing else.
  std::optional<choice_record> replays{};
  /// Only the execution that is recorded there, with the options that are; the verdict says what
  /// differs, and is false unless it fails as recorded. Null: no such thing. Borrowed.
  replay_file const* repeats = nullptr;
  /// In reports, and of files. Empty: the line that explores; a name of its own stays when lines
  /// move. Explorations of one name, those of a loop, are all to repeat what one has saved.
  std::string name{};
  /// Folder for failures, a replay file each, and, while it explores, a mark of the seed and of how
  /// far it has come, for a process that dies. Empty: QUARRY_FAILURES of the environment (where
  /// that is empty, too: nowhere); without that `quarry-failures`, which is there only as long as
  /// there is something in it, and may be impossible to make.
  std::string failures{};
  bool keeps_failures = true; ///< false: nowhere, whatever is said elsewhere
  /// Counts the executions, as they begin or are known, for who looks on. Null: nobody does.
  /// Borrowed.
  std::atomic<std::uint64_t>* begun = nullptr;
  /// Once it is true, no other execution begins, but for two that repeat a failure: the verdict is
  /// of those that there were. Null: it never is. Borrowed.
  std::atomic<bool> const* interrupted = nullptr;
  /// What repeats a saved failure, but for the file. Empty: this program, `--quarry-replay=`.
  std::string replay_command{};
  /// What shows it in gdb, but for the file. Empty: `quarry gdb --` and this program.
  std::string debug_command{};
};

/// An actor that a world starts: a host thread, as far as scopes go.
using world_core = emu::basic_core<emu::interleaving_memory>;

/// What one execution consists of. The world function is called afresh for every execution that is
/// run; it makes its memory, agents and actors, runs them, and checks what came of it. It runs on a
/// stack of 256 KiB, and so does each actor: a larger frame ends the process (SIGSEGV).
class world {
public:
  class implementation;
  explicit world(implementation& i) noexcept : implementation_(i) {}
  world(world const&) = delete;
  world& operator=(world const&) = delete;

  /// For agents, Gravel nodes and whatever else runs actors.
  [[nodiscard]] executor& scheduler() noexcept;
  /// The world function's own way to memory.
  [[nodiscard]] world_core& host() noexcept;
  [[nodiscard]] emu::allocations& known() noexcept;
  /// Memory that everybody may touch, zeroed unless it is asked for uninitialised.
  template<class T>
  [[nodiscard]] emu::buffer<T>
  allocate(std::size_t count, std::string name = "buffer",
           emu::contents holds = emu::contents::zeroed,
           std::source_location where = std::source_location::current()) {
    return emu::buffer<T>(known(), count, std::move(name), holds, emu::coherence::fine_grained,
                          where);
  }

  /// Starts an actor; what the world function did before comes before it. To be joined: one that
  /// has not ended when the world function returns is a misuse. Reports call the second one of a
  /// name "name #2".
  ///
  /// Errors   std::logic_error – a thread of the world's own does it, beside who runs
  void start(std::string name, std::function<void(world_core&)> body,
             std::source_location where = std::source_location::current());
  /// A coroutine is for start_task().
  template<awaitable_function<world_core&> F>
  void start(std::string name, F body) = delete;
  /// The same for a coroutine. The function outlives its tasks.
  void start_task(std::string name, std::function<task<>(world_core&)> body,
                  std::source_location where = std::source_location::current());
  /// Waits for all that were started. What they did comes before what the world function does next.
  ///
  /// Errors   what the first of them threw, of those that nobody has heard of yet
  void join(std::source_location where = std::source_location::current());

  /// A failure of the world, unless `holds`. The first one counts.
  void check(bool holds, std::string_view what,
             std::source_location where = std::source_location::current());

private:
  implementation& implementation_;
};

/// What would mend a failure.
struct mending {
  std::vector<emu::adjustment> changes; ///< together; each as weak as it can be
  bool is_possible = false;             ///< false: no order, scope or call of a network helps
  std::uint64_t executions = 0;         ///< in which nothing failed any more
  bool is_complete = false;             ///< there are no others
  /// "check main.cpp:12": what fails whatever is stronger, and is another matter.
  std::vector<std::string> others{};
  /// Not empty: why no more was tried. Fewer changes may do then, or, if none is known, some.
  std::string given_up{};
  /// Plain accesses become relaxed ones, which are no race any more; but nothing orders them.
  [[nodiscard]] bool only_silences() const noexcept;
  /// Some of the changes are of that kind.
  [[nodiscard]] bool silences_too() const noexcept;
};

/// What went wrong in an execution.
struct exploration_failure {
  /// "race", "check", "deadlock", "livelock", "eviction", "uninitialised", "misuse", "exception",
  /// "unwinding", or a kernel's fault
  std::string kind;
  /// The source line, the two of a race (sorted), those where actors wait or spin; of an exception
  /// what it says. With `kind`, the failure's class.
  std::string where;
  std::string report;
  std::string history;         ///< the last operations before it, a line each
  std::uint64_t seed = 0;      ///< of the execution; 0: it was searched for, or replayed
  std::uint64_t execution = 0; ///< its number, from 1 on
  choice_record found;         ///< the choices that led there
  choice_record shrunk;        ///< fewer of them, to a failure of the same class
  bool is_repeatable = true;   ///< false: the same choices gave another trace; hidden state
  std::optional<mending> mended{};
  std::string file{};        ///< the replay file; empty: not saved
  std::string replay_line{}; ///< the command that repeats it
  std::string debug_line{};  ///< the command that shows it in gdb
  std::uint64_t equal = 0;   ///< others of its class in the same execution
};

/// What an exploration came to.
struct verdict {
  std::optional<exploration_failure> failure;
  std::uint64_t executions = 0;
  std::uint64_t repeated = 0; ///< not run, since their choices had all been made in earlier ones
  std::uint64_t inconclusive = 0; ///< cut off by most_decisions
  /// Of an exhaustive search: a load could not see all that it might have, since a cache remembers
  /// 8 writes to a word, lets an actor see an old one 32 times in a row and delay 4 stores, 64
  /// updates are seen late, and of a word that others access in parts an atomic access stores at
  /// once, and sees the newest value.
  std::uint64_t limited = 0;
  std::uint64_t redundant = 0;                      ///< given up, as they came to nothing new
  std::string busiest;                              ///< in the last one of those: who, where
  bool is_complete = false;                         ///< there are no others, or none that differ
  std::optional<search_bounds> is_complete_up_to{}; ///< there are no others within them
  bool is_cut_short = false;    ///< exhaustive: the limit of executions has left some out
  bool is_interrupted = false;  ///< explore_options::interrupted has left something out
  std::uint64_t trace_hash = 0; ///< of all executions
  double seconds = 0;           ///< all in all
  double exploring_seconds = 0; ///< without shrinking, diagnosis, narrowing
  std::string name;
  std::vector<emu::adjustment> narrowings; ///< if they were asked for
  std::uint64_t narrowing_executions = 0;  ///< that each was tried in, or in as many of a search
  bool is_narrowed = false;                ///< they were, and each operation was tried
  /// Of a replay: where the execution was another than the recorded one, or what else differs.
  /// Otherwise: where an execution was not what the same choices had led to before.
  std::string divergence;
  /// Of a replay: the recorded failure, which did not come; empty: it did.
  std::string missed;
  std::string left_behind; ///< by a process that died in the exploration of this name: a file
  std::string not_kept;    ///< why nothing could be kept where it is by default

  /// No failure, not even a recorded one; and an execution that has come to its end, if there were
  /// any.
  explicit operator bool() const noexcept {
    return !failure && missed.empty() && (executions == 0 || inconclusive + redundant < executions);
  }
  /// No failure, but of the executions that could show one more than one in `open_from` was cut
  /// off: what has not failed there is not known. "OPEN", and not "OK".
  static constexpr std::uint64_t open_from = 10;
  [[nodiscard]] bool is_open() const noexcept {
    return !failure && missed.empty() && inconclusive > (executions - redundant) / open_from;
  }
  /// Executions that were run, a second; 0: it is not known.
  [[nodiscard]] double run_per_second() const noexcept;
  /// The report, or what was explored and what was not.
  [[nodiscard]] std::string to_string() const;
  /// The same: for test macros, which print what they check.
  template<class Character, class Traits>
  friend auto& operator<<(std::basic_ostream<Character, Traits>& out, verdict const& v) {
    return out << v.to_string();
  }
};

/// Runs the world in many executions, until one fails.
///
/// Everything that the world reaches through Quarry is decided by the choices of the execution; it
/// must keep no state of its own between executions. One whose choices have all been made before
/// counts without being run, but for one in a thousand: is it the same again?
///
/// A program that is started with `--quarry-replay=FILE` (its main() need not know), or with
/// QUARRY_REPLAY in its environment, repeats that failure in the exploration of the same name, with
/// the options that were recorded: what else differs then is said.
///
/// An execution that is cut off, or comes to no end, unwinds its actors by an exception,
/// `abandoned`, which operations and waits throw: a kernel, or an actor, lets it pass, and does
/// neither in a `noexcept` function, where it would end the process. An actor that goes on all the
/// same is left where it is, and that is a failure, "unwinding": what it owns is not freed.
///
/// What a world throws is a failure if it is a std::exception. Anything else goes through, since
/// test frameworks end a test so; stderr is told of the execution first, and what repeats it.
///
/// Errors   whatever else than a std::exception the world has thrown;
///          std::invalid_argument – a strategy that does not exist, naming those that do;
///          `reduces`, `hashes_states` or a bound without "exhaustive", `reduces` with a bound of
///          deviations or with `hashes_states`; "replay"; no executions, no decisions, a negative
///          time to examine a failure; a number of jobs outside the limits, or more than 1 where
///          only 1 can be; a replay file that cannot be read; std::logic_error – an exhaustive
///          search whose world depends on more than its choices, which other strategies say in
///          verdict::divergence; std::system_error – the folder for failures, threads
/// Source   design §8
[[nodiscard]] verdict explore(explore_options const& options,
                              std::function<void(world&)> const& world_function,
                              std::source_location where = std::source_location::current());
/// A world function is plain; its actors may be coroutines, world::start_task().
template<awaitable_function<world&> F>
verdict explore(explore_options const& options, F const& world_function,
                std::source_location where = std::source_location::current()) = delete;

} // namespace quarry
