// SPDX-License-Identifier: Apache-2.0
// What worlds and kernels see of the caches: the newest value, LDS as a flag, words of two widths,
// memory that goes while it is in use.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;
constexpr word items = 32; // one wavefront

/// Group 0 sets a flag, the others spin until they see it; all in their first lane.
struct spin_on_a_flag {
  void operator()(any_wavefront auto& wf, global<word> flag, scope far) const {
    auto const one = wf.where(wf.local_id() == 0);
    if (wf.linear_group_id() == 0)
      wf.store(flag, 1U, order::relaxed, far);
    else
      while (wf.load(flag, order::relaxed, far) == 0) {
      }
  }
};
/// Group 0 stores, group 1 says what it has loaded.
struct store_and_load {
  void operator()(any_wavefront auto& wf, global<word> x, word& seen) const {
    if (wf.linear_group_id() == 0)
      wf.store(x, 1U, order::relaxed, scope::agent);
    else
      seen = wf.load(x, order::relaxed, scope::agent);
  }
};

enum class by : std::uint8_t { store, update, fence };
/// Wavefront 0 hands a word of global memory to wavefront 1 of its group, by a flag in LDS.
template<by How, order Awaits>
struct hand_over_by_lds {
  task<> operator()(any_wavefront auto& wf, global<word> data) const {
    auto const flag = wf.template lds<word, 1>() + 0;
    if (wf.index_in_group() == 0)
      wf.store(flag, 0U);
    auto met = wf.barrier();
    co_await met;
    if (wf.index_in_group() == 0) {
      wf.store(data, 42U);
      if constexpr (How == by::store)
        wf.store(flag, 1U, order::release, scope::work_group);
      else if constexpr (How == by::update)
        wf.fetch_add(flag, 1U, order::acq_rel, scope::work_group);
      else {
        wf.fence(order::release, scope::work_group);
        wf.store(flag, 1U, order::relaxed, scope::work_group);
      }
    } else {
      auto set = wf.wait_until(flag, [](word v) { return v != 0; }, Awaits, scope::work_group);
      static_cast<void>(co_await set);
      if constexpr (How == by::fence)
        wf.fence(order::acquire, scope::work_group);
      wf.store(data + 1, wf.load(data));
    }
  }
};

template<class Kernel>
verdict run_hand_over(bool detects_races, Kernel kernel) {
  return explore({.executions = 2'000,
                  .detects_races = detects_races,
                  .diagnoses = false,
                  .keeps_failures = false},
                 [kernel](world& w) {
                   explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
                   auto data = gpu.allocate<word>(2, "data");
                   auto const end = gpu.run({.work_groups = 1,
                                             .work_items_per_group = 2 * items,
                                             .lds_bytes = sizeof(std::uint64_t)},
                                            kernel, data.global());
                   w.check(static_cast<bool>(end), "the kernel has failed");
                   w.check(data.host()[1] == 42, "a stale word");
                 });
}

template<by How, order Awaits = order::acquire>
verdict hand_over(bool detects_races) {
  return run_hand_over(detects_races, hand_over_by_lds<How, Awaits>{});
}

/// The same by the upper half of a word in LDS, which wavefront 1 acquires as a whole.
struct hand_over_by_half {
  task<> operator()(any_wavefront auto& wf, global<word> data) const {
    auto const whole = wf.template lds<std::uint64_t, 1>() + 0;
    global<word> const half(reinterpret_cast<word*>(whole.get()) + 1); // NOLINT: its bytes
    if (wf.index_in_group() == 0)
      wf.store(whole, std::uint64_t{0});
    co_await wf.barrier();
    if (wf.index_in_group() == 0) {
      wf.store(data, 42U);
      wf.store(half, 1U, order::release, scope::work_group);
    } else {
      auto set = wf.wait_until(
          whole, [](std::uint64_t v) { return v != 0; }, order::acquire, scope::work_group);
      static_cast<void>(co_await set);
      wf.store(data + 1, wf.load(data));
    }
  }
};

