// SPDX-License-Identifier: Apache-2.0
// What kernels put into the package queue: read here by a host core, without a network.
#include "agents.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/net/gravel_endpoint.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <source_location>
#include <type_traits>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry::net::gravel;
using namespace quarry_test;

namespace {

constexpr std::uint32_t items = 50; // two wavefronts of 32, or one of 64

/// A job that does not fail.
struct healthy final : job_state {
  [[noreturn]] void stop(command, std::source_location) override { std::terminate(); }
  [[noreturn]] void refuse(command, named_word, std::source_location) override { std::terminate(); }
};

/// A job that remembers what it has refused.
struct strict final : job_state {
  struct refusal {
    command what;
    std::uint64_t node;
    std::uint64_t word;
    unsigned byte = 0;
    friend bool operator==(refusal const&, refusal const&) = default;
  };
  std::vector<refusal> refused;
  [[noreturn]] void stop(command what, std::source_location where) override {
    throw kernel_stop{fault::kind::exception, to_string(what), where};
  }
  [[noreturn]] void refuse(command what, named_word to, std::source_location where) override {
    refused.push_back({what, to.node, to.word, to.byte});
    stop(what, where);
  }
};

struct message {
  std::uint32_t node;
  std::uint32_t word;
  std::uint64_t value;
  friend bool operator==(message const&, message const&) = default;
};
struct package {
  command what;
  std::uint32_t handler;
  std::vector<message> messages;
};

template<class W>
using lanes_of = lanes64<std::remove_reference_t<W>>;

/// One of each, with nodes, indices and values as numbers, consecutive, and lane by lane.
struct one_of_each {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, endpoint& net) const {
    auto const i = as_words<std::remove_reference_t<decltype(wf)>>(wf.global_id());
    task<> a = net.increment(wf, words + wf.global_id(), 3);
    co_await std::move(a);
    task<> b = net.add(wf, words + (i * 2), i * 10, i % 4U);
    co_await std::move(b);
    task<> c = net.put(wf, words + 7 + wf.local_id(0), lanes_of<decltype(wf)>(42), wf.global_id());
    co_await std::move(c);
    task<> d = net.active_message(wf, 9, words + i, i + (~0ULL << 32), 2U);
    co_await std::move(d);
  }
};

/// Made of temporaries, and awaited later than another one.
struct awaited_late {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, endpoint& net) const {
    auto const i = as_words<std::remove_reference_t<decltype(wf)>>(wf.global_id());
    task<> first = net.add(wf, words + (i + 1), i + 2, i % 3U + 4U);
    task<> second = net.put(wf, words + (i + 5), i + 6, i % 3U + 7U);
    co_await std::move(second);
    co_await std::move(first);
  }
};

/// Made by every fifth work-item, awaited by all.
struct awaited_by_more {
  command what;
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, endpoint& net) const {
    auto const i = as_words<std::remove_reference_t<decltype(wf)>>(wf.global_id());
    auto const made = [&] {
      auto const fifth = wf.where(i % 5U == 4U);
      return what == command::increment ? net.increment(wf, words + i, 1)
                                        : net.add(wf, words + i, i, 1);
    };
    task<> sent = made();
    co_await std::move(sent);
  }
};

/// Every fifth work-item; then nobody.
struct some_send {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, endpoint& net) const {
    auto const i = as_words<std::remove_reference_t<decltype(wf)>>(wf.global_id());
    {
      auto const fifth = wf.where(i % 5U == 4U);
      task<> sent = net.increment(wf, words + i, 1);
      co_await std::move(sent);
    }
    auto const nobody = wf.where(i > 1000U);
    task<> sent = net.increment(wf, words + i, 1);
    co_await std::move(sent);
  }
};

/// Work-item i sends i / 16 times; who has sent all leaves the barrier (thesis Table 5-1c).
struct by_fine_grain_barrier {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, endpoint& net) const {
    auto const i = as_words<std::remove_reference_t<decltype(wf)>>(wf.global_id());
    fine_grain_barrier const members = wf.make_fine_grain_barrier();
    std::uint64_t round = 0;
    for (auto loop = wf.loop(); loop.keep(i / 16U > round); ++round) {
      members.leave(wf.slot(), wf.items().without(wf.active()));
      task<> sent = net.add(wf, words + i, lanes_of<decltype(wf)>(round), 0, members);
      co_await std::move(sent);
    }
    members.leave(wf.slot(), wf.items());
  }
};

