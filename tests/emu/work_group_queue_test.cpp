// SPDX-License-Identifier: Apache-2.0
#include "queue_traffic.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/yield.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using package_queue = work_group_queue<std::uint32_t, 2, 3>;

std::uint32_t second_word(std::uint32_t n) {
  return ~n * 2654435761U;
}

/// Work-item i pushes i % 5 messages, or, converged, every group five times.
template<divergence_mechanism D>
struct push_messages {
  task<> operator()(any_wavefront auto& wf, package_queue& q) const {
    auto const id = convert<std::uint32_t>(wf.global_id(0));
    auto const degree = wf.global_id(0) % 5;
    for (int i = 0; i < 4; ++i) {
      auto const active = wf.where(degree > i);
      if constexpr (std::same_as<D, reconverging_t>)
        if (wf.active().empty())
          co_return; // their last one is over: the others go on without them
      auto const number = id * 4U + static_cast<std::uint32_t>(i);
      lanes<std::uint32_t, std::remove_reference_t<decltype(wf)>::size> const message[2] = {
          number, ~number * 2654435761U};
      task<> push = q.push(wf, 7, message, D{});
      co_await std::move(push);
    }
  }
};

constexpr bool sends_in_place(unsigned item) {
  return item % 192 >= 96;
}
/// A push in its three parts: of three wavefronts one has no message, one half of its lanes.
struct write_in_place {
  task<> operator()(any_wavefront auto& wf, package_queue& q) const {
    auto const active = wf.where(wf.global_id(0) % 192 >= 96);
    package_place const at = co_await q.reserve(wf, 7);
    auto const number = convert<std::uint32_t>(wf.global_id(0));
    q.write(wf, at, 0, number);
    q.write(wf, at, 1, ~number * 2654435761U);
    q.publish(wf, at);
  }
};

/// A row that is not there, or not the messages that were reserved.
struct write_wrongly {
  int row;
  int lanes;
  task<> operator()(any_wavefront auto& wf, auto& q) const {
    package_place const at = co_await q.reserve(wf, 7);
    {
      auto const some = wf.where(wf.local_id() < lanes);
      q.write(wf, at, row, convert<std::uint32_t>(wf.global_id(0)));
    }
    q.publish(wf, at);
  }
};

struct write_nothing {
  task<> operator()(any_wavefront auto& wf, package_queue& q) const {
    auto const active = wf.where(lane_mask{});
    for (int i = 0; i < 3; ++i)
      q.publish(wf, co_await q.reserve(wf, 7));
  }
};

/// Rounds in which all work-items of a group have a message, those of its last wavefront, or
/// nobody; the tag is larger than any slot.
constexpr std::array<int, 8> rounds_of_messages{2, 2, 0, 0, 1, 0, 2, 0};
constexpr std::uint32_t tag_of_rounds = 1000;

template<divergence_mechanism D>
struct push_in_some_rounds {
  task<> operator()(any_wavefront auto& wf, package_queue& q, std::atomic<int>& wrong) const {
    bool const is_last = wf.index_in_group() + 1 == wf.waves_in_group();
    for (int const who : rounds_of_messages) {
      bool const sends = who == 2 || (who == 1 && is_last);
      auto const active = wf.where(sends ? wf.items() : lane_mask{});
      package_place at{};
      if constexpr (std::same_as<D, converged>) {
        at = co_await q.reserve(wf, tag_of_rounds);
      } else {
        auto reserved = q.reserve(wf, tag_of_rounds, D{});
        at = co_await std::move(reserved);
      }
      wrong += at.count == static_cast<std::uint32_t>(wf.active().count()) ? 0 : 1;
      auto const number = convert<std::uint32_t>(wf.global_id(0));
      q.write(wf, at, 0, number);
      q.write(wf, at, 1, ~number * 2654435761U);
      q.publish(wf, at);
    }
  }
};

struct too_many {
  task<> operator()(any_wavefront auto& wf, package_queue& q) const {
    lanes<std::uint32_t, std::remove_reference_t<decltype(wf)>::size> const message[1] = {1U};
    task<> push = q.push(wf, 7, message);
    co_await std::move(push);
  }
};

struct received {
  std::vector<std::uint32_t> numbers;
  int wrong = 0;
};

/// Takes packages until `left` messages have come in all.
task<> consume(package_queue& q, allocations const& known, std::atomic<int>& left, received& out,
               std::uint32_t tag = 7) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  slot_claim claim = q.claim(self);
  while (left > 0) {
    if (!q.is_ready(self, claim)) {
      co_await quarry::yield();
      continue;
    }
    auto const package = q.view(self, claim);
    out.wrong += package.header.tag == tag && package.header.count != 0 ? 0 : 1;
    for (std::uint32_t c = 0; c < package.header.count; ++c) {
      std::uint32_t const n = self.load(package.row(0) + c);
      out.wrong += self.load(package.row(1) + c) == second_word(n) ? 0 : 1;
      out.numbers.push_back(n);
    }
    left -= static_cast<int>(package.header.count);
    q.release(self, claim);
    claim = q.claim(self);
  }
}

template<divergence_mechanism D>
void every_message_once(std::uint32_t slots, unsigned items, unsigned per_group, int consumers) {
  with_every_agent([&](agent& gpu) {
    package_queue q(gpu.core().known(), slots, per_group);
    std::vector<std::uint32_t> expected(items * 4);
    int total = 0;
    for (unsigned i = 0; i < items; ++i)
      total += static_cast<int>(i % 5);
    std::atomic<int> left{total};
    std::vector<received> got(static_cast<std::size_t>(consumers));
    traffic jobs(gpu.core().scheduler());
    for (auto& g : got)
      jobs.start(consume(q, gpu.core().known(), left, g), "consumer");
    succeed(gpu.run({.work_items = items, .work_items_per_group = per_group}, push_messages<D>{},
                    std::ref(q)));
    jobs.wait();
    for (auto const& g : got) {
      CHECK(g.wrong == 0);
      for (std::uint32_t const n : g.numbers) {
        REQUIRE(n < items * 4);
        ++expected[n];
      }
    }
    for (unsigned n = 0; n < items * 4; ++n)
      REQUIRE(expected[n] == (n % 4 < n / 4 % 5 ? 1 : 0));
  });
}

