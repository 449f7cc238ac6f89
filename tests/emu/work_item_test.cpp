// SPDX-License-Identifier: Apache-2.0
// Item kernels: coroutines, and plain functions that may block.
#include "agents.hpp"

#include <quarry/yield.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

bool is_set(int v) {
  return v != 0;
}

// The same five things, as a coroutine and as a plain function.

struct reverse_item {
  task<> operator()(any_work_item auto& wi, global<int> data) const {
    auto const cells = wi.template lds<int, 1024>();
    auto const at = wi.local_linear_id();
    auto const last = static_cast<std::uint32_t>(wi.group_size().volume()) - 1;
    wi.store(cells + at, wi.load(data + wi.global_id()));
    co_await wi.barrier();
    wi.store(data + wi.global_id(), wi.load(cells + (last - at)));
  }
};
struct reverse_plain {
  void operator()(any_plain_work_item auto& wi, global<int> data) const {
    auto const cells = wi.template lds<int, 1024>();
    auto const at = wi.local_linear_id();
    auto const last = static_cast<std::uint32_t>(wi.group_size().volume()) - 1;
    wi.store(cells + at, wi.load(data + wi.global_id()));
    wi.barrier();
    wi.store(data + wi.global_id(), wi.load(cells + (last - at)));
  }
};

struct reduce_item {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    int const id = static_cast<int>(wi.local_linear_id());
    int sum = 0;
    for (int round = 0; round < 3; ++round)
      sum += co_await wi.group_reduce(id, plus{});
    int const before = co_await wi.group_prefix_sum(2);
    wi.store(out + wi.global_id(), sum + before);
  }
};
struct reduce_plain {
  void operator()(any_plain_work_item auto& wi, global<int> out) const {
    int const id = static_cast<int>(wi.local_linear_id());
    int sum = 0;
    for (int round = 0; round < 3; ++round)
      sum += wi.group_reduce(id, plus{});
    int const before = wi.group_prefix_sum(2);
    wi.store(out + wi.global_id(), sum + before);
  }
};

/// In diverged control flow: who is at the line takes part.
struct diverged_item {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    int const id = static_cast<int>(wi.local_linear_id());
    int got = 0;
    for (int i = 0; i < id % 5; ++i)
      got = got * 7 + co_await wi.group_reduce(1, plus{});
    if (id % 5 == 4)
      got += co_await wi.group_prefix_sum(1);
    wi.store(out + wi.global_id(), got);
  }
};

/// A chain backwards: a work-item waits for the next one's word; the last one begins.
struct chain_item {
  task<> operator()(any_work_item auto& wi, global<int> words) const {
    int const id = static_cast<int>(wi.local_linear_id());
    int const last = static_cast<int>(wi.group_size().volume()) - 1;
    int next = 0;
    if (id != last)
      next = co_await wi.wait_until(words + (id + 1), is_set, order::acquire, scope::work_group);
    wi.store(words + id, next + 1, order::release, scope::work_group);
  }
};
struct chain_plain {
  void operator()(any_plain_work_item auto& wi, global<int> words) const {
    int const id = static_cast<int>(wi.local_linear_id());
    int const last = static_cast<int>(wi.group_size().volume()) - 1;
    int next = 0;
    if (id != last)
      next = wi.wait_until(words + (id + 1), is_set, order::acquire, scope::work_group);
    wi.store(words + id, next + 1, order::release, scope::work_group);
  }
};
/// The same by a loop over an atomic load: the load itself gives way.
struct chain_spinning {
  void operator()(any_plain_work_item auto& wi, global<int> words) const {
    int const id = static_cast<int>(wi.local_linear_id());
    int const last = static_cast<int>(wi.group_size().volume()) - 1;
    int next = id == last ? 1 : 0;
    while (next == 0)
      next = wi.load(words + (id + 1), order::acquire, scope::agent);
    wi.store(words + id, id == last ? 1 : next + 1, order::release, scope::agent);
  }
};

/// Work-item 0 waits for work-item 200; then all reduce: nobody may start without work-item 0.
struct wait_then_reduce {
  task<> operator()(any_work_item auto& wi, global<int> word, global<int> out) const {
    if (wi.local_linear_id() == 0)
      static_cast<void>(co_await wi.wait_until(word, is_set, order::acquire, scope::work_group));
    if (wi.local_linear_id() == 200)
      wi.store(word, 1, order::release, scope::work_group);
    int const all = co_await wi.group_reduce(1, plus{});
    wi.store(out + wi.global_id(), all);
  }
};

struct ballots {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> out) const {
    auto const id = wi.local_linear_id();
    lane_mask const mask = co_await wi.ballot(id % 3 == 0);
    int const sum = co_await wi.wavefront_reduce(1, plus{});
    wi.store(out + wi.global_id(), mask.bits() * 100 + static_cast<std::uint64_t>(sum));
  }
};

