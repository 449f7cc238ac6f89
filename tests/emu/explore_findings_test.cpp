// SPDX-License-Identifier: Apache-2.0
// What explore() finds beside races and wrong values.
#include "agents.hpp"
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace {

using namespace quarry_test;

/// Signals with a relaxed store, and ends only when it is told to.
struct send_signal {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> at, scope far,
                    global<std::uint32_t> end) const {
    wf.store(at, 1, order::relaxed, far);
    auto const is_set = [](std::uint32_t v) { return v == 2; };
    static_cast<void>(co_await wf.wait_until(end, is_set, order::acquire, scope::system));
  }
};

/// Groups of one compute unit, one after the other in the same LDS.
struct use_lds {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> out, bool writes_all) const {
    auto const words = wf.template lds<std::uint32_t, 32>();
    if (writes_all || wf.linear_group_id() == 0)
      wf.store(words + wf.local_id(), convert<std::uint32_t>(wf.local_id().to_lanes()));
    wf.store(out + wf.global_id(), wf.load(words + wf.local_id()));
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.explore") {
  TEST_CASE("a loop of plain loads ends by chance only, one of relaxed loads does not") {
    auto const poll = [](bool is_plain) {
      return explore({.executions = 100, .detects_races = false}, [is_plain](world& w) {
        auto flag = w.allocate<std::uint32_t>(1, "flag");
        w.start("writer", [&](world_core& self) {
          self.store(flag.global(), 1, order::release, scope::system);
        });
        w.start("reader", [&](world_core& self) {
          while ((is_plain ? self.load(flag.global())
                           : self.load(flag.global(), order::relaxed, scope::system)) == 0) {
          }
        });
        w.join();
      });
    };
    verdict const v = poll(true);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "eviction");
    verdict const right = poll(false);
    CHECK_MESSAGE(right, right.to_string());
  }

  TEST_CASE("to read a word once as a whole and once in part is no such loop") {
    verdict const v = explore({.executions = 10}, [](world& w) {
      auto word = w.allocate<std::uint64_t>(1, "word");
      w.start("reader", [at = word.global()](world_core& self) {
        auto const read = [&self](auto where) { return self.load(where); }; // one line
        self.store(at, 0x1'0000'0002);
        for (int i = 0; i < 2; ++i)
          static_cast<void>(read(at));
        static_cast<void>(
            read(global<std::uint32_t>(reinterpret_cast<std::uint32_t*>(at.get())))); // NOLINT
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("so does one that polls several words, or does something else meanwhile") {
    auto const poll = [](auto const& body) {
      return explore({.executions = 100, .detects_races = false}, [&](world& w) {
        auto words = w.allocate<std::uint32_t>(48, "words"); // apart
        w.start("writer", [&](world_core& self) {
          self.store(words.global(), 1, order::release, scope::system);
        });
        w.start("reader", [&](world_core& self) { body(self, words.global()); });
        w.join();
      });
    };
    auto const by_chance = [&](auto const& body) {
      verdict const v = poll(body);
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "eviction");
    };
    by_chance([](world_core& self, auto at) {
      while (self.load(at) == 0 && self.load(at + 16) == 0) {
      }
    });
    by_chance([](world_core& self, auto at) {
      for (std::uint32_t beats = 0; self.load(at) == 0; ++beats)
        self.store(at + 32, beats);
    });
    by_chance([](world_core& self, auto at) {
      while (self.load(at) == 0)
        self.fetch_add(at + 32, 1, order::relaxed, scope::system);
    });
    auto const for_good = [&](auto const& body) {
      verdict const v = poll(body);
      CHECK_MESSAGE(v, v.to_string());
    };
    for_good([](world_core& self, auto at) {
      while (self.load(at) == 0)
        self.fence(order::acquire, scope::system);
    });
    for_good([](world_core& self, auto at) { // its own values
      for (std::uint32_t i = 0; i < 8; ++i) {
        if (i % 3 == 0)
          self.store(at + 32, i);
        self.load(at + 32);
      }
    });
  }

  TEST_CASE("an access of a host thread beyond an allocation is a failure, and changes nothing") {
    for (int const how : {0, 1, 2}) {
      verdict const v = explore({.executions = 10}, [how](world& w) {
        auto words = w.allocate<std::uint32_t>(4, "words");
        w.start("stray", [&](world_core& self) {
          auto const beyond = words.global() + 4;
          if (how == 0)
            static_cast<void>(self.load(beyond));
          else if (how == 1)
            self.store(beyond, 1, order::release, scope::system);
          else
            self.fetch_add(beyond, 1, order::relaxed, scope::system);
        });
        w.join();
      });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == to_string(fault::kind::out_of_bounds));
      CHECK(v.failure->where.find("explore_findings_test.cpp") != std::string::npos);
      CHECK(v.failure->report.find("stray accesses 4 bytes 0 bytes after the end of 'words' (16 "
                                   "bytes of host memory, ") != std::string::npos);
    }
  }

  TEST_CASE("reports name words by their allocation") {
    verdict const v = explore({.executions = 100}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(4, "ranks");
      for (std::uint32_t const i : {1U, 2U})
        w.start(i == 1 ? "one" : "two",
                [=, at = words.global() + 3](world_core& self) { self.store(at, i); });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
    CHECK(v.failure->report.find("4 bytes at ranks[3]") != std::string::npos);
    CHECK(v.failure->history.find("ranks[3] = 0x") != std::string::npos);
  }

  TEST_CASE("a word of uninitialised memory must be written before it is read") {
    auto const read = [](bool is_written, bool by_host) {
      return explore({.executions = 20}, [=](world& w) {
        auto word = w.allocate<std::uint32_t>(4, "word", contents::uninitialised);
        if (is_written && by_host)
          word.host()[1] = 7;
        else if (is_written)
          w.host().store(word.global() + 1, 7);
        w.start("reader", [&](world_core& self) {
          w.check(self.load(word.global() + 1) == 7, "another value");
        });
        w.join();
      });
    };
    verdict const v = read(false, false);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "uninitialised");
    CHECK(v.failure->report.find("reader reads 4 bytes of global memory") != std::string::npos);
    CHECK(read(true, false));
    CHECK(read(true, true));
  }

  TEST_CASE("so must each byte of it, and any value will do") {
    constexpr std::uint64_t pattern = 0xcdcd'cdcd'cdcd'cdcd;
    auto const read = [](auto const& writes) {
      return explore({.executions = 20}, [&](world& w) {
        auto words = w.allocate<std::uint64_t>(1, "words", contents::uninitialised);
        writes(w, words);
        w.start("reader", [&](world_core& self) { self.load(words.global()); });
        w.join();
      });
    };
    auto const part = []<class T>(global<std::uint64_t> at, int index, T) {
      return global<T>(reinterpret_cast<T*>(at.get()) + index);
    };
    auto const is_found = [&](auto const& writes, char const* which) {
      verdict const v = read(writes);
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "uninitialised");
      CHECK_SAYS(v.failure->report, which);
    };
    is_found([&](world& w, auto& b) { w.host().store(part(b.global(), 0, 0U), 7); },
             "reader reads 8 bytes of global memory of which 4 of 8 nobody has written");
    is_found([&](world& w, auto& b) { w.host().store(part(b.global(), 5, char()), 7); },
             "of which 7 of 8 nobody has written");
    is_found([&](world&, auto& b) { b.host()[0] = pattern << 32 | 7; }, // by the host's own code
             "of which 4 of 8 nobody has written");
    for (std::uint64_t const value : {pattern, pattern << 32 | 7}) {
      verdict const by_device = read([&](world& w, auto& b) { w.host().store(b.global(), value); });
      CHECK_MESSAGE(by_device, by_device.to_string());
    }
    verdict const some_bytes = read([](world&, auto& b) { b.host()[0] = 0xcd00'0000'cdcd'cd00; });
    CHECK_MESSAGE(some_bytes, some_bytes.to_string());
    verdict const in_parts = read([&](world& w, auto& b) {
      w.host().store(part(b.global(), 0, 0U), 0xcdcd'cdcd);
      w.host().store(part(b.global(), 1, 0U), 0xcdcd'cdcd);
    });
    CHECK_MESSAGE(in_parts, in_parts.to_string());
    verdict const image = explore({.executions = 20}, [](world& w) {
      auto bytes = w.allocate<std::uint8_t>(256, "bytes", contents::uninitialised);
      std::iota(bytes.host().begin(), bytes.host().end(), std::uint8_t{0}); // 0xcd among them
      w.start("reader", [&](world_core& self) {
        for (std::uint32_t i = 0; i < 256; ++i)
          w.check(self.load(bytes.global() + i) == i, "another value");
      });
      w.join();
    });
    CHECK_MESSAGE(image, image.to_string());
  }

  TEST_CASE("so must LDS, by each work-group that comes to it") {
    std::uint32_t of_second_group = 0;
    auto const run = [&](bool writes_all) {
      return explore({.executions = 50}, [&](world& w) {
        explored_agent gpu(w.scheduler(),
                           {.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32});
        auto out = gpu.allocate<std::uint32_t>(96, "out");
        auto const end = gpu.run({.work_items = 96, .work_items_per_group = 32, .lds_bytes = 128},
                                 use_lds{}, out.global(), writes_all);
        of_second_group = out.host()[32];
        w.check(static_cast<bool>(end), "the kernel ended with a fault");
      });
    };
    verdict const right = run(true);
    CHECK_MESSAGE(right, right.to_string());
    verdict const wrong = run(false);
    REQUIRE(wrong.failure);
    CHECK(wrong.failure->kind == "uninitialised");
    CHECK(wrong.failure->report.find("LDS") != std::string::npos);
    CHECK(of_second_group == 0xcdcdcdcd); // not what the first one left, nor what the heap held
  }

  TEST_CASE("a queue that is used wrongly says so: the second release, the second publication") {
    struct mistake {
      char const* words;
      std::function<task<>(world_core&, spsc_queue<int>&, mpmc_queue<int>&)> body;
    };
    mistake const mistakes[] = {
        {"releases a slot that it has not peeked at",
         [](world_core& self, spsc_queue<int>& q, mpmc_queue<int>&) -> task<> {
           auto reserved = q.reserve(self);
           static_cast<void>(co_await std::move(reserved));
           q.publish(self);
           auto peeked = q.peek(self);
           static_cast<void>(co_await std::move(peeked));
           q.release(self);
           q.release(self);
         }},
        {"publishes a slot that it has not reserved",
         [](world_core& self, spsc_queue<int>& q, mpmc_queue<int>&) -> task<> {
           q.publish(self);
           co_return;
         }},
        {"publishes a slot that is full already",
         [](world_core& self, spsc_queue<int>&, mpmc_queue<int>& q) -> task<> {
           auto reserved = q.reserve(self);
           slot_claim const mine = co_await std::move(reserved);
           q.publish(self, mine);
           q.publish(self, mine);
         }},
        {"releases a slot that is empty",
         [](world_core& self, spsc_queue<int>&, mpmc_queue<int>& q) -> task<> {
           auto reserved = q.reserve(self);
           slot_claim const mine = co_await std::move(reserved);
           q.publish(self, mine);
           auto peeked = q.peek(self);
           slot_claim const taken = co_await std::move(peeked);
           q.release(self, taken);
           q.release(self, taken);
         }},
        {"releases a slot that another consumer holds",
         [](world_core& self, spsc_queue<int>&, mpmc_queue<int>& q) -> task<> {
           auto reserved = q.reserve(self);
           q.publish(self, co_await std::move(reserved));
           slot_claim last{};
           for (int turn = 0; turn < 5; ++turn) // of four slots: the first one's next turn
             last = q.claim(self);
           q.release(self, last);
         }},
    };
    for (mistake const& m : mistakes) {
      CAPTURE(m.words);
      verdict const v = explore({.executions = 5, .diagnoses = false}, [&](world& w) {
        spsc_queue<int> one(w.known(), 4);
        mpmc_queue<int> many(w.known(), 4);
        w.start_task("user", [&](world_core& self) { return m.body(self, one, many); });
        w.join();
      });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "misuse");
      CHECK(v.failure->report.find(m.words) != std::string::npos);
      CHECK(v.failure->where.find("explore_findings_test.cpp") != std::string::npos);
    }
  }

  TEST_CASE("a store that is only relaxed reaches a waiter all the same, one of narrow scope not") {
    auto const run = [](scope far) {
      return explore({.executions = 50, .detects_races = false}, [far](world& w) {
        explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
        auto words = gpu.allocate<std::uint32_t>(1, "words");
        w.start_task("host", [&](world_core& self) -> task<> {
          auto const is_set = [](std::uint32_t v) { return v == 1; };
          static_cast<void>(
              co_await self.wait_until(words.global(), is_set, order::acquire, scope::system));
        });
        auto last = gpu.allocate<std::uint32_t>(1, "last");
        auto running =
            gpu.launch({.work_items = 32}, send_signal{}, words.global(), far, last.global());
        w.join();
        w.host().store(last.global(), 2, order::release, scope::system);
        static_cast<void>(running.wait());
      });
    };
    verdict const wide = run(scope::system);
    CHECK_MESSAGE(wide, wide.to_string());
    verdict const narrow = run(scope::agent);
    REQUIRE(narrow.failure);
    CHECK(narrow.failure->kind == "deadlock");
  }
}
