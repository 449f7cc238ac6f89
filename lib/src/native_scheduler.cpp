// SPDX-License-Identifier: Apache-2.0
// The only file that sees oneTBB, with thread_demand.hpp.
#include "idleness.hpp"
#include "left_strands.hpp"
#include "stall_watch.hpp"
#include "strand_queue.hpp"
#include "thread_demand.hpp"
#include "turn_exceptions.hpp"
#include "worker_door.hpp"

#include <quarry/assert.hpp>
#include <quarry/brief_lock.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sanitizers.hpp>
#include <quarry/what_was_thrown.hpp>

#include <fmt/core.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if QUARRY_TSAN
// oneTBB hands a task over inside its library, which TSan does not see.
extern "C" [[gnu::weak]] char const* __tsan_default_suppressions();
extern "C" [[gnu::weak]] char const* __tsan_default_suppressions() {
  return "race:tbb::detail::d1::enqueue_task\n";
}
#endif

namespace quarry {

static_assert(scheduler<native_scheduler>);

namespace {

using std::chrono::microseconds;

/// In whose turn the thread is; null outside.
thread_local strand* in_turn_of = nullptr;

/// Whose actors the thread runs itself, while a native_scheduler::runs_itself lives there.
thread_local native_scheduler const* runs_itself_of = nullptr;

void pause() {
  __builtin_ia32_pause();
}

/// Starts so many threads and ends them: TBB would end the process where it cannot.
void check_threads(std::size_t count) {
  std::mutex held;
  std::vector<std::jthread> threads;
  std::lock_guard const until_all_are_there(held);
  try {
    while (threads.size() < count)
      threads.emplace_back([&held] { std::lock_guard const waits(held); });
  } catch (std::system_error const& e) {
    throw std::system_error(e.code(),
                            fmt::format("{} of {} threads can be started", threads.size(), count));
  }
}

} // namespace

struct native_scheduler::state {
  explicit state(options o)
      : threads(o.threads), stall_timeout(o.stall_timeout), demand(threads),
        arena(static_cast<int>(std::max<std::size_t>(threads, 2)), 1) {}

  std::size_t threads;
  std::chrono::milliseconds stall_timeout;

  std::mutex mutex; // guards the queue, the sleepers and the idle wait
  std::condition_variable changed;
  strand_queue queue;
  std::size_t sleeping = 0;
  std::function<bool(std::chrono::nanoseconds)> idle_wait;
  bool idle_wait_is_taken = false;
  std::size_t idle_wait_changers = 0; // threads in set_idle_wait()

  std::atomic<bool> is_stopping{false};
  std::atomic<bool> polls_briefly{false}; // who is idle
  std::atomic<std::size_t> queued{0};     // queue.size(), readable without the lock
  std::atomic<std::uint64_t> news{0};     // reasons to look again so far: a sleeper compares
  std::atomic<std::size_t> workers{0};    // TBB tasks that run work() now
  std::atomic<std::uint64_t> progress{0};
  thread_demand demand;
  oneapi::tbb::task_arena arena;
  worker_door& door = worker_door::make(); // who is in may touch all this

  strand* take() {
    if (queued.load(std::memory_order_relaxed) == 0)
      return nullptr;
    brief_lock const lock(mutex);
    if (queue.is_empty())
      return nullptr;
    strand* const s = &queue.pop_front();
    queued.store(queue.size(), std::memory_order_relaxed);
    // Under the lock: remove() finds a strand in the queue or in somebody's hand.
    s->holder_count_.fetch_add(1, std::memory_order_relaxed);
    return s;
  }

  void put(strand& s, bool wake) {
    brief_lock const lock(mutex);
    queue.push_back(s);
    // seq_cst: with the load in start_worker() against those at the end of work().
    queued.store(queue.size(), std::memory_order_seq_cst);
    if (wake)
      tell(1);
  }

  /// Under the lock.
  void tell(std::size_t how_many) {
    news.fetch_add(1, std::memory_order_relaxed);
    if (sleeping == 0)
      return;
    if (how_many == 1)
      changed.notify_one();
    else
      changed.notify_all();
  }

  /// What a turn lets out, for want of memory, ends the process: an actor would be lost, for which
  /// others wait.
  static strand::turn drain(strand& s) noexcept {
    turn_exceptions const its_own;
    try {
      return s.drain();
    } catch (...) {
      fmt::print(stderr, "quarry: a turn of strand \"{}\" {}\n", s.name(), what_was_thrown());
      std::terminate();
    }
  }

