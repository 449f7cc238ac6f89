// SPDX-License-Identifier: Apache-2.0
// The only file that sees oneTBB.
#include <quarry/assert.hpp>
#include <quarry/native_scheduler.hpp>

#include <fmt/core.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <stdexcept>
#include <thread>

namespace quarry {

static_assert(scheduler<native_scheduler>);

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int pauses = 200; // rounds without progress that only pause: about 10 us
constexpr int yields = 400; // then rounds that yield the processor
constexpr microseconds first_sleep{50};
constexpr microseconds longest_sleep{1000};

void pause() {
  __builtin_ia32_pause();
}

} // namespace

struct native_scheduler::state {
  explicit state(options o)
      : threads(o.threads), stall_timeout(o.stall_timeout),
        arena(static_cast<int>(std::max<std::size_t>(threads, 2)), 1) {}

  std::size_t threads;
  std::chrono::milliseconds stall_timeout;

  std::mutex mutex; // guards the queue, the sleepers and the idle wait
  std::condition_variable changed;
  std::deque<strand*> queue;
  std::size_t sleeping = 0;
  std::function<void(std::chrono::nanoseconds)> idle_wait;
  bool idle_wait_is_taken = false;
  bool is_stopping = false;

  std::atomic<std::size_t> queued{0};  // queue.size(), readable without the lock
  std::atomic<std::size_t> workers{0}; // TBB tasks that run work() now
  std::atomic<std::uint64_t> progress{0};
  oneapi::tbb::task_arena arena;

  strand* take() {
    if (queued.load(std::memory_order_relaxed) == 0)
      return nullptr;
    std::lock_guard const lock(mutex);
    if (queue.empty())
      return nullptr;
    strand* const s = queue.front();
    queue.pop_front();
    queued.store(queue.size(), std::memory_order_relaxed);
    return s;
  }

  void put(strand& s, bool wake) {
    std::lock_guard const lock(mutex);
    queue.push_back(&s);
    queued.store(queue.size(), std::memory_order_relaxed);
    if (wake && sleeping != 0)
      changed.notify_one();
  }

  /// Gives one strand one turn. True if something progressed.
  bool turn() {
    strand* const s = take();
    if (s == nullptr)
      return false;
    // Held against reports; acquire and release hand the actors' states over.
    while (s->is_drained_.exchange(true, std::memory_order_acquire))
      pause();
    strand::turn const t = s->drain();
    s->is_drained_.store(false, std::memory_order_release);
    if (t.again)
      put(*s, t.progressed);
    if (t.progressed)
      progress.fetch_add(1, std::memory_order_relaxed);
    return t.progressed;
  }

  /// What a thread does that has found nothing to do `rounds` times in a row.
  void relax(int rounds, microseconds& sleep) {
    if (rounds < pauses) {
      pause();
      sleep = first_sleep;
    } else if (rounds < pauses + yields) {
      std::this_thread::yield();
    } else {
      block(sleep);
      sleep = std::min(2 * sleep, longest_sleep);
    }
  }

  void block(microseconds at_most) {
    std::unique_lock lock(mutex);
    if (is_stopping)
      return;
    if (idle_wait && !idle_wait_is_taken) {
      idle_wait_is_taken = true;
      auto const wait = idle_wait;
      lock.unlock();
      wait(at_most);
      lock.lock();
      idle_wait_is_taken = false;
      return;
    }
    ++sleeping;
    changed.wait_for(lock, at_most);
    --sleeping;
  }

  /// A TBB task: drains strands until there have been none for a while.
  void work() {
    microseconds sleep = first_sleep;
    for (int rounds = 0; rounds < pauses + yields || queued.load(std::memory_order_relaxed) != 0;) {
      if (turn())
        rounds = 0;
      else
        relax(++rounds, sleep);
    }
    workers.fetch_sub(1, std::memory_order_seq_cst);
    // A strand that came between the last look and the line above must not be left alone.
    if (queued.load(std::memory_order_seq_cst) != 0)
      start_worker();
  }

  void start_worker() {
    std::size_t running = workers.load(std::memory_order_relaxed);
    do {
      if (running + 1 >= threads) // the thread in run_until() is one of them
        return;
    } while (!workers.compare_exchange_weak(running, running + 1, std::memory_order_seq_cst));
    arena.enqueue([this] { work(); });
  }
};

native_scheduler::native_scheduler() : native_scheduler(options{}) {}

native_scheduler::native_scheduler(options o) {
  constexpr std::size_t most_threads = 1024;
  if (o.threads > most_threads)
    throw std::invalid_argument(
        fmt::format("native_scheduler: {} threads asked for, at most {}", o.threads, most_threads));
  if (o.stall_timeout.count() <= 0)
    throw std::invalid_argument(fmt::format(
        "native_scheduler: stall timeout is {} ms, it must be positive", o.stall_timeout.count()));
  if (o.threads == 0)
    o.threads = std::max(1U, std::thread::hardware_concurrency());
  state_ = std::make_unique<state>(o);
}

native_scheduler::~native_scheduler() {
  {
    std::lock_guard const lock(state_->mutex);
    state_->is_stopping = true;
    state_->changed.notify_all();
  }
  while (state_->workers.load(std::memory_order_acquire) != 0)
    std::this_thread::yield();
}

void native_scheduler::make_ready(actor& a) {
  strand& s = *a.home;
  actor* newest = s.inbox_.load(std::memory_order_relaxed);
  do
    a.next = newest;
  while (!s.inbox_.compare_exchange_weak(newest, &a, std::memory_order_seq_cst));
  // The other half of the handshake in strand::try_to_idle().
  if (!s.is_scheduled_.exchange(true, std::memory_order_seq_cst)) {
    state_->put(s, true);
    state_->start_worker();
  }
}

void native_scheduler::post(strand& s, wake_workers wake) {
  if (s.is_scheduled_.exchange(true, std::memory_order_seq_cst))
    return;
  state_->put(s, wake == wake_workers::yes);
  if (wake == wake_workers::yes)
    state_->start_worker();
}

void native_scheduler::notify() {
  std::lock_guard const lock(state_->mutex);
  state_->changed.notify_all();
}

bool native_scheduler::run_until(bool (*is_over)(void*), void* argument) {
  microseconds sleep = first_sleep;
  int rounds = 0;
  std::uint64_t seen = state_->progress.load(std::memory_order_relaxed);
  auto since = clock::now();
  while (!is_over(argument)) {
    if (state_->turn()) {
      rounds = 0;
      continue;
    }
    if (++rounds >= pauses) { // the clock is read only when there is time to do so
      std::uint64_t const now = state_->progress.load(std::memory_order_relaxed);
      if (now != seen) {
        seen = now;
        since = clock::now();
      } else if (clock::now() - since > state_->stall_timeout) {
        return is_over(argument);
      }
    }
    state_->relax(rounds, sleep);
  }
  return true;
}

void native_scheduler::set_idle_wait(std::function<void(std::chrono::nanoseconds)> wait) {
  std::unique_lock lock(state_->mutex);
  // The old function may be about to go away with its owner: wait until nobody is in it.
  while (state_->idle_wait_is_taken) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  state_->idle_wait = std::move(wait);
}

std::size_t native_scheduler::thread_count() const noexcept {
  return state_->threads;
}

} // namespace quarry
