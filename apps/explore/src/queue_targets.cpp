// SPDX-License-Identifier: Apache-2.0
// The queues of emu between a kernel and host threads, with few slots.
#include "targets.hpp"

#include <quarry/emu.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <explore/delivery.hpp>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

constexpr machine small{.compute_units = 2, .wavefront_size = 32};

/// A function of any actor, as a wave kernel.
template<class F>
struct on_wavefront {
  template<any_wavefront W, class... Args>
  task<> operator()(W& wf, Args&... args) const {
    return F{}(wf, hand_over(args)...);
  }

private:
  template<class T>
  static std::conditional_t<std::is_integral_v<T>, T, std::reference_wrapper<T>>
  hand_over(T& argument) {
    return argument;
  }
};

// The two ends of a queue, for wavefronts and host threads alike.

template<class Queue>
struct spsc_sender {
  template<class A>
  task<> operator()(A& self, std::reference_wrapper<Queue> queue, std::uint32_t count) const {
    Queue& q = queue;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto reserved = q.reserve(self);
      auto const slot = co_await std::move(reserved);
      self.store(slot, parcel::of(i));
      q.publish(self);
    }
  }
};

template<class Queue>
struct spsc_receiver {
  template<class A>
  task<> operator()(A& self, std::reference_wrapper<Queue> queue, std::uint32_t count,
                    std::reference_wrapper<delivery> got) const {
    Queue& q = queue;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto peeked = q.peek(self);
      auto const slot = co_await std::move(peeked);
      got.get().take(self.load(slot));
      q.release(self);
    }
  }
};

void run_spsc(world& w, weakening const* weak) {
  using queue = spsc_queue<parcel, 1>;
  constexpr std::uint32_t count = 3;
  auto const orders = weakened<spsc_orders>(weak);
  explored_agent gpu(w.scheduler(), small);
  queue up(gpu.core().known(), 2, orders);
  queue down(gpu.core().known(), 2, orders);
  delivery at_host(w, count, true);
  delivery at_gpu(w, count, true);
  w.start_task("host receiver", [&](world_core& self) {
    return spsc_receiver<queue>{}(self, std::ref(up), count, std::ref(at_host));
  });
  w.start_task("host sender",
               [&](world_core& self) { return spsc_sender<queue>{}(self, std::ref(down), count); });
  launch_config const one_wavefront{.work_items = 32, .work_items_per_group = 32};
  auto sends = gpu.launch(one_wavefront, on_wavefront<spsc_sender<queue>>{}, std::ref(up), count);
  auto receives = gpu.launch(one_wavefront, on_wavefront<spsc_receiver<queue>>{}, std::ref(down),
                             count, std::ref(at_gpu));
  static_cast<void>(sends.wait());
  static_cast<void>(receives.wait());
  w.join();
  at_host.end();
  at_gpu.end();
}

template<class Queue>
struct mpmc_sender {
  template<class A>
  task<> operator()(A& self, std::reference_wrapper<Queue> queue, std::uint32_t first,
                    std::uint32_t count) const {
    Queue& q = queue;
    for (std::uint32_t i = first; i < first + count; ++i) {
      auto reserved = q.reserve(self);
      slot_claim const mine = co_await std::move(reserved);
      self.store(q.payload(mine), parcel::of(i));
      q.publish(self, mine);
    }
  }
};

template<class Queue>
struct mpmc_receiver {
  template<class A>
  task<> operator()(A& self, std::reference_wrapper<Queue> queue, std::uint32_t count,
                    std::reference_wrapper<delivery> got) const {
    Queue& q = queue;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto peeked = q.peek(self);
      slot_claim const mine = co_await std::move(peeked);
      got.get().take(self.load(q.payload(mine)));
      q.release(self, mine);
    }
  }
};

void run_mpmc(world& w, weakening const* weak) {
  using queue = mpmc_queue<parcel, 2>;
  explored_agent gpu(w.scheduler(), small);
  queue q(gpu.core().known(), 1, weakened<slot_orders>(weak));
  delivery got(w, 4, false);
  for (std::uint32_t i = 0; i < 2; ++i)
    w.start_task(i == 0 ? "host receiver 0" : "host receiver 1", [&](world_core& self) {
      return mpmc_receiver<queue>{}(self, std::ref(q), 1, std::ref(got));
    });
  w.start_task("host sender",
               [&](world_core& self) { return mpmc_sender<queue>{}(self, std::ref(q), 0, 1); });
  launch_config const one_wavefront{.work_items = 32, .work_items_per_group = 32};
  auto sends = gpu.launch(one_wavefront, on_wavefront<mpmc_sender<queue>>{}, std::ref(q), 1U, 3U);
  auto receives = gpu.launch(one_wavefront, on_wavefront<mpmc_receiver<queue>>{}, std::ref(q), 2U,
                             std::ref(got));
  static_cast<void>(sends.wait());
  static_cast<void>(receives.wait());
  w.join();
  got.end();
}