struct items_at_two_lines {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, endpoint& net) const {
    std::uint32_t const i = wi.global_id();
    if (i % 2 == 0)
      co_await net.add(wi, words + 2 * i, 10 * i, i % 4);
    else
      co_await net.put(wi, words + i, 20 * i, 5);
    co_await net.increment(wi, words + i, i);
  }
};

/// Adds 1, from one work-item, and sends nothing from the others.
struct add_there {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> at, std::uint64_t node,
                    endpoint& net) const {
    auto const last = wf.where(wf.global_id() == static_cast<int>(items - 1));
    lanes_of<decltype(wf)> const one(1), index(0);
    task<> sent = net.add(wf, at + index, one, node);
    co_await std::move(sent);
  }
};
struct put_there_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> at, std::uint64_t node,
                    endpoint& net) const {
    if (wi.global_id() == items - 1)
      co_await net.put(wi, at, 1, node);
  }
};

/// What a job refuses of a kernel that sends there; nothing may have been reserved for it.
template<class Kernel>
std::vector<strict::refusal> refused(agent& gpu, std::vector<std::uint64_t>& heap, Kernel kernel,
                                     std::uint64_t* at, std::uint64_t node) {
  package_queue q(gpu.core().known(), 8, 64);
  strict job;
  endpoint net(q, heap, 4, job);
  auto const o = gpu.run({.work_groups = 1, .work_items_per_group = items}, kernel,
                         global<std::uint64_t>(at), node, std::ref(net));
  CHECK(static_cast<bool>(o) == job.refused.empty());
  basic_core<native_memory> const self({});
  CHECK(q.claimed_writes(self) == (job.refused.empty() ? 1 : 0));
  return job.refused;
}

/// Everything that a kernel of one group pushes.
template<class Kernel>
std::vector<package> pushed(agent& gpu, Kernel kernel) {
  std::vector<std::uint64_t> heap(256);
  auto const known = gpu.expose(heap.data(), heap.size(), "heap");
  package_queue q(gpu.core().known(), 8, 64);
  healthy job;
  endpoint net(q, heap, items, job);
  succeed(gpu.run({.work_groups = 1, .work_items_per_group = items}, kernel,
                  global<std::uint64_t>(heap.data()), std::ref(net)));
  CHECK(std::ranges::count(heap, 0U) == 256); // nothing is applied here
  basic_core<native_memory> const self({});
  std::vector<package> all;
  for (slot_claim c = q.claim(self); q.is_ready(self, c); c = q.claim(self)) {
    auto const view = q.view(self, c);
    package& p = all.emplace_back(
        package{package_tag::what(view.header.tag), package_tag::handler(view.header.tag), {}});
    for (std::uint32_t m = 0; m < view.header.count; ++m) {
      std::uint64_t const row = self.load(view.row(0) + m);
      std::uint64_t const value = p.what == command::increment ? 0 : self.load(view.row(1) + m);
      p.messages.push_back({remote_word::target(row).id, remote_word::word(row), value});
    }
    q.release(self, c);
  }
  return all;
}

/// The messages of work-items 0 … items - 1, or those for which `make` gives a node below 65535.
template<class F>
std::vector<message> for_items(F const& make) {
  std::vector<message> all;
  for (std::uint32_t i = 0; i < items; ++i)
    if (message const m = make(i); m.node != ~0U)
      all.push_back(m);
  return all;
}
constexpr message none{~0U, 0, 0};

void check(package const& p, command what, std::vector<message> const& messages,
           std::uint32_t handler = 0) {
  CHECK(p.what == what);
  CHECK(p.handler == handler);
  CHECK(p.messages == messages);
}

} // namespace