/// Nothing is left of the rounds before, in any of a group's wavefronts.
template<divergence_mechanism D>
void some_rounds_are_empty() {
  with_every_agent([](agent& gpu) {
    constexpr unsigned groups = 5, per_group = 128;
    package_queue q(gpu.core().known(), 2, per_group);
    unsigned const last = per_group - gpu.core().shape().wavefront_size;
    std::atomic<int> left{static_cast<int>(groups * (3 * per_group + (per_group - last)))};
    std::atomic<int> wrong{0};
    received got;
    traffic jobs(gpu.core().scheduler());
    jobs.start(consume(q, gpu.core().known(), left, got, tag_of_rounds), "consumer");
    succeed(gpu.run({.work_groups = groups, .work_items_per_group = per_group},
                    push_in_some_rounds<D>{}, std::ref(q), std::ref(wrong)));
    jobs.wait();
    CHECK(wrong == 0);
    CHECK(got.wrong == 0);
    std::vector<int> times(std::size_t{groups} * per_group);
    for (std::uint32_t const n : got.numbers)
      ++times.at(n);
    for (unsigned i = 0; i < times.size(); ++i)
      REQUIRE(times[i] == (i % per_group >= last ? 4 : 3));
  });
}

} // namespace

TEST_SUITE("emu.work_group_queue") {
  TEST_CASE("every message of every work-item comes once and whole; the ring is tiny and wraps") {
    every_message_once<converged>(1, 600, 256, 1);
    every_message_once<converged>(2, 1000, 128, 2);
    every_message_once<converged>(8, 333, 100, 1);
  }
  TEST_CASE("the same from wavefronts that go their own ways") {
    every_message_once<reconverging_t>(2, 600, 256, 1);
    every_message_once<reconverging_t>(4, 333, 100, 2);
  }
  TEST_CASE("words that are written in place, after the reservation, come once and whole") {
    with_every_agent([](agent& gpu) {
      constexpr unsigned items = 192 * 5;
      package_queue q(gpu.core().known(), 2, 192);
      std::atomic<int> left{items / 2};
      received got;
      traffic jobs(gpu.core().scheduler());
      jobs.start(consume(q, gpu.core().known(), left, got), "consumer");
      succeed(gpu.run({.work_items = items, .work_items_per_group = 192}, write_in_place{},
                      std::ref(q)));
      jobs.wait();
      CHECK(got.wrong == 0);
      std::ranges::sort(got.numbers);
      std::vector<std::uint32_t> expected;
      for (unsigned i = 0; i < items; ++i)
        if (sends_in_place(i))
          expected.push_back(i);
      CHECK(got.numbers == expected);
    });
  }
  TEST_CASE("a group without messages reserves nothing, whatever it has sent before") {
    some_rounds_are_empty<converged>();
    some_rounds_are_empty<reconverging_t>();
  }
  TEST_CASE("nothing is reserved for a group without messages") {
    with_every_agent([](agent& gpu) {
      package_queue q(gpu.core().known(), 1, 64);
      // More groups than slots, and no consumer: a package of any of them would stay for ever.
      succeed(
          gpu.run({.work_groups = 3, .work_items_per_group = 64}, write_nothing{}, std::ref(q)));
      core self({});
      CHECK_FALSE(q.is_ready(self, q.claim(self)));
    });
  }
  TEST_CASE("more messages than a package has columns are a fault, and nothing is overwritten") {
    with_every_agent([](agent& gpu) {
      package_queue q(gpu.core().known(), 2, 100);
      auto const report = fail_with(
          gpu.run({.work_groups = 1, .work_items_per_group = 128}, too_many{}, std::ref(q)),
          fault::kind::wrong_shape);
      CHECK_SAYS(report, "push() of 128 messages into a package of 100 columns");
      CHECK_SAYS(report, "work_group_queue_test.cpp:");
    });
  }
  TEST_CASE("packages without a column are refused") {
    allocations known;
    CHECK_THROWS_WITH_AS(package_queue(known, 2, 0),
                         "work_group_queue: packages of 0 columns; allowed are 1 and more",
                         std::invalid_argument);
  }
  TEST_CASE("rows that are not there, and messages that are not reserved, are a misuse") {
    auto const explored = [](int row, int lanes) {
      return explore(
          {.executions = 20, .diagnoses = false, .keeps_failures = false}, [&](world& w) {
            explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
            package_queue q(gpu.core().known(), 2, 32);
            static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32},
                                      write_wrongly{row, lanes}, std::ref(q)));
          });
    };
    CHECK(explored(1, 32));
    for (auto const& [row, lanes] : {std::pair(-1, 32), std::pair(2, 32), std::pair(0, 31)}) {
      CAPTURE(row);
      verdict const v = explored(row, lanes);
      REQUIRE(v.failure);
      CHECK_MESSAGE(v.failure->kind == "misuse", v.to_string());
    }
  }

  TEST_CASE("slot counts that are no powers of two are refused") {
    allocations known;
    CHECK_THROWS_AS(package_queue(known, 6, 64), std::invalid_argument);
    CHECK_THROWS_AS(package_queue(known, 16, 64), std::invalid_argument);
    CHECK(package_queue(known, 8, 64).bytes() == 8 * 2 * 64 * 4);
  }
}