task<int> add_up(any_work_item auto& wi, int depth) {
  if (depth == 0)
    co_return 0;
  task<int> below = add_up(wi, depth - 1);
  int const rest = co_await std::move(below);
  int const mine = co_await wi.group_reduce(1, plus{});
  co_return rest + mine;
}

struct nested_tasks {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    task<int> all = add_up(wi, 4);
    int const got = co_await std::move(all);
    wi.store(out + wi.global_id(), got);
  }
};

/// yield() in a loop lets other work-items and wavefronts go on.
struct yields {
  task<> operator()(any_work_item auto& wi, global<int> word, global<int> out) const {
    if (wi.local_linear_id() == 100) {
      wi.store(word, 7, order::release, scope::agent);
    } else {
      while (wi.load(word, order::acquire, scope::agent) == 0)
        co_await yield();
    }
    wi.store(out + wi.global_id(), wi.load(word, order::relaxed, scope::agent));
  }
};

struct wave_yields {
  task<> operator()(any_wavefront auto& wf, global<int> word) const {
    int const groups = static_cast<int>(wf.group_count().volume());
    int const next = static_cast<int>(wf.linear_group_id()) + 1;
    if (wf.index_in_group() == 0 && next == groups)
      wf.store(word + next, 1, order::release, scope::agent);
    while (wf.load(word + next, order::acquire, scope::agent) == 0)
      co_await yield();
    co_await wf.barrier();
    if (wf.index_in_group() == 0)
      wf.store(word + (next - 1), 1, order::release, scope::agent);
  }
};

struct throws_item {
  task<> operator()(any_work_item auto& wi) const {
    co_await wi.barrier();
    if (wi.local_linear_id() == 77)
      throw std::runtime_error("seventy-seven");
    co_await wi.barrier();
  }
};
struct throws_plain {
  void operator()(any_plain_work_item auto& wi) const {
    wi.barrier();
    if (wi.local_linear_id() == 77)
      throw std::runtime_error("seventy-seven");
    wi.barrier();
  }
};

/// Says how much is alive: everything suspended must be unwound when the launch fails.
class guard {
public:
  explicit guard(int& count) : count_(count) { ++count_; }
  guard(guard const&) = delete;
  ~guard() { --count_; }

private:
  int& count_;
};
struct unwound_item {
  task<> operator()(any_work_item auto& wi, int& alive) const {
    guard const g(alive);
    if (wi.local_linear_id() == 3)
      throw 3;
    co_await wi.barrier();
  }
};
struct unwound_plain {
  void operator()(any_plain_work_item auto& wi, int& alive) const {
    guard const g(alive);
    if (wi.local_linear_id() == 40)
      throw 3;
    wi.barrier();
  }
};

template<class Kernel>
void reverses(Kernel kernel) {
  with_every_agent([&](agent& gpu) {
    auto data = gpu.allocate<int>(1000, "data");
    for (int i = 0; i < 1000; ++i)
      data.host()[static_cast<unsigned>(i)] = i;
    succeed(gpu.run({.work_items = 1000, .work_items_per_group = 300, .lds_bytes = 4096}, kernel,
                    data.global()));
    for (int i = 0; i < 1000; ++i) {
      int const first = i / 300 * 300;
      int const size = std::min(300, 1000 - first);
      REQUIRE(data.host()[static_cast<unsigned>(i)] == first + size - 1 - (i - first));
    }
  });
}

template<class Kernel>
void reduces(Kernel kernel) {
  with_every_agent([&](agent& gpu) {
    auto out = gpu.allocate<int>(500, "out");
    succeed(gpu.run({.work_items = 500, .work_items_per_group = 300}, kernel, out.global()));
    for (int i = 0; i < 500; ++i) {
      int const size = i < 300 ? 300 : 200;
      REQUIRE(out.host()[static_cast<unsigned>(i)] ==
              3 * size * (size - 1) / 2 + 2 * (i < 300 ? i : i - 300));
    }
  });
}

template<class Kernel>
void chains(Kernel kernel) {
  with_every_agent([&](agent& gpu) {
    auto words = gpu.allocate<int>(300, "words");
    succeed(gpu.run({.work_items = 300, .work_items_per_group = 300}, kernel, words.global()));
    for (int i = 0; i < 300; ++i)
      REQUIRE(words.host()[static_cast<unsigned>(i)] == 300 - i);
  });
}

template<class Kernel>
void names_who_threw(Kernel kernel) {
  with_every_agent([&](agent& gpu) {
    auto const report = fail_with(gpu.run({.work_groups = 6, .work_items_per_group = 128}, kernel),
                                  fault::kind::exception);
    CHECK_SAYS(report, "seventy-seven");
    CHECK_SAYS(report, "work-item 77 of the group");
    CHECK_SAYS(report, "launch of throws_");
  });
}