TEST_SUITE("net.gravel_endpoint") {
  TEST_CASE("an operation is one package of a group: node, word and value of each work-item") {
    with_every_agent([](agent& gpu) {
      auto const got = pushed(gpu, one_of_each{});
      REQUIRE(got.size() == 4);
      check(got[0], command::increment, for_items([](auto i) { return message{3, i, 0}; }));
      check(got[1], command::add, for_items([](auto i) { return message{i % 4, 2 * i, 10 * i}; }));
      check(got[2], command::put, for_items([](auto i) { return message{i, 7 + i, 42}; }));
      check(got[3], command::active_message,
            for_items([](auto i) { return message{2, i, i + (~0ULL << 32)}; }), 9);
    });
  }

  TEST_CASE("an operation keeps what it was given until it is awaited") {
    with_every_agent([](agent& gpu) {
      auto const got = pushed(gpu, awaited_late{});
      REQUIRE(got.size() == 2);
      check(got[0], command::put,
            for_items([](auto i) { return message{i % 3 + 7, i + 5, i + 6}; }));
      check(got[1], command::add,
            for_items([](auto i) { return message{i % 3 + 4, i + 1, i + 2}; }));
    });
  }

  TEST_CASE("active work-items send, without gaps; where there are none there is no package") {
    with_every_agent([](agent& gpu) {
      auto const got = pushed(gpu, some_send{});
      REQUIRE(got.size() == 1);
      check(got[0], command::increment,
            for_items([](auto i) { return i % 5 == 4 ? message{1, i, 0} : none; }));
    });
  }

  TEST_CASE("work-items that were not active where a message was made may not send it") {
    for (command const what : {command::increment, command::add})
      with_every_agent([&](agent& gpu) {
        std::vector<std::uint64_t> heap(64);
        package_queue q(gpu.core().known(), 8, 64);
        healthy job;
        endpoint net(q, heap, items, job);
        auto const o =
            gpu.run({.work_groups = 1, .work_items_per_group = items}, awaited_by_more{what},
                    global<std::uint64_t>(heap.data()), std::ref(net));
        REQUIRE(o.get_fault());
        CHECK(to_string(o.get_fault()->what) == to_string(fault::kind::wrong_shape));
      });
  }

  TEST_CASE("members of a fine-grain barrier send together, those that have left do not") {
    with_every_agent([](agent& gpu) {
      auto const got = pushed(gpu, by_fine_grain_barrier{});
      REQUIRE(got.size() == 3);
      for (std::uint32_t round = 0; round < 3; ++round)
        check(got[round], command::add,
              for_items([round](auto i) { return i / 16 > round ? message{0, i, round} : none; }));
    });
  }

  TEST_CASE("work-items at one line send together, in the order of the lines") {
    with_every_agent([](agent& gpu) {
      auto const got = pushed(gpu, items_at_two_lines{});
      REQUIRE(got.size() == 3);
      check(got[0], command::add,
            for_items([](auto i) { return i % 2 == 0 ? message{i % 4, 2 * i, 10 * i} : none; }));
      check(got[1], command::put,
            for_items([](auto i) { return i % 2 == 1 ? message{5, i, 20 * i} : none; }));
      check(got[2], command::increment, for_items([](auto i) { return message{i, i, 0}; }));
    });
  }

  TEST_CASE("a word that is not in the heap, or of no node, is refused before room is reserved") {
    with_every_agent([](agent& gpu) {
      std::vector<std::uint64_t> heap(256);
      auto const known = gpu.expose(heap.data(), heap.size(), "heap");
      using all = std::vector<strict::refusal>;
      auto const expect = [&](std::uint64_t* at, std::uint64_t node, std::uint64_t word) {
        CHECK(refused(gpu, heap, add_there{}, at, node) == all{{command::add, node, word}});
        CHECK(refused(gpu, heap, put_there_item{}, at, node) == all{{command::put, node, word}});
      };
      std::uint64_t* const first = heap.data();
      CHECK(refused(gpu, heap, add_there{}, first + 255, 3).empty());
      CHECK(refused(gpu, heap, put_there_item{}, first + 255, 3).empty());
      expect(first + 256, 3, 256);
      expect(first - 1, 0, ~0ULL);
      expect(first + (1LL << 32), 0, 1ULL << 32);
      expect(first, 4, 0);
      expect(first, 65'536, 0);
      expect(first, 1ULL << 32, 0);
      expect(first, ~0ULL, 0);
      // Half of one word and half of the next are none.
      auto* const between =
          reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(first + 3) + 4);
      for (auto const& all : {refused(gpu, heap, add_there{}, between, 0),
                              refused(gpu, heap, put_there_item{}, between, 0)}) {
        REQUIRE(all.size() == 1);
        CHECK(all[0].word == 3);
        CHECK(all[0].byte == 4);
      }
    });
  }

  TEST_CASE("numbers, consecutive and arbitrary indices become words of 64 bits") {
    using w = wavefront;
    auto const each = [](lanes<std::uint64_t, 64> const& v, auto expected) {
      for (int l = 0; l < 64; ++l)
        CHECK(v[l] == expected(l));
    };
    each(as_words<w>(7), [](int) { return 7U; });
    each(as_words<w>(linear_index<std::int32_t, 64>(5)), [](int l) { return 5U + unsigned(l); });
    lanes<std::int32_t, 64> odd(3);
    odd.set(63, 1 << 30);
    each(as_words<w>(odd), [](int l) { return l == 63 ? 1U << 30 : 3U; });
  }
}
