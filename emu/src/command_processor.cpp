// SPDX-License-Identifier: Apache-2.0

#include "explore/explored_memory.hpp"

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/event.hpp>
#include <quarry/misuse.hpp>
#include <quarry/strand.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/what_was_thrown.hpp>
#include <quarry/yield.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace quarry::emu {

/// A service on its core.
struct command_processor::entry {
  std::unique_ptr<any_service> service;
  core* on = nullptr;
  bool has_failed = false; ///< the core's own: it is not served any more
  std::atomic<bool> leaves{false};
  std::atomic<bool> is_gone{false};
};

class command_processor::core {
public:
  core(agent_core& agent, std::uint32_t number, std::uint32_t rounds)
      : agent_(agent), rounds_(rounds),
        strand_(agent.scheduler(), fmt::format("command processor core {}", number)) {}
  core(core const&) = delete;
  core& operator=(core const&) = delete;

  /// Ends the actor, if there is one.
  ~core() {
    is_stopping_.store(true, std::memory_order_release);
    wake();
    executor& scheduler = agent_.scheduler();
    while (!scheduler.run_until([this] { return !is_running_.load(std::memory_order_acquire); }))
      if (scheduler.decides())
        return; // nobody can go on: the strand takes its actor with it
  }

  void add(entry& e) {
    bool is_first = false;
    {
      std::lock_guard const lock(mutex_);
      coming_.push_back(&e);
      ++count_;
      is_first = !is_running_.exchange(true, std::memory_order_relaxed);
    }
    try {
      begins_.give();
      has_news_.store(true, std::memory_order_release);
      if (!is_first)
        return wake();
      if (agent_.scheduler().decides())
        strand_.spawn(run<interleaving_memory>(), strand_.name());
      else
        strand_.spawn(run<native_memory>(), strand_.name());
    } catch (...) { // as if it had not come
      std::lock_guard const lock(mutex_);
      std::erase(coming_, &e);
      --count_;
      if (is_first)
        is_running_.store(false, std::memory_order_relaxed);
      throw;
    }
  }

  /// False if the actor will not take note of it: nobody can go on in this execution. Natively a
  /// service that does not leave poll() is waited for.
  [[nodiscard]] bool leave(entry& e) noexcept {
    if (is_here() && !agent_.scheduler().decides())
      misuse("command processor: a service ends a serving of its own core, which would wait for "
             "itself; another core's, or whoever began it, can");
    e.leaves.store(true, std::memory_order_release);
    has_news_.store(true, std::memory_order_release);
    wake();
    auto const is_gone = [&e] { return e.is_gone.load(std::memory_order_acquire); };
    executor& scheduler = agent_.scheduler();
    for (bool is_told = false; !scheduler.run_until(is_gone); is_told = true) {
      if (!is_told)
        tell_who_stays(e);
      if (scheduler.decides())
        break;
    }
    ends_.take();
    std::lock_guard const lock(mutex_);
    --count_;
    return e.is_gone.load(std::memory_order_acquire);
  }
  /// For as long as the actor may look at it.
  void keep(std::unique_ptr<entry> e) { kept_.push_back(std::move(e)); }

  /// Where a scheduler decides, it asks: nobody waits for the bell.
  void wake() noexcept {
    if (!agent_.scheduler().decides())
      bell_.set();
  }
  [[nodiscard]] bool is_here() const noexcept { return agent_.scheduler().turn() == &strand_; }

  [[nodiscard]] std::size_t service_count() {
    std::lock_guard const lock(mutex_);
    return count_;
  }

private:
  template<memory_model M>
  task<> run() {
    actor& me = co_await this_actor();
    executor& scheduler = agent_.scheduler();
    if (auto* const memory = explored_memory::of(scheduler))
      memory->join_core(me, agent_);
    basic_core<M> self({&me, &scheduler, nullptr});
    bool is_in_vain = false; // there was work, as a service says, which it could not do yet
    while (!is_stopping_.load(std::memory_order_acquire)) {
      if (scheduler.decides())
        scheduler.tell_all(me); // what turns up elsewhere is no word of memory
      else
        bell_.reset(); // before the look: what turns up after it rings again
      take_news();
      task<bool> round = serve_all(self);
      bool const has_worked = co_await std::move(round);
      if (has_worked || std::exchange(is_in_vain, false)) {
        co_await yield();
        continue;
      }
      if (!scheduler.decides() && may_sleep()) {
        co_await bell_.wait();
        continue;
      }
      auto const is_time = [this, &self, &scheduler] { // to work, or to sleep
        return has_something(self) || (!scheduler.decides() && may_sleep());
      };
      poll_until wait(is_time);
      is_in_vain = !co_await wait;
    }
    take_news();
    is_running_.store(false, std::memory_order_release);
    scheduler.notify();
  }

  /// A turn for each. True if there was work.
  template<memory_model M>
  task<bool> serve_all(basic_core<M>& self) {
    bool any = false;
    for (auto const& s : services_) {
      bool worked = !s->leaves.load(std::memory_order_acquire) && !s->has_failed;
      for (std::uint32_t r = 0; r < rounds_ && worked; ++r) {
        try {
          task<bool> polled = s->service->poll(self);
          worked = co_await std::move(polled);
        } catch (abandoned const&) { // the service may have gone
          throw;
        } catch (...) {
          blame(*s);
          worked = false;
        }
        any |= worked;
      }
    }
    co_return any;
  }