/// Each wavefront hands a word over by a byte of its own; the first one waits for all of them.
struct hand_over_by_bytes {
  task<> operator()(any_wavefront auto& wf, global<word> data) const {
    auto const all = wf.template lds<word, 1>() + 0;
    global<std::uint8_t> const bytes(reinterpret_cast<std::uint8_t*>(all.get())); // NOLINT: its own
    auto const me = wf.index_in_group();
    if (me == 0)
      wf.store(all, 0U);
    co_await wf.barrier();
    wf.store(data + me, 42U);
    wf.store(bytes + me, std::uint8_t{1}, order::release, scope::work_group);
    if (me != 0)
      co_return;
    auto set =
        wf.wait_until(all, [](word v) { return v == 0x0101; }, order::acquire, scope::work_group);
    static_cast<void>(co_await set);
    wf.store(data + 1, wf.load(data) & wf.load(data + 1));
  }
};

/// Two wavefronts store to whole lines; one of them hands x over.
struct share_lines {
  void operator()(any_wavefront auto& wf, global<word> rows, global<word> x) const {
    auto const mine = static_cast<word>(wf.linear_group_id() + 1);
    wf.store(rows + wf.local_id(), mine);
    if (wf.linear_group_id() == 0)
      wf.store(x, 7U, order::release, scope::system);
    else
      wf.fence(order::release, scope::system);
    wf.load(rows + 64);
    wf.load(rows + 65);
  }
};
struct load_a_few {
  void operator()(any_wavefront auto& wf, global<word> words) const {
    for (int i = 0; i != 8; ++i)
      static_cast<void>(wf.load(words + i, order::relaxed, scope::system));
  }
};

using two_bytes = std::array<std::uint8_t, 2>;

/// A word of 8 bytes, whose halves the host has stored one by one.
struct two_halves {
  explicit two_halves(world& w) : all(w.allocate<std::uint64_t>(1, "word")) {
    global<word> const half(reinterpret_cast<word*>(all.global().get())); // NOLINT: its bytes
    w.host().store(half, 0U);
    w.host().store(half + 1, 0U);
  }
  buffer<std::uint64_t> all;
};

} // namespace