  /// Gives one strand one turn. True if something progressed.
  bool turn() {
    strand* const s = take();
    if (s == nullptr)
      return false;
    // Held against reports, and against a worker whose last turn of it ends just now; acquire and
    // release hand the actors' states over.
    while (s->is_drained_.exchange(true, std::memory_order_acquire))
      std::this_thread::yield();
    s->begin_or_end_turn();
    strand* const outer = std::exchange(in_turn_of, s);
    strand::turn const t = drain(*s);
    in_turn_of = outer;
    if (t.progressed) // before others can see what came of it
      progress.fetch_add(1, std::memory_order_relaxed);
    s->begin_or_end_turn();
    s->is_drained_.store(false, std::memory_order_release);
    if (t.again)
      put(*s, t.progressed);
    // The last touch: remove() waits for it. Release: what happened here is over by then.
    s->holder_count_.fetch_sub(1, std::memory_order_release);
    return t.progressed;
  }

  /// One round of a thread that has found nothing to do, and had heard `heard` news before it
  /// looked the last time.
  void relax(idleness& i, std::uint64_t heard) {
    switch (i.next(polls_briefly.load(std::memory_order_relaxed))) {
    case idleness::step::pause:
      return pause();
    case idleness::step::yield:
      return std::this_thread::yield();
    case idleness::step::sleep:
      if (block(i.next_sleep(), heard) == woken::early)
        i.end(); // what has come takes more than one look
    }
  }

  enum class woken : bool { in_time, early };
  /// Early: by what came over the network.
  woken block(microseconds at_most, std::uint64_t heard) {
    std::unique_lock lock(mutex);
    // News since then were told to the sleepers, of whom we were none: sleeping now would delay
    // what is in the queue.
    if (is_stopping || news.load(std::memory_order_relaxed) != heard)
      return woken::in_time;
    if (idle_wait && !idle_wait_is_taken && idle_wait_changers == 0) {
      idle_wait_is_taken = true; // until then set_idle_wait() leaves the function alone
      lock.unlock();
      bool const is_early = idle_wait(at_most);
      lock.lock();
      idle_wait_is_taken = false;
      return is_early ? woken::early : woken::in_time;
    }
    ++sleeping;
    changed.wait_for(lock, at_most);
    --sleeping;
    return woken::in_time;
  }

  /// A TBB task: drains strands until there have been none for a while.
  void work() {
    for (idleness idle; !is_stopping.load(std::memory_order_relaxed) &&
                        (!idle.is_long() || queued.load(std::memory_order_relaxed) != 0);) {
      std::uint64_t const heard = idle.heard(news.load(std::memory_order_relaxed));
      if (turn())
        idle.end();
      else if (idle.has_looked_at(queued.load(std::memory_order_relaxed)))
        relax(idle, heard);
    }
    workers.fetch_sub(1, std::memory_order_seq_cst);
    // A strand that came between the last look and the line above must not be left alone: either
    // start_worker() saw one worker less, or we see its strand.
    leave_to_workers();
  }

  void start_worker() {
    std::size_t running = workers.load(std::memory_order_seq_cst);
    do {
      if (running + 1 >= threads || is_stopping) // the thread in run_until() is one of them
        return;
    } while (!workers.compare_exchange_weak(running, running + 1, std::memory_order_seq_cst));
    door.expect();
    try {
      // The closure itself is written here and read there: not to be looked at by TSan, see
      // enter().
      arena.enqueue([this, d = &door]() __attribute__((no_sanitize("thread"))) {
        if (d->enter())
          work();
        d->leave();
      });
    } catch (...) {
      return; // no memory, or no thread: TBB has the task or not; the threads that there are work
    }
  }

  /// Before a thread stops running strands: what it has put back must not be left alone.
  void leave_to_workers() {
    if (queued.load(std::memory_order_seq_cst) == 0)
      return;
    {
      brief_lock const lock(mutex);
      tell(1); // a sleeper is a worker that need not be started
    }
    start_worker();
  }