template<class Kernel>
void unwinds(Kernel kernel) {
  for (std::uint32_t size : {32U, 64U}) {
    auto const test = [&](agent& gpu) {
      int alive = 0;
      for (int i = 0; i < 3; ++i)
        static_cast<void>(fail_with(
            gpu.run({.work_groups = 1, .work_items_per_group = 128}, kernel, std::ref(alive)),
            fault::kind::exception));
      CHECK(alive == 0);
    };
    with_sequential_agents({.wavefront_size = size}, test);
    with_native_agents({.wavefront_size = size}, test); // one group: one strand counts
  }
}

} // namespace

TEST_SUITE("emu.work_item") {
  TEST_CASE("work-items meet at a barrier and see each other's LDS") {
    reverses(reverse_item{});
  }
  TEST_CASE("plain functions meet at a barrier and see each other's LDS") {
    reverses(reverse_plain{});
  }
  TEST_CASE("work-items reduce and scan over their group") {
    reduces(reduce_item{});
  }
  TEST_CASE("plain functions reduce and scan over their group") {
    reduces(reduce_plain{});
  }
  TEST_CASE("each work-item waits for the next one, in its wavefront and in others") {
    chains(chain_item{});
  }
  TEST_CASE("each plain function waits for the next one, in its wavefront and in others") {
    chains(chain_plain{});
  }
  TEST_CASE("plain functions may spin on an atomic load until the next one has stored") {
    chains(chain_spinning{});
  }

  TEST_CASE("collectives in a loop that work-items leave at different times run over those still "
            "in it") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(300, "out");
      succeed(
          gpu.run({.work_items = 300, .work_items_per_group = 300}, diverged_item{}, out.global()));
      for (int i = 0; i < 300; ++i) {
        int got = 0;
        for (int round = 0; round < i % 5; ++round)
          got = got * 7 + 60 * (4 - round);
        if (i % 5 == 4)
          got += i / 5;
        REQUIRE(out.host()[static_cast<unsigned>(i)] == got);
      }
    });
  }

  TEST_CASE("a collective waits for a work-item that still polls, in whatever order they come") {
    with_every_agent([](agent& gpu) {
      auto word = gpu.allocate<int>(1, "word");
      auto out = gpu.allocate<int>(256, "out");
      succeed(gpu.run({.work_groups = 1}, wait_then_reduce{}, word.global(), out.global()));
      for (int const n : out.host())
        REQUIRE(n == 256);
    });
  }

  TEST_CASE("a ballot and a wavefront reduction are of the work-item's own wavefront") {
    with_every_agent([](agent& gpu) {
      unsigned const size = gpu.core().shape().wavefront_size;
      auto out = gpu.allocate<std::uint64_t>(100, "out");
      succeed(gpu.run({.work_items = 100, .work_items_per_group = 100}, ballots{}, out.global()));
      for (unsigned i = 0; i < 100; ++i) {
        unsigned const first = i / size * size;
        unsigned const lanes = std::min(size, 100 - first);
        std::uint64_t bits = 0;
        for (unsigned l = 0; l < lanes; ++l)
          bits |= std::uint64_t{(first + l) % 3 == 0} << l;
        REQUIRE(out.host()[i] == bits * 100 + lanes);
      }
    });
  }

  TEST_CASE("an item kernel awaits tasks of its own that use collectives") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(200, "out");
      succeed(
          gpu.run({.work_items = 200, .work_items_per_group = 100}, nested_tasks{}, out.global()));
      for (int const n : out.host())
        REQUIRE(n == 400);
    });
  }

  TEST_CASE("a work-item that yields comes again, after others") {
    with_every_agent([](agent& gpu) {
      auto word = gpu.allocate<int>(1, "word");
      auto out = gpu.allocate<int>(256, "out");
      succeed(gpu.run({.work_groups = 1}, yields{}, word.global(), out.global()));
      for (int const n : out.host())
        REQUIRE(n == 7);
    });
  }
  TEST_CASE("wavefronts that yield let other wavefronts, and groups not yet placed, go on") {
    with_every_agent([](agent& gpu) {
      auto word = gpu.allocate<int>(41, "word");
      succeed(
          gpu.run({.work_groups = 40, .work_items_per_group = 128}, wave_yields{}, word.global()));
      CHECK(word.host()[0] == 1);
    });
  }

  TEST_CASE("an exception names the work-item that threw it") {
    names_who_threw(throws_item{});
  }
  TEST_CASE("an exception names the plain function's work-item that threw it") {
    names_who_threw(throws_plain{});
  }
  TEST_CASE("work-items that wait are unwound when another one's exception ends the launch") {
    unwinds(unwound_item{});
  }
  TEST_CASE("plain functions that wait are unwound when another one's exception ends the launch") {
    unwinds(unwound_plain{});
  }
}
