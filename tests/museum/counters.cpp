// SPDX-License-Identifier: Apache-2.0
// Counters, semaphores and scopes: bugs of GPU-initiated communication as they were published.
#include "exhibit.hpp"

using namespace quarry_test;
using namespace quarry::emu;

namespace {

/// Publishes messages by a counter that wraps, here at 8, and stays near what has been consumed.
struct publishes {
  static constexpr std::uint64_t wrap = 8, messages = 10;
  global<std::uint64_t> published, consumed;
  task<> operator()(any_wavefront auto& wf) const {
    for (std::uint64_t i = 1; i <= messages; ++i) {
      auto const near = [i](std::uint64_t c) { return i - c <= wrap / 2; };
      auto room = wf.wait_until(consumed, near, order::acquire, scope::system);
      static_cast<void>(co_await room);
      wf.store(published, i % wrap, order::release, scope::system);
    }
  }
};

/// NCCL's GIN: `for (i = seen; i < published; i++)` with counters that wrap.
/// (By our model: nobody reported it upstream.)
case_world wrapping_counter(bool rolls) {
  return [rolls](world& w) {
    auto words = w.allocate<std::uint64_t>(16, "counters");
    auto const published = words.global(), consumed_at = words.global() + 8;
    w.start_task("proxy", [=](world_core& self) -> task<> {
      std::uint64_t seen = 0;
      for (std::uint64_t consumed = 0; consumed < publishes::messages;) {
        auto const is_new = [seen](std::uint64_t p) { return p != seen; };
        auto more = self.wait_until(published, is_new, order::acquire, scope::system);
        std::uint64_t const p = co_await more;
        if (rolls)
          consumed += (p - seen) % publishes::wrap;
        else
          for (std::uint64_t i = seen; i < p; ++i)
            ++consumed;
        seen = p;
        self.store(consumed_at, consumed, order::release, scope::system);
      }
    });
    run_wavefront(w, publishes{published, consumed_at});
    w.join();
  };
}

using semaphore_word = global<std::int64_t>;

/// MSCCL++'s DeviceSemaphore: old = fetch_add(-1); if old <= 0, spin while the value is < old; or,
/// as it was before, while it is another one than old; or while it is negative. Whoever acquires
/// again before a waiter has looked takes away what that waits for.
/// (By our model: nobody reported it upstream.)
template<bool (*MustSpin)(std::int64_t value, std::int64_t old)>
struct spins_after_taking {
  task<> operator()(any_wavefront auto& wf, semaphore_word value) const {
    std::int64_t const old = wf.fetch_sub(value, 1, order::acq_rel, scope::agent);
    if (old > 0)
      co_return;
    auto const may_go = [old](std::int64_t v) { return !MustSpin(v, old); };
    auto back = wf.wait_until(value, may_go, order::acquire, scope::agent);
    static_cast<void>(co_await back);
  }
};
constexpr bool is_less(std::int64_t value, std::int64_t old) {
  return value < old;
}
constexpr bool is_another(std::int64_t value, std::int64_t old) {
  return value != old;
}
constexpr bool is_negative(std::int64_t value, std::int64_t) {
  return value < 0;
}

/// What mends it: nobody takes what is not there.
struct takes_what_is_there {
  task<> operator()(any_wavefront auto& wf, semaphore_word value) const {
    auto const is_free = [](std::int64_t v) { return v > 0; };
    for (;;) {
      auto free = wf.wait_until(value, is_free, order::acquire, scope::agent);
      std::int64_t seen = co_await free;
      if (wf.compare_exchange(value, seen, seen - 1, order::acq_rel, scope::agent))
        co_return;
    }
  }
};

/// Each group acquires and releases it twice.
template<class Acquire>
struct acquires_twice {
  semaphore_word value;
  task<> operator()(any_wavefront auto& wf) const {
    for (int i = 0; i < 2; ++i) {
      task<> acquired = Acquire{}(wf, value);
      co_await std::move(acquired);
      wf.fetch_add(value, 1, order::release, scope::agent);
    }
  }
};

template<class Acquire>
void semaphore(world& w) {
  auto word = w.allocate<std::int64_t>(1, "semaphore");
  word.host()[0] = 1;
  run_groups(w, 2, acquires_twice<Acquire>{word.global()});
}

constexpr auto is_set = [](std::uint64_t v) { return v != 0; };

/// A kernel on one GPU sets a flag in the symmetric heap, and goes on: its end would publish it.
struct set_flag {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> flag, scope far) const {
    wf.store(flag, 1, order::release, far);
    auto answered = wf.wait_until(flag + 8, is_set, order::acquire, scope::system);
    static_cast<void>(co_await answered);
  }
};

/// A kernel on another one waits for it, and answers.
struct await_flag {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> flag) const {
    auto set = wf.wait_until(flag, is_set, order::acquire, scope::system);
    static_cast<void>(co_await set);
    wf.store(flag + 8, 1, order::release, scope::system);
  }
};

/// iris: a release at agent scope on a flag that another GPU waits for. Source   iris#462
case_world flag_of_another_gpu(scope far) {
  return [far](world& w) {
    explored_agent here(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    explored_agent there(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto flag = here.allocate<std::uint64_t>(16, "flag");
    auto const seen_there = there.expose(flag.host().data(), flag.size(), "flag");
    auto waits = there.launch({.work_items = 32}, await_flag{}, flag.global());
    auto sets = here.launch({.work_items = 32}, set_flag{}, flag.global(), far);
    auto const set = sets.wait(), seen = waits.wait();
    w.check(set && seen, "a kernel did not end well");
  };
}

} // namespace

namespace quarry_test {

std::vector<exhibit> counter_exhibits() {
  return {
      {"11",
       "NCCL GIN, plain compare of wrapping counters",
       "by our model",
       {wrong("plain compare", {"deadlock"}, "deadlock", wrapping_counter(false)),
        right("rolling compare", wrapping_counter(true))}},
      {"23",
       "MSCCL++, DeviceSemaphore",
       "by our model",
       {wrong("spin while less than old", {"deadlock"}, "deadlock",
              semaphore<spins_after_taking<is_less>>),
        wrong("spin while not old", {"deadlock"}, "deadlock",
              semaphore<spins_after_taking<is_another>>),
        wrong("spin while negative", {"deadlock"}, "deadlock",
              semaphore<spins_after_taking<is_negative>>),
        right("compare and exchange", semaphore<takes_what_is_there>)}},
      {"31",
       "iris, a release at agent scope",
       "iris#462",
       {wrong("agent scope", {"race"}, "deadlock", flag_of_another_gpu(scope::agent)),
        right("system scope", flag_of_another_gpu(scope::system))}},
  };
}

} // namespace quarry_test
