// SPDX-License-Identifier: Apache-2.0
// Coarse-grained memory: between agents it is visible where kernels end and begin, and only there.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

/// Hands a word to the host while it runs, and ends when the host has said so.
struct signal_host {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    global<std::uint32_t> end) const {
    wf.store(data, 42);
    wf.store(flag, 1, order::release, scope::system);
    auto const is_set = [](std::uint32_t v) { return v == 1; };
    static_cast<void>(co_await wf.wait_until(end, is_set, order::acquire, scope::system));
  }
};

/// Takes a word from the host while it runs.
struct await_host {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    global<std::uint32_t> out) const {
    auto const is_set = [](std::uint32_t v) { return v == 1; };
    static_cast<void>(co_await wf.wait_until(flag, is_set, order::acquire, scope::system));
    wf.store(out, wf.load(data));
  }
};

struct add_one {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data) const {
    static_cast<void>(wf.fetch_add(data, 1, order::relaxed, scope::agent));
    co_return;
  }
};

/// Two groups of one agent, through coarse-grained memory.
struct pass_between_groups {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    auto const is_set = [](std::uint32_t v) { return v == 1; };
    if (wf.linear_group_id() == 0) {
      wf.store(words, 42);
      wf.store(words + 1, 1, order::release, scope::system);
      co_return;
    }
    static_cast<void>(co_await wf.wait_until(words + 1, is_set, order::acquire, scope::system));
    wf.store(words + 2, wf.load(words));
  }
};

constexpr auto fine = coherence::fine_grained, coarse = coherence::coarse_grained;
constexpr machine small{.compute_units = 2, .wavefront_slots = 1, .wavefront_size = 32};
launch_config const one_wavefront{.work_items = 32, .work_items_per_group = 32};

verdict to_host(coherence data_in, coherence flag_in, bool detects_races, std::uint64_t seed = 1) {
  return explore({.executions = 300, .seed = seed, .detects_races = detects_races}, [=](world& w) {
    explored_agent gpu(w.scheduler(), small);
    auto data = gpu.allocate<std::uint32_t>(1, "data", contents::zeroed, data_in);
    auto flag = gpu.allocate<std::uint32_t>(1, "flag", contents::zeroed, flag_in);
    auto end = gpu.allocate<std::uint32_t>(1, "end");
    auto running =
        gpu.launch(one_wavefront, signal_host{}, data.global(), flag.global(), end.global());
    w.start_task("host", [&](world_core& self) -> task<> {
      auto const is_set = [](std::uint32_t v) { return v == 1; };
      static_cast<void>(
          co_await self.wait_until(flag.global(), is_set, order::acquire, scope::system));
      w.check(self.load(data.global()) == 42, "the host finds an old word");
      self.store(end.global(), 1, order::release, scope::system);
    });
    w.join();
    w.check(static_cast<bool>(running.wait()), "the kernel ended with a fault");
    w.check(data.host()[0] == 42, "the word has not arrived when the kernel has ended");
  });
}

verdict from_host(coherence data_in, bool detects_races) {
  return explore({.executions = 300, .detects_races = detects_races}, [=](world& w) {
    explored_agent gpu(w.scheduler(), small);
    auto data = gpu.allocate<std::uint32_t>(1, "data", contents::zeroed, data_in);
    auto flag = gpu.allocate<std::uint32_t>(2, "flag");
    auto running =
        gpu.launch(one_wavefront, await_host{}, data.global(), flag.global(), flag.global() + 1);
    w.host().store(data.global(), 42);
    w.host().store(flag.global(), 1, order::release, scope::system);
    w.check(static_cast<bool>(running.wait()), "the kernel ended with a fault");
    w.check(flag.host()[1] == 42, "the kernel finds an old word");
  });
}

} // namespace