  /// Takes the strand out of the queue, and waits for those who hold it.
  void forget(strand& s) noexcept {
    for (;;) {
      {
        std::lock_guard const lock(mutex);
        queue.remove(s);
        queued.store(queue.size(), std::memory_order_relaxed);
        // Acquire: pairs with the release at the end of turn().
        if (s.holder_count_.load(std::memory_order_acquire) == 0)
          return;
      }
      std::this_thread::yield();
    }
  }
};

unsigned usable_threads() noexcept {
  return static_cast<unsigned>(std::max(1, oneapi::tbb::info::default_concurrency()));
}

native_scheduler::native_scheduler() : native_scheduler(options{}) {}

native_scheduler::native_scheduler(options o) {
  debug_entry().kind = name;
  constexpr std::size_t most_threads = 1024;
  if (o.threads > most_threads)
    throw std::invalid_argument(
        fmt::format("native_scheduler: {} threads asked for, at most {}", o.threads, most_threads));
  if (o.stall_timeout.count() <= 0)
    throw std::invalid_argument(fmt::format(
        "native_scheduler: stall timeout is {} ms, it must be positive", o.stall_timeout.count()));
  if (o.threads == 0)
    o.threads = usable_threads();
  if (o.threads > usable_threads())
    check_threads(o.threads);
  state_ = std::make_unique<state>(o);
}

native_scheduler::~native_scheduler() {
  need_no_strands(debug_entry());
  {
    std::lock_guard const lock(state_->mutex);
    state_->is_stopping = true;
    state_->changed.notify_all();
  }
  state_->door.close();
}

void native_scheduler::remove(strand& s) noexcept {
  executor::remove(s); // first: no report begins to read it
  state_->forget(s);
}

void native_scheduler::make_ready(actor& a) {
  strand& s = *a.home;
  if (!s.push(a))
    return;
  bool const wakes = runs_itself_of != this;
  state_->put(s, wakes);
  if (wakes)
    state_->start_worker();
}

native_scheduler::runs_itself::runs_itself(native_scheduler const& s) noexcept
    : outer_(std::exchange(runs_itself_of, &s)) {}

native_scheduler::runs_itself::~runs_itself() {
  runs_itself_of = outer_;
}

void native_scheduler::post(strand& s, wake_workers wake) {
  if (!s.schedule())
    return;
  state_->put(s, wake == wake_workers::yes);
  if (wake == wake_workers::yes)
    state_->start_worker();
}

void native_scheduler::notify() {
  brief_lock const lock(state_->mutex);
  state_->tell(state_->sleeping);
}

strand const* native_scheduler::turn() const noexcept {
  return in_turn_of;
}

/// While it lives, the thread is outside of the turn that it is in: an actor that waits here only
/// polls, and nobody is to wait for the end of its strand's turn. Another scheduler's turn goes on:
/// nothing that is done here is that one's progress.
class native_scheduler::outside_of_turn {
public:
  explicit outside_of_turn(native_scheduler& s) noexcept
      : scheduler_(s), waiting_(std::exchange(in_turn_of, nullptr)) {
    begin_or_end();
  }
  outside_of_turn(outside_of_turn const&) = delete;
  outside_of_turn& operator=(outside_of_turn const&) = delete;
  ~outside_of_turn() { // also by what a predicate throws
    begin_or_end();
    in_turn_of = waiting_;
    scheduler_.state_->leave_to_workers();
  }

private:
  void begin_or_end() noexcept {
    if (waiting_ != nullptr && &waiting_->owner() == &scheduler_)
      waiting_->begin_or_end_turn();
  }

  native_scheduler& scheduler_;
  strand* waiting_;
};

bool native_scheduler::run_until(bool (*is_over)(void*), void* argument, wait_site const&) {
  outside_of_turn const now(*this);
  return work_until(is_over, argument);
}

bool native_scheduler::run_turn() {
  outside_of_turn const now(*this);
  return state_->turn();
}

bool native_scheduler::work_until(bool (*is_over)(void*), void* argument) {
  idleness idle;
  stall_watch watch(*this, state_->progress, state_->stall_timeout);
  for (;;) {
    std::uint64_t const heard = idle.heard(state_->news.load(std::memory_order_relaxed));
    if (is_over(argument))
      return true;
    if (state_->turn()) {
      idle.end();
      continue;
    }
    if (!idle.has_looked_at(state_->queued.load(std::memory_order_relaxed)))
      continue;
    // The clock is read only when there is time to do so.
    if (idle.has_paused() && watch.is_stalled())
      return is_over(argument);
    state_->relax(idle, heard);
  }
}

void native_scheduler::set_idle_wait(std::function<bool(std::chrono::nanoseconds)> wait,
                                     idle_polling polling) {
  std::unique_lock lock(state_->mutex);
  // The old function may be about to go away with its owner: nobody new enters it, and we wait
  // until nobody is in it. A thread in it calls it by reference, so it must not change before.
  ++state_->idle_wait_changers;
  while (state_->idle_wait_is_taken) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  --state_->idle_wait_changers;
  state_->idle_wait = std::move(wait);
  state_->polls_briefly = polling == idle_polling::brief;
}

std::size_t native_scheduler::thread_count() const noexcept {
  return state_->threads;
}

} // namespace quarry
