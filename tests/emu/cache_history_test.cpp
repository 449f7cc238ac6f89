// SPDX-License-Identifier: Apache-2.0
// What caches may not do once they have forgotten a part of a word's history, or its size changes.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

/// Wavefront 0 stores once; wavefront 1 updates without a change, more often than a cache
/// remembers.
struct store_beside_updates {
  void operator()(any_wavefront auto& wf, global<word> at, word updates) const {
    if (wf.index_in_group() == 0)
      wf.store(at, 1, order::relaxed, scope::work_group);
    else
      for (word i = 0; i < updates; ++i)
        wf.fetch_add(at, 0U, order::acq_rel, scope::system);
  }
};

/// A spin lock whose scopes all include each other, and differ.
struct add_in_lock {
  void operator()(any_wavefront auto& wf, global<word> lock, global<word> sum) const {
    while (wf.exchange(lock, 1U, order::acq_rel, scope::system) != 0) {
    }
    wf.store(sum, wf.load(sum) + 1);
    wf.store(lock, 0U, order::release, scope::agent);
  }
};

global<std::uint16_t> low_half(global<std::uint64_t> at) {
  return global<std::uint16_t>(reinterpret_cast<std::uint16_t*>(at.get()));
}
global<word> high_word(global<std::uint64_t> at) {
  return global<word>(reinterpret_cast<word*>(at.get()) + 1);
}

} // namespace

TEST_SUITE("emu.cache_history") {
  TEST_CASE("a store is not lost among updates whose scope includes it, however many they are") {
    for (word const updates : {3U, 5U, 7U}) {
      CAPTURE(updates);
      verdict const v = explore(
          {.executions = 100'000, .strategy = "exhaustive", .reduces = true}, [=](world& w) {
            explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
            auto words = gpu.allocate<word>(1, "words");
            gpu.run({.work_items = 64, .work_items_per_group = 64}, store_beside_updates{},
                    words.global(), updates)
                .or_throw();
            w.check(words.host()[0] == 1, "the store is lost");
          });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.executions < 100'000);
    }
  }

  TEST_CASE("who spins for a lock gets it, also where it is released in a narrower scope") {
    constexpr word groups = 3;
    verdict const v = explore({.executions = 3'000, .most_decisions = 2'000}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
      auto words = gpu.allocate<word>(32, "words");
      gpu.run({.work_groups = groups, .work_items_per_group = 32}, add_in_lock{}, words.global(),
              words.global() + 16)
          .or_throw();
      w.check(words.host()[16] == groups, "somebody's is lost");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("an atomic store is whole to who acquires a part of it, and then loads the rest") {
    verdict const v = explore({.strategy = "exhaustive"}, [](world& w) {
      auto words = w.allocate<std::uint64_t>(1, "words");
      constexpr std::uint64_t nines = 0x0909'0909'0909'0909;
      w.start("writer", [at = words.global()](world_core& self) {
        self.store(at, nines, order::release, scope::system);
      });
      w.start("reader", [&w, at = words.global()](world_core& self) {
        if (self.load(low_half(at), order::acquire, scope::system) != 0)
          w.check(self.load(high_word(at)) == static_cast<word>(nines), "torn");
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(!v.is_cut_short);
    CHECK(v.limited != 0); // it is not late where somebody comes to a part of it
  }

  TEST_CASE("of two atomic stores, one of them to a part, the memory's order is one") {
    verdict const v =
        explore({.executions = 200'000, .strategy = "exhaustive", .reduces = true}, [](world& w) {
          auto words = w.allocate<std::uint16_t>(1, "words");
          auto const whole = words.global();
          global<std::uint8_t> const low(reinterpret_cast<std::uint8_t*>(whole.get()));
          std::uint16_t saw = 0;
          w.start("bytes",
                  [=](world_core& self) { self.store(low, 4, order::release, scope::system); });
          w.start("halves", [=](world_core& self) {
            self.store(whole, 0x0505, order::relaxed, scope::system);
          });
          w.start("reader", [=, &saw](world_core& self) {
            saw = self.load(whole, order::seq_cst, scope::system);
          });
          w.join();
          // Who has seen the byte over the half has seen the last of the two.
          w.check(saw != 0x0504 || w.host().load(whole) == 0x0504, "two orders");
        });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.executions < 200'000);
  }

  TEST_CASE("what more stores than may be delayed leave out is no complete search") {
    auto const store_buffering = [](int stores) {
      bool is_seen = false;
      verdict const v = explore(
          {.executions = 1'000'000, .strategy = "exhaustive", .reduces = true}, [&](world& w) {
            auto words = w.allocate<word>(128, "words");
            auto const at = [&](int i) { return words.global() + 16 * i; };
            word first = 1, second = 1;
            w.start("first", [&](world_core& self) {
              for (int i = 0; i < stores; ++i)
                self.store(at(i), 1, order::release, scope::system);
              first = self.load(at(7), order::acquire, scope::system);
            });
            w.start("second", [&](world_core& self) {
              self.store(at(7), 1, order::seq_cst, scope::system);
              second = self.load(at(0), order::seq_cst, scope::system);
            });
            w.join();
            is_seen = is_seen || first + second == 0;
          });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(is_seen == v.is_complete);
      return v.is_complete;
    };
    CHECK(store_buffering(4));
    CHECK_FALSE(store_buffering(5));
  }
}
