// SPDX-License-Identifier: Apache-2.0
// Plain functions that spin, and would keep a native thread for ever; some only look as if they
// did.
#include "agents.hpp"

#include <quarry/emu/spin_watch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr std::uint32_t setter = 200; ///< in another wavefront of work-item 0's group

/// Work-item 0 spins, by Loop{}(work-item, words), until another one has stored 1 to the last word.
template<class Loop, std::uint32_t Last>
struct spins_until_set {
  void operator()(any_plain_work_item auto& wi, global<int> words) const {
    if (wi.local_linear_id() == 0)
      Loop{}(wi, words);
    if (wi.local_linear_id() == setter)
      wi.store(words + Last, 1, order::release, scope::agent);
  }
};

struct on_four_words {
  void operator()(auto& wi, global<int> words) const {
    for (std::uint32_t i = 0; wi.load(words + i, order::acquire, scope::agent) == 0;)
      i = (i + 1) % 4;
  }
};
struct by_compare_exchange {
  void operator()(auto& wi, global<int> words) const {
    int expected = 1;
    while (!wi.compare_exchange(words, expected, 2, order::acq_rel, scope::agent))
      expected = 1;
  }
};
/// As one that takes a lock, which the other one gives back.
struct by_exchange {
  void operator()(auto& wi, global<int> words) const {
    while (wi.exchange(words, 0, order::acq_rel, scope::agent) == 0) {
    }
  }
};
struct by_updates {
  void operator()(auto& wi, global<int> words) const {
    while (wi.fetch_add(words, 0, order::acquire, scope::agent) == 0 &&
           wi.fetch_or(words, 0, order::acquire, scope::work_group) == 0) {
    }
  }
};
/// It counts its rounds in memory: no wait would be sure to be one for what it needs.
struct while_counting {
  void operator()(auto& wi, global<int> words) const {
    while (wi.load(words + 1, order::acquire, scope::agent) == 0)
      wi.fetch_add(words, 1, order::relaxed, scope::agent);
  }
};

/// A lock that nobody else wants, taken and given back again and again.
struct takes_a_free_lock {
  void operator()(any_plain_work_item auto& wi, global<int> lock, global<int> count) const {
    if (wi.local_linear_id() != 0)
      return;
    for (int i = 0; i < 1000; ++i) {
      int expected = 0;
      while (wi.load(lock, order::relaxed, scope::agent) != 0 ||
             !wi.compare_exchange(lock, expected, 1, order::acquire, scope::agent))
        expected = 0;
      wi.store(count, wi.load(count) + 1);
      wi.store(lock, 0, order::release, scope::agent);
    }
  }
};

/// Neither word ever changes.
struct spins_for_ever {
  void operator()(any_plain_work_item auto& wi, global<int> words) const {
    if (wi.local_linear_id() == 0)
      while (wi.load(words, order::acquire, scope::agent) == 0 &&
             wi.load(words + 1, order::acquire, scope::agent) == 0) {
      }
  }
};

/// Looks at a word that nobody changes, again and again, while it works.
struct scale_a_sum {
  void operator()(any_plain_work_item auto& wi, global<int> scale, global<int const> in,
                  global<int> out) const {
    int sum = 0;
    for (int i = 0; i < 500; ++i)
      sum += wi.load(in + i) * wi.load(scale, order::relaxed, scope::agent);
    wi.store(out + wi.global_id(), sum);
  }
};

/// Nobody sets the flag; the load beside it is of one place.
struct spin_beside_a_load {
  void operator()(any_plain_work_item auto& wi, global<int> flag) const {
    int sum = 0;
    while (wi.load(flag, order::acquire, scope::agent) == 0)
      sum += wi.load(flag + 1);
    wi.store(flag + 1, sum);
  }
};

template<class Loop, std::uint32_t Last = 0>
void ends() {
  with_every_agent([](agent& gpu) {
    auto words = gpu.allocate<int>(4, "words");
    succeed(gpu.run({.work_groups = 1}, spins_until_set<Loop, Last>{}, words.global()));
  });
}