  /// In a `catch (...)`: what the service threw has failed the execution that is explored; nobody
  /// expects it elsewhere.
  void blame(entry& e) {
    auto* const memory = explored_memory::of(agent_.scheduler());
    if (memory == nullptr)
      throw;
    try {
      throw;
    } catch (kernel_stop const& stop) {
      memory->found(stop, e.service->name());
    } catch (...) {
      memory->found({"exception", e.service->name(),
                     fmt::format("{} {}", e.service->name(), what_was_thrown())});
    }
    e.has_failed = true;
  }

  /// Nobody can go on, and the service is still at work.
  void tell_who_stays(entry const& e) {
    executor& scheduler = agent_.scheduler();
    fault const stuck = agent_.stuck(
        fmt::format("{}: its serving ends, and it does not leave poll()", e.service->name()));
    auto* const memory = explored_memory::of(scheduler);
    if (!scheduler.decides())
      fmt::print(stderr, "quarry: {}", stuck.report);
    else if (memory != nullptr && !memory->is_being_left())
      memory->found(stuck);
  }

  /// Only looks.
  template<memory_model M>
  bool has_something(basic_core<M>& self) {
    return is_stopping_.load(std::memory_order_acquire) ||
           has_news_.load(std::memory_order_acquire) ||
           std::any_of(services_.begin(), services_.end(),
                       [&](entry* e) { return !e->has_failed && e->service->has_work(self); });
  }

  bool may_sleep() {
    return !has_news_.load(std::memory_order_acquire) &&
           !is_stopping_.load(std::memory_order_acquire) &&
           std::all_of(services_.begin(), services_.end(),
                       [](entry* e) { return e->service->may_sleep(); });
  }

  void take_news() {
    if (!has_news_.exchange(false, std::memory_order_acq_rel))
      return;
    begins_.take();
    {
      std::lock_guard const lock(mutex_);
      services_.insert(services_.end(), coming_.begin(), coming_.end());
      coming_.clear();
    }
    bool has_left = false;
    std::erase_if(services_, [&](entry* e) {
      if (!e->leaves.load(std::memory_order_acquire))
        return false;
      ends_.give();
      e->is_gone.store(true, std::memory_order_release); // from now on it may be destroyed
      return has_left = true;
    });
    if (has_left)
      agent_.scheduler().notify();
  }

  agent_core& agent_;
  std::uint32_t const rounds_;
  std::mutex mutex_; ///< guards coming_ and count_
  std::vector<entry*> coming_;
  std::size_t count_ = 0;
  std::vector<entry*> services_; ///< the actor's own
  std::vector<std::unique_ptr<entry>> kept_;
  std::atomic<bool> has_news_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_running_{false};
  handover begins_, ends_; ///< what coming and leaving order, for `explore`
  event bell_;
  strand strand_; ///< last, so first to go: its actor uses the others
};

command_processor::command_processor(agent_core& agent, options o) {
  constexpr std::uint32_t most_cores = 64, most_rounds = 65536;
  if (o.cores == 0 || o.cores > most_cores)
    throw std::invalid_argument(
        fmt::format("command processor: {} cores; allowed are 1 to {}", o.cores, most_cores));
  if (o.rounds == 0 || o.rounds > most_rounds)
    throw std::invalid_argument(fmt::format(
        "command processor: {} rounds a service; allowed are 1 to {}", o.rounds, most_rounds));
  for (std::uint32_t i = 0; i < o.cores; ++i)
    cores_.push_back(std::make_unique<core>(agent, i, o.rounds));
}

command_processor::~command_processor() {
  if (service_count() != 0)
    misuse("an agent is destroyed before a service of its command processor, a packet_processor "
           "say");
}

std::uint32_t command_processor::least_busy_core() const noexcept {
  auto const least =
      std::min_element(cores_.begin(), cores_.end(), [](auto const& a, auto const& b) {
        return a->service_count() < b->service_count();
      });
  return static_cast<std::uint32_t>(least - cores_.begin());
}

command_processor::entry* command_processor::add(std::unique_ptr<any_service> s,
                                                 std::uint32_t core) {
  if (core >= cores_.size())
    throw std::invalid_argument(
        fmt::format("command processor: a service for core {}; there are {}", core, cores_.size()));
  auto e = std::make_unique<entry>();
  e->service = std::move(s);
  e->on = cores_[core].get();
  cores_[core]->add(*e);
  return e.release();
}

void command_processor::remove(entry* e) noexcept {
  std::unique_ptr<entry> last(e);
  if (!e->on->leave(*e))
    e->on->keep(std::move(last));
}

void command_processor::wake(std::uint32_t core) noexcept {
  cores_[core]->wake();
}

void command_processor::wake() noexcept {
  for (auto const& c : cores_)
    c->wake();
}

bool command_processor::is_here(std::uint32_t core) const noexcept {
  return cores_[core]->is_here();
}

std::uint32_t command_processor::core_count() const noexcept {
  return static_cast<std::uint32_t>(cores_.size());
}

std::size_t command_processor::service_count() const noexcept {
  std::size_t count = 0;
  for (auto const& c : cores_)
    count += c->service_count();
  return count;
}

} // namespace quarry::emu