TEST_SUITE("emu.explore_caches") {
  TEST_CASE("wavefronts that spin on a flag come to their end, by any strategy") {
    for (char const* const strategy : {"swarm", "pct", "random_walk", "boring"})
      for (unsigned const units : {1U, 2U}) {
        auto const v = explore(
            {.executions = 200, .strategy = strategy, .keeps_failures = false}, [units](world& w) {
              explored_agent gpu(
                  w.scheduler(),
                  {.compute_units = units, .wavefront_slots = 4, .wavefront_size = items});
              auto flag = w.allocate<word>(1, "flag");
              auto const end = gpu.run({.work_groups = 3, .work_items_per_group = items},
                                       spin_on_a_flag{}, flag.global(), scope::agent);
              w.check(static_cast<bool>(end), "the kernel has failed");
            });
        CHECK_MESSAGE(v, v.to_string());
        CHECK(v.inconclusive == 0);
      }
  }

  TEST_CASE("without anything stale a load sees the newest value, between wavefronts, too") {
    for (std::uint32_t const stale : {0U, 1U}) {
      std::set<word> seen;
      auto const v = explore(
          {.strategy = "exhaustive", .bounds = {.stale = stale}, .keeps_failures = false},
          [&](world& w) {
            explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = items});
            auto x = w.allocate<word>(1, "x");
            word saw = 2;
            auto const end = gpu.run({.work_groups = 2, .work_items_per_group = 1},
                                     store_and_load{}, x.global(), std::ref(saw));
            w.check(static_cast<bool>(end), "the kernel has failed");
            seen.insert(saw);
          });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(seen == std::set<word>{0, 1}); // before the store, and after it
    }
  }

  TEST_CASE("a flag in LDS hands global memory over as one in global memory does") {
    for (bool const detects_races : {true, false})
      for (verdict const& v :
           {hand_over<by::store>(detects_races), hand_over<by::update>(detects_races),
            hand_over<by::fence, order::relaxed>(detects_races)})
        CHECK_MESSAGE(v, v.to_string());
    auto const without = hand_over<by::store, order::relaxed>(false);
    REQUIRE(without.failure);
    CHECK(without.failure->kind == "check");
    auto const race = hand_over<by::store, order::relaxed>(true);
    REQUIRE(race.failure);
    CHECK(race.failure->kind == "race");
  }

  TEST_CASE("so does a half of it, to who acquires the whole") {
    verdict const v = run_hand_over(true, hand_over_by_half{});
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("so do parts of several, to who acquires them all at once; in global memory, too") {
    verdict const in_lds = run_hand_over(true, hand_over_by_bytes{});
    CHECK_MESSAGE(in_lds, in_lds.to_string());
    for (bool const is_released : {true, false}) {
      verdict const v = explore({.executions = 500, .diagnoses = false}, [&](world& w) {
        two_halves flags(w);
        auto data = w.allocate<word>(32, "data");
        for (std::size_t me = 0; me < 2; ++me)
          w.start("writer", [&, me](world_core& self) {
            global<word> const half(reinterpret_cast<word*>(flags.all.global().get())); // NOLINT
            self.store(data.global() + 16 * me, 42U);
            self.store(half + me, 1U, is_released || me == 0 ? order::release : order::relaxed,
                       scope::system);
          });
        w.start("reader", [&](world_core& self) {
          if (self.load(flags.all.global(), order::acquire, scope::system) == 0x1'0000'0001)
            static_cast<void>(self.load(data.global()) + self.load(data.global() + 16));
        });
        w.join();
      });
      CHECK_MESSAGE(static_cast<bool>(v) == is_released, v.to_string());
    }
  }

  TEST_CASE("a plain load of LDS may lie across two words that were written") {
    verdict const v = explore({.executions = 5}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
      bool is_right = false;
      auto const kernel = [&](any_wavefront auto& wf) {
        auto const words = wf.template lds<std::uint64_t, 2>();
        wf.store(words + 0, std::uint64_t{1} << 56);
        wf.store(words + 1, std::uint64_t{2});
        auto* const last = reinterpret_cast<std::uint8_t*>((words + 0).get()) + 7; // NOLINT
        auto const pair = wf.load(global<two_bytes>(reinterpret_cast<two_bytes*>(last)));
        is_right = pair[0] == 1 && pair[1] == 2;
      };
      gpu.run({.work_groups = 1, .work_items_per_group = items, .lds_bytes = 16}, kernel)
          .or_throw();
      w.check(is_right, "read in parts");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("atomic accesses of a word are whole, although somebody has accessed its halves") {
    for (order const o : {order::relaxed, order::release}) {
      std::set<std::uint64_t> seen;
      auto const v = explore({.strategy = "exhaustive", .keeps_failures = false}, [&](world& w) {
        two_halves words(w);
        auto const at = words.all.global();
        w.start("writer", [=](world_core& self) {
          self.store(at, 0x1'0000'0001, o, scope::system);
          self.fetch_add(at, 0xffff'ffff, order::relaxed, scope::system);
        });
        w.start("reader", [=, &seen](world_core& self) {
          seen.insert(self.load(at, order::acquire, scope::system));
        });
        w.join();
      });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(seen == std::set<std::uint64_t>{0, 0x1'0000'0001, 0x2'0000'0000});
    }
  }

  TEST_CASE("plain ones may be torn") {
    std::set<std::uint64_t> seen;
    auto const v = explore(
        {.strategy = "exhaustive", .detects_races = false, .keeps_failures = false}, [&](world& w) {
          two_halves words(w);
          auto const at = words.all.global();
          w.start("writer", [=](world_core& self) { self.store(at, 0x1'0000'0001); });
          w.start("reader", [=, &seen](world_core& self) { seen.insert(self.load(at)); });
          w.join();
        });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(seen == std::set<std::uint64_t>{0, 1, 0x1'0000'0000, 0x1'0000'0001});
  }

  TEST_CASE("who uses memory that was given back is found, though the next one is as large") {
    for (bool const is_reused : {false, true}) {
      auto const v = explore(
          {.executions = 100, .diagnoses = false, .keeps_failures = false}, [is_reused](world& w) {
            explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
            std::optional words = gpu.allocate<word>(8, "words");
            auto launched = gpu.launch({.work_groups = 1, .work_items_per_group = items},
                                       load_a_few{}, words->global());
            words.reset();
            std::optional<buffer<word>> others;
            if (is_reused)
              others.emplace(gpu.allocate<word>(8, "others"));
            static_cast<void>(launched.wait());
          });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "out of bounds");
      CHECK_MESSAGE(v.failure->report.find("of 'words' (32 bytes, allocated at ") !=
                        std::string::npos,
                    v.to_string());
      CHECK(v.failure->report.find("which was given back") != std::string::npos);
    }
  }

  TEST_CASE("LDS that is used again is told by what it is now") {
    verdict const v = explore({.executions = 1, .diagnoses = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = items});
      auto const use = [&](std::uint32_t bytes, std::size_t stored) {
        static_cast<void>(
            gpu.run({.work_groups = 1, .work_items_per_group = items, .lds_bytes = bytes},
                    [stored](any_wavefront auto& wf) {
                      wf.store(wf.template lds<word, 1>() + stored, 1U);
                    }));
      };
      use(512, 0);
      use(64, 16);
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "out of bounds");
    CHECK_MESSAGE(v.failure->report.find("0 bytes after the end of 'LDS of group 0' (64 bytes of "
                                         "LDS, allocated at ") != std::string::npos,
                  v.to_string());
  }

  TEST_CASE("memory may go while lines that others share are on their way") {
    auto const v = explore(
        {.executions = 3'000, .detects_races = false, .keeps_failures = false}, [](world& w) {
          explored_agent gpu(w.scheduler(),
                             {.compute_units = 1, .wavefront_slots = 4, .wavefront_size = items});
          auto rows = w.allocate<word>(128, "rows");
          auto x = std::make_unique<buffer<word>>(w.allocate<word>(2, "x"));
          w.host().load(x->global());
          auto launched = gpu.launch({.work_groups = 2, .work_items_per_group = items},
                                     share_lines{}, rows.global(), x->global());
          for (int i = 0; i != 4; ++i)
            w.host().load(rows.global() + 70 + i);
          x.reset();
          static_cast<void>(launched.wait());
        });
    if (v.failure) // where the kernel has not stored yet
      CHECK_MESSAGE(v.failure->kind == "out of bounds", v.to_string());
  }

  TEST_CASE("an exhaustive search says where the caches remember too little for it") {
    auto const writes = [](int count) {
      return explore({.strategy = "exhaustive", .keeps_failures = false}, [count](world& w) {
        auto words = w.allocate<word>(32, "words");
        auto const x = words.global(), flag = x + 16;
        w.start("writer", [=](world_core& self) {
          for (int i = 0; i != count; ++i)
            self.fetch_add(x, 1U, order::relaxed, scope::system);
          self.store(flag, 1U, order::release, scope::system);
        });
        w.start("reader", [=, &w](world_core& self) {
          if (self.load(flag, order::relaxed, scope::system) == 1)
            w.check(self.load(x, order::relaxed, scope::system) != 0, "as stale as can be");
        });
        w.join();
      });
    };
    auto const few = writes(7);
    REQUIRE(few.failure);
    CHECK(few.failure->kind == "check");
    auto const many = writes(8);
    CHECK_MESSAGE(many, many.to_string());
    CHECK(!many.is_complete);
    CHECK(many.limited != 0);
    CHECK_MESSAGE(many.to_string().find("8 writes to a word are remembered") != std::string::npos,
                  many.to_string());
  }
}