/// Two work-items of each wavefront push: two wavefronts share a package.
template<class Queue>
struct push_few {
  task<> operator()(any_wavefront auto& wf, Queue& q, std::uint32_t first) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = convert<std::uint32_t>(wf.global_id().to_lanes()) + first;
    auto const few = wf.where((i & 31U) < 2U); // every lane's store is a word to explore
    typename w::template lanes<std::uint32_t> const message[2] = {i, ~i};
    task<> pushed = q.push(wf, 7, message);
    co_await std::move(pushed);
  }
};

template<class A, class Queue>
task<> take_packages(world& w, A& self, Queue& q, std::uint32_t count, std::vector<int>& seen) {
  for (std::uint32_t k = 0; k < count; ++k) {
    slot_claim const mine = q.claim(self);
    task<> ready = q.ready(self, mine);
    co_await std::move(ready);
    auto const package = q.view(self, mine);
    w.check(package.header.tag == 7 && package.header.count == 4,
            "a package's header is not whole");
    for (std::uint32_t c = 0; c < package.header.count && c < 4; ++c) {
      std::uint32_t const i = self.load(package.row(0) + c);
      std::uint32_t const copy = self.load(package.row(1) + c);
      w.check(copy == ~i, "a message is torn, or was read before it was written");
      if (i < seen.size())
        ++seen[i];
    }
    q.release(self, mine);
  }
}

template<class Queue>
struct package_receiver {
  task<> operator()(any_wavefront auto& wf, world& w, Queue& q, std::uint32_t count,
                    std::vector<int>& seen) const {
    task<> taken = take_packages(w, wf, q, count, seen);
    co_await std::move(taken);
  }
};

void run_work_group(world& w, weakening const* weak) {
  using queue = work_group_queue<std::uint32_t, 2, 2>;
  constexpr std::uint32_t groups = 3; // the last one on another agent
  explored_agent gpu(w.scheduler(), small);
  explored_agent other(w.scheduler(), small);
  queue q(w.known(), 1, 64, weakened<slot_orders>(weak));
  std::vector<int> seen(std::size_t{groups} * 64);
  // A host thread and a wavefront take turns in the slot.
  w.start_task("host receiver",
               [&](world_core& self) { return take_packages(w, self, q, 2, seen); });
  auto taken = gpu.launch({.work_items = 32, .work_items_per_group = 32}, package_receiver<queue>{},
                          std::ref(w), std::ref(q), 1U, std::ref(seen));
  auto far = other.launch({.work_items = 64, .work_items_per_group = 64}, push_few<queue>{},
                          std::ref(q), (groups - 1) * 64U);
  static_cast<void>(gpu.run({.work_items = (groups - 1) * 64, .work_items_per_group = 64},
                            push_few<queue>{}, std::ref(q), 0U));
  static_cast<void>(far.wait());
  static_cast<void>(taken.wait());
  w.join();
  for (std::uint32_t i = 0; i < seen.size(); ++i)
    w.check(seen[i] == ((i & 31U) < 2U ? 1 : 0), "a message was lost, or came twice");
}

} // namespace

namespace {

// A consumer reads what the producer wrote after it saw the full bit, which it acquires in any
// case; what the consumer before it did, it never looks at. Table A-1 has an acquire here.
std::vector<std::string> const redundant_in_slots{"consumer_awaits_turn=relaxed"};

} // namespace

target spsc_target() {
  return {.name = "spsc-queue",
          .what = "a wavefront and host threads, three elements each way through one free slot",
          .weakenings = weakenings_of<spsc_orders>(),
          .run = run_spsc,
          .shares_only_memory = true};
}

target mpmc_target() {
  return {
      .name = "mpmc-queue",
      .what =
          "a wavefront and a host thread send, a wavefront and two host threads receive; one slot",
      .weakenings = weakenings_of<slot_orders>(),
      .run = run_mpmc,
      .indistinguishable = redundant_in_slots,
      .shares_only_memory = true};
}

target work_group_target() {
  return {.name = "work-group-queue",
          .what = "three work-groups of two wavefronts on two agents push, a host thread and a "
                  "wavefront take packages; one slot",
          .weakenings = weakenings_of<slot_orders>(),
          .run = run_work_group,
          .indistinguishable = redundant_in_slots,
          .shares_only_memory = true};
}

} // namespace quarry::exploration
