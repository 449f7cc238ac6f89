// SPDX-License-Identifier: Apache-2.0
// How a node begins and ends, and who waits.
#include "../farewell.hpp"
#include "engine.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/net/error.hpp>
#include <quarry/net/in_process.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace quarry::net::shmem {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int yields = 400;   // rounds of a wait that yield the processor, where that costs little
constexpr int few_yields = 8; // where each asks all connections, and blocking is as good
constexpr microseconds first_sleep{50};
constexpr microseconds long_sleep{100'000}; // an arrival, or a ring, ends it
constexpr microseconds short_sleep{1'000};  // and in the long run a sixteenth of the wait, up to
constexpr microseconds long_run_sleep{10'000};
constexpr milliseconds idler_looks{1}; // who has called a moment ago will do so again
constexpr milliseconds idler_looks_at_last{16};

} // namespace

// Beginning and ending

engine::engine(executor& scheduler, emu::allocations* known,
               std::unique_ptr<transport_port> transport, node::options const& o,
               std::source_location where)
    : user_heap((o.heap_bytes + 63) / 64 * 64), scheduler_(scheduler), explored_(scheduler),
      known_(known == nullptr ? own_known_ : *known), transport_(std::move(transport)), options_(o),
      timeout_(o.timeout.value_or(transport_->timeout())), self_(transport_->self()),
      count_(transport_->pe_count()), decides_(scheduler.decides()),
      knows_sites_(decides_ && dynamic_cast<in_process*>(transport_.get()) != nullptr),
      spins_(count_ > std::thread::hardware_concurrency() ? 1 : 64),
      native_(dynamic_cast<native_scheduler*>(&scheduler)),
      // Nothing wakes such a thread for its kernels: it must look after them now and then.
      runs_kernels_alone_(native_ != nullptr && known != nullptr && native_->thread_count() == 1),
      shares_memory_(!decides_ && o.shares_memory &&
                     dynamic_cast<in_process*>(transport_.get()) != nullptr),
      region_(std::make_shared<region>(o.heap_bytes, internal_bytes(o))), peers_(count_) {
  if (known == nullptr)
    explored_.explore(own_known_);
  exposed_.emplace(known_, region_->heap.begin(), region_->heap.size(),
                   "symmetric heap of " + to_string(self_), emu::contents::zeroed,
                   emu::coherence::fine_grained, where);
  peers_[self_.id].has_met = true;
  if (!decides_)
    peers_[self_.id].memory = region_;
  internal_context = make_context();
  user_context = make_context();
}

engine::~engine() = default;

result<void> engine::meet(std::source_location where) {
  begin();
  message m{.kind = message_kind::hello};
  m.length = region_->user_bytes;
  m.value = shares_memory_ ? enroll(region_) : 0;
  m.second = shape_of(options_);
  m.id = protocol_version;
  for (std::uint32_t id = 0; id < count_; ++id)
    if (id != self_.id)
      post(pe{id}, m, {});
  auto const all_here = [this] {
    std::lock_guard const lock(mutex_);
    return std::all_of(peers_.begin(), peers_.end(), [](peer const& p) { return p.has_met; });
  };
  if (auto const met = wait({"start", where}, all_here); !met)
    return met;
  answers_.take();
  is_all_direct_ =
      std::all_of(peers_.begin(), peers_.end(), [](peer const& p) { return p.memory != nullptr; });
  if (!decides_ && !is_all_direct_)
    idler_ = std::thread([this] { progress_while_idle(); });
  return {};
}

void engine::stop() {
  stop_.store(true, std::memory_order_release);
  {
    std::lock_guard const lock(idle_mutex_);
    idle_changed_.notify_all();
  }
  kick();
  if (idler_.joinable())
    idler_.join();
  while (running_.load(std::memory_order_acquire) != 0 &&
         !scheduler_.run_until([this] { return running_.load(std::memory_order_acquire) == 0; }))
    if (decides_)
      return; // nobody can go on: the strands take their actors with them
  // That it has failed, say.
  auto const deadline = clock::now() + farewell_patience;
  while (!decides_ && queued_.load() != 0 && clock::now() < deadline)
    if (!drive())
      std::this_thread::sleep_for(first_sleep);
}

result<void> engine::finish(std::source_location where) {
  if (!decides_) {
    auto const is_sent = [this] {
      static_cast<void>(drive());
      return queued_.load(std::memory_order_relaxed) == 0;
    };
    if (auto const sent = wait({"finish", where}, is_sent); !sent)
      return sent;
  }
  stop();
  auto const left = transport_->finish();
  if (!left)
    return error{left.error().code, fmt::format("shmem: finish: {}", left.error().what)};
  // Whatever is called from now on says so.
  fail(make_error(net_errc::already_finished, "finish() has ended this pe's part in the job"),
       told::nobody);
  return {};
}

// Waiting

/// While one lives, the idler leaves the transport to who waits.
class engine::driving {
public:
  explicit driving(engine& e) : engine_(e) {
    engine_.drivers_.fetch_add(1, std::memory_order_seq_cst);
    engine_.touch();
  }
  driving(driving const&) = delete;
  driving& operator=(driving const&) = delete;
  ~driving() {
    if (engine_.drivers_.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        engine_.idler_is_off_.load(std::memory_order_seq_cst)) {
      std::lock_guard const lock(engine_.idle_mutex_);
      engine_.idle_changed_.notify_all();
    }
  }

private:
  engine& engine_;
};

bool engine::progress() {
  // Where nothing comes by messages, what may come is that a pe has gone.
  if (decides_ || (is_all_direct_ && calls_.fetch_add(1, std::memory_order_relaxed) % 64 != 0))
    return false;
  touch();
  return drive();
}

void engine::touch() {
  if (is_all_direct_)
    return;
  calls_.fetch_add(1, std::memory_order_seq_cst);
  kick();
}

void engine::kick() {
  if (is_waiting_inside_.load(std::memory_order_seq_cst))
    transport_->interrupt();
}

result<void> engine::wait_long(operation const& what, bool (*is_over)(void*), void* argument) {
  if (!decides_)
    return wait_natively(what, is_over, argument);
  auto const ends = [&] { return has_failed() || is_over(argument); };
  bool const over = scheduler_.run_until(ends, {what.name, what.where});
  if (has_failed())
    return failed(what);
  if (!over)
    return timed_out(what, "nothing progresses\n" + scheduler_.report_now().to_string());
  emu::bring_to_host(); // what has arrived in its heap
  return {};
}

result<void> engine::wait_natively(operation const& what, bool (*is_over)(void*), void* argument) {
  driving const now(*this);
  auto const begun = clock::now();
  int const most_rounds = spins_ + (is_all_direct_ ? yields : few_yields);
  microseconds sleep = first_sleep;
  int rounds = 0; // since anything moved
  for (unsigned looks = 0;; ++looks) {
    if (is_over(argument))
      return {};
    if (has_failed())
      return failed(what);
    bool const blocks = rounds >= most_rounds;
    bool moved = false;
    if (!is_all_direct_ || blocks || looks % 16 == 15)
      moved = drive();
    if (blocks || looks % 8 == 7)
      moved |= native_ != nullptr && native_->run_turn();
    if (blocks || looks % 32 == 31) {
      if (auto const why = ask_about(clock::now() - begun))
        return is_over(argument) ? result<void>{} : timed_out(what, *why);
    }
    if (moved) {
      rounds = 0;
      sleep = first_sleep;
      continue;
    }
    if (blocks) {
      if (block(sleep, is_over, argument))
        return {};
      sleep = std::min(2 * sleep, longest_sleep(clock::now() - begun));
    } else if (++rounds < spins_) {
      __builtin_ia32_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

/// Of who has waited so long.
microseconds engine::longest_sleep(std::chrono::nanoseconds waited) const {
  microseconds const longest = std::min<microseconds>(long_sleep, timeout_ / 8);
  if (!runs_kernels_alone_)
    return longest;
  auto const part = std::chrono::duration_cast<microseconds>(waited) / 16;
  return std::min(longest, std::clamp(part, short_sleep, long_run_sleep));
}

bool engine::block(std::chrono::nanoseconds at_most, bool (*is_over)(void*), void* argument) {
  if (is_all_direct_ || !transport_->try_enter())
    return region_->arrivals.sleep(at_most, [&] { return is_over(argument); });
  wait_inside(at_most);
  transport_->leave();
  return false;
}

void engine::wait_inside(std::chrono::nanoseconds at_most) {
  is_waiting_inside_.store(true, std::memory_order_seq_cst);
  if (queued_.load(std::memory_order_seq_cst) == 0)
    transport_->wait(at_most);
  else // for room, which nobody may tell us of
    transport_->wait(std::min<std::chrono::nanoseconds>(at_most, 2 * first_sleep));
  is_waiting_inside_.store(false, std::memory_order_relaxed);
}

bool engine::idle(std::chrono::nanoseconds at_most) {
  if (is_over() || !transport_->try_enter()) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(at_most, first_sleep));
    return false;
  }
  auto const begun = clock::now();
  wait_inside(at_most);
  transport_->leave();
  // The others could not enter meanwhile, and may not when their turn comes again.
  return drive() || clock::now() - begun < at_most;
}

/// A thread of its own, for others' operations while no host thread waits: it sleeps in the
/// transport, and stays out of it as long as somebody else drives, or has called a moment ago. Who
/// calls need not drive, if what it waits for is there already: then this thread does at each look.
void engine::progress_while_idle() {
  std::uint64_t seen = 0;
  std::uint64_t driven = 0;
  milliseconds next_look = idler_looks;
  auto const is_stopped = [this] { return stop_.load(std::memory_order_acquire); };
  auto const drive_alone = [&] {
    bool const moved = drive();
    driven = drives_.load(std::memory_order_relaxed);
    return moved;
  };
  while (!is_stopped()) {
    std::uint64_t const calls = calls_.load(std::memory_order_seq_cst);
    bool const is_recent = std::exchange(seen, calls) != calls;
    std::uint64_t const drives = drives_.load(std::memory_order_relaxed);
    bool const is_driven = std::exchange(driven, drives) != drives;
    next_look = is_recent && is_driven ? std::min(2 * next_look, idler_looks_at_last) : idler_looks;
    if (is_recent && !is_driven && !has_failed())
      static_cast<void>(drive_alone());
    if (drivers_.load(std::memory_order_seq_cst) != 0 || is_recent || has_failed()) {
      std::unique_lock lock(idle_mutex_);
      if (is_recent && !has_failed()) {
        idle_changed_.wait_for(lock, next_look, is_stopped);
        continue;
      }
      idler_is_off_.store(true, std::memory_order_seq_cst); // who stops driving tells us
      idle_changed_.wait_for(lock, milliseconds(500), [&] {
        return is_stopped() || (drivers_.load(std::memory_order_seq_cst) == 0 && !has_failed());
      });
      idler_is_off_.store(false, std::memory_order_relaxed);
      continue;
    }
    if (drive_alone())
      continue;
    if (!transport_->try_enter()) { // somebody sleeps there, who looks when something comes
      std::unique_lock lock(idle_mutex_);
      idle_changed_.wait_for(lock, idler_looks_at_last, is_stopped);
      continue;
    }
    is_waiting_inside_.store(true, std::memory_order_seq_cst);
    if (drivers_.load(std::memory_order_seq_cst) == 0 &&
        calls_.load(std::memory_order_seq_cst) == calls && !is_stopped())
      transport_->wait(milliseconds(200));
    is_waiting_inside_.store(false, std::memory_order_relaxed);
    transport_->leave();
  }
}

} // namespace quarry::net::shmem