/// Of two words, which nobody changes.
template<class Kernel>
void stalls(Kernel kernel, std::uint32_t work_items) {
  with_native_agents(
      {},
      [&](agent& gpu) {
        auto words = gpu.allocate<int>(2, "words");
        auto const report = fail_with(gpu.run({.work_items = work_items}, kernel, words.global()),
                                      fault::kind::stall);
        CHECK_SAYS(report, "wait_until at spin_watch_test.cpp:");
        CHECK_SAYS(report, " on words, byte ");
      },
      impatience);
}

} // namespace

TEST_SUITE("emu.spin_watch") {
  TEST_CASE("a plain function may spin on four words in turn") {
    ends<on_four_words, 3>();
  }
  TEST_CASE("a plain function may spin by a compare-exchange that fails") {
    ends<by_compare_exchange>();
  }
  TEST_CASE("a plain function may spin by an exchange that leaves the word as it is") {
    ends<by_exchange>();
  }
  TEST_CASE("a plain function may spin by updates that change nothing") {
    ends<by_updates>();
  }
  TEST_CASE("a plain function that spins may count its rounds in memory") {
    ends<while_counting, 1>();
  }

  TEST_CASE("who takes a free lock again and again does not wait for anybody") {
    with_every_agent([](agent& gpu) {
      auto words = gpu.allocate<int>(2, "words");
      succeed(gpu.run({.work_groups = 1}, takes_a_free_lock{}, words.global(), words.global() + 1));
      CHECK(words.host()[1] == 1000);
    });
  }

  TEST_CASE("a spin on words that never change is a stall, whose report says where") {
    stalls(spins_for_ever{}, 64);
    stalls(spin_beside_a_load{}, 2);
  }

  TEST_CASE("a plain function that works in between is not taken for one that spins") {
    with_every_agent([](agent& gpu) {
      auto scale = gpu.allocate<int>(1, "scale"), in = gpu.allocate<int>(500, "in"),
           out = gpu.allocate<int>(40, "out");
      scale.host()[0] = 2;
      std::fill(in.host().begin(), in.host().end(), 1);
      succeed(gpu.run({.work_items = 40, .work_items_per_group = 40}, scale_a_sum{}, scale.global(),
                      in.global(), out.global()));
      for (int const sum : out.host())
        CHECK(sum == 1000);
    });
  }

  TEST_CASE("it advises to wait for those words only that have been seen again since a change") {
    using advice = spin_watch::advice;
    std::uint32_t one = 1;
    std::uint8_t two = 2;
    spin_watch watch;
    for (int i = 0; i < 200; ++i) {
      REQUIRE(watch.sees({&one, 1, sizeof one}) == advice::go_on);
      REQUIRE(watch.sees({&two, 2, sizeof two}) == advice::go_on);
      watch.changes();
    }
    int count = 0;
    while (watch.sees({&two, 2, sizeof two}) == advice::go_on)
      REQUIRE(++count < 200);
    CHECK_FALSE(spin_watch::has_ended(&watch));
    one = 7;
    CHECK_FALSE(spin_watch::has_ended(&watch)); // not since then
    two = 3;
    CHECK(spin_watch::has_ended(&watch));
  }

  TEST_CASE("who sees another value, or changes a word, does not spin") {
    using advice = spin_watch::advice;
    std::uint32_t word = 0;
    spin_watch watch;
    for (std::uint32_t i = 0; i < 10'000; ++i)
      REQUIRE(watch.sees({&word, i, sizeof word}) == advice::go_on);
    int gave_way = 0;
    for (int i = 0; i < 10'000; ++i) {
      auto const how = watch.sees({&word, 1, sizeof word});
      REQUIRE(how != advice::wait);
      if (how == advice::give_way) {
        ++gave_way;
        watch.begin();
      }
      watch.changes();
    }
    CHECK(gave_way == 2); // but for long
  }
}