TEST_SUITE("emu.coherence") {
  TEST_CASE("a kernel may signal the host in mid-kernel through fine-grained memory") {
    for (bool const detects_races : {true, false}) {
      verdict const v = to_host(fine, fine, detects_races);
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE("coarse-grained data in mid-kernel are a race that says so, and without it stale") {
    verdict const race = to_host(coarse, fine, true);
    REQUIRE(race.failure);
    CHECK(race.failure->kind == "race");
    CHECK(race.failure->report.find("coarse-grained memory") != std::string::npos);
    CHECK(race.failure->report.find("a kernel that ends or begins") != std::string::npos);
    REQUIRE(race.failure->mended);
    CHECK(!race.failure->mended->is_possible);
    verdict const stale = to_host(coarse, fine, false);
    REQUIRE(stale.failure);
    CHECK(stale.failure->kind == "check");
    CHECK(stale.failure->report.find("the host finds an old word") != std::string::npos);
    CHECK(stale.failure->report.find("coarse-grained memory") != std::string::npos);
  }

  TEST_CASE("a host that waits for a coarse-grained flag in mid-kernel waits for ever, or sees it "
            "too early") {
    CHECK(to_host(fine, coarse, true).failure);
    std::set<std::string> kinds;
    for (std::uint64_t seed = 1; seed != 30'001; seed += 1'000) {
      verdict const v = to_host(fine, coarse, false, seed);
      REQUIRE(v.failure);
      kinds.insert(v.failure->kind);
      if (v.failure->kind != "deadlock")
        continue;
      CHECK(v.failure->report.find("host has last not seen") != std::string::npos);
      CHECK(v.failure->report.find("coarse-grained memory") != std::string::npos);
    }
    CHECK(kinds == std::set<std::string>{"check", "deadlock"});
  }

  TEST_CASE(
      "a kernel finds what the host wrote before it began, in mid-kernel only if fine-grained") {
    for (bool const detects_races : {true, false}) {
      verdict const right = from_host(fine, detects_races);
      CHECK_MESSAGE(right, right.to_string());
      verdict const wrong = from_host(coarse, detects_races);
      REQUIRE(wrong.failure);
      CHECK(wrong.failure->kind == (detects_races ? "race" : "check"));
      CHECK(wrong.failure->report.find("coarse-grained memory") != std::string::npos);
    }
  }

  TEST_CASE("kernels pass coarse-grained memory on, from agent to agent and to the host") {
    for (bool const detects_races : {true, false}) {
      verdict const v = explore({.executions = 200, .detects_races = detects_races}, [](world& w) {
        explored_agent one(w.scheduler(), small), two(w.scheduler(), small);
        auto word = one.allocate<std::uint32_t>(1, "word", contents::zeroed, coarse);
        auto const also = two.expose(word.host().data(), 1, "word", coarse);
        word.host()[0] = 7;
        w.check(static_cast<bool>(one.run(one_wavefront, add_one{}, word.global())), "one");
        w.check(word.host()[0] == 8, "the first kernel's word has not arrived");
        w.check(static_cast<bool>(two.run(one_wavefront, add_one{}, word.global())), "two");
        w.host().store(word.global(), w.host().load(word.global()) + 1);
        w.check(static_cast<bool>(one.run(one_wavefront, add_one{}, word.global())), "one");
        w.check(word.host()[0] == 11, "a kernel has worked on an old word");
      });
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE("within an agent it is like any other memory") {
    for (bool const detects_races : {true, false}) {
      verdict const v = explore({.executions = 200, .detects_races = detects_races}, [](world& w) {
        explored_agent gpu(w.scheduler(), small);
        auto words = gpu.allocate<std::uint32_t>(3, "words", contents::zeroed, coarse);
        auto const end =
            gpu.run({.work_items = 64, .work_items_per_group = 32, .cooperative = true},
                    pass_between_groups{}, words.global());
        w.check(static_cast<bool>(end), "the kernel ended with a fault");
        w.check(words.host()[2] == 42, "the word did not arrive");
      });
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE("what is forgotten is fine-grained again") {
    verdict const v = explore({.executions = 100}, [](world& w) {
      explored_agent gpu(w.scheduler(), small);
      std::uint32_t words[3]{};
      {
        auto const before = gpu.expose(words, 3, "words", coarse);
      }
      auto const now = gpu.expose(words, 3, "words");
      auto const at = global<std::uint32_t>(words);
      auto running = gpu.launch(one_wavefront, signal_host{}, at, at + 1, at + 2);
      auto const is_set = [](std::uint32_t f) { return f == 1; };
      while (!is_set(w.host().load(at + 1, order::acquire, scope::system))) {
      }
      w.check(w.host().load(at) == 42, "the host finds an old word");
      w.host().store(at + 2, 1, order::release, scope::system);
      static_cast<void>(running.wait());
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }
}
