// SPDX-License-Identifier: Apache-2.0
// Explorations that somebody ends early.
#include "message_world.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace {

using namespace quarry_test;

/// Two that count; whoever is interrupted at the `last` execution is so in its middle.
class counting {
public:
  explicit counting(std::uint64_t last) : last_(last) {}
  void operator()(world& w) {
    if (++executions_ == last_)
      is_over_ = true;
    auto word = w.allocate<std::uint32_t>(1, "word");
    for (int i = 0; i < 2; ++i)
      w.start("adder", [&](world_core& self) {
        for (int n = 0; n < 3; ++n)
          self.fetch_add(word.global(), 1, order::relaxed, scope::system);
      });
    w.join();
    w.check(word.host()[0] == 6, "six");
  }
  [[nodiscard]] std::atomic<bool> const* flag() const noexcept { return &is_over_; }
  [[nodiscard]] std::uint64_t executions() const noexcept { return executions_; }

private:
  std::uint64_t const last_;
  std::atomic<std::uint64_t> executions_{0};
  std::atomic<bool> is_over_{false};
};

verdict explore_counting(counting& world_function, explore_options o) {
  o.interrupted = world_function.flag();
  o.runs_repeated = true; // it counts them
  return explore(o, [&](world& w) { world_function(w); });
}

} // namespace

TEST_SUITE("emu.explore_interrupted") {
  TEST_CASE("no execution begins afterwards, and those that there were count") {
    for (char const* const strategy : {"swarm", "exhaustive"})
      for (unsigned const jobs : {1U, 3U}) {
        CAPTURE(strategy);
        CAPTURE(jobs);
        counting world_function(5);
        verdict const v = explore_counting(
            world_function, {.executions = 1'000'000, .jobs = jobs, .strategy = strategy});
        CHECK(v);
        CHECK(v.is_interrupted);
        CHECK(!v.is_complete);
        CHECK(v.executions == world_function.executions());
        CHECK(v.executions >= 5);
        CHECK(v.executions < 5 + jobs); // one may be in each of the others
        CHECK(v.to_string().find(" run a second, interrupted\n") != std::string::npos);
      }
    for (bool const reduces : {true, false}) {
      counting world_function(5);
      verdict const v = explore_counting(
          world_function,
          {.strategy = "exhaustive", .reduces = reduces, .hashes_states = !reduces});
      CHECK(v.is_interrupted);
      CHECK(v.executions == 5);
    }
  }

  TEST_CASE("until then all jobs run executions, however many there may be") {
    for (std::uint64_t const executions : {~0ULL, ~0ULL - 15}) {
      std::mutex guard;
      std::set<std::thread::id> threads;
      std::atomic<bool> is_over{false};
      auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      verdict const v = explore(
          {.executions = executions, .jobs = 2, .runs_repeated = true, .interrupted = &is_over},
          [&](world&) {
            std::lock_guard const lock(guard);
            threads.insert(std::this_thread::get_id());
            if (threads.size() == 2 || std::chrono::steady_clock::now() > latest)
              is_over = true;
          });
      CHECK(v.is_interrupted);
      CHECK(threads.size() == 2);
    }
  }

  TEST_CASE("one that has been there before the first execution leaves nothing to say") {
    counting world_function(1);
    std::atomic<bool> const yes{true};
    verdict const v = explore({.interrupted = &yes}, [&](world& w) { world_function(w); });
    CHECK(v.executions == 0);
    CHECK(v.is_interrupted);
  }

  TEST_CASE("a failure that was found is told, as it is") {
    std::atomic<bool> is_over{false};
    verdict const v = explore({.interrupted = &is_over}, [&](world& w) {
      auto word = w.allocate<std::uint32_t>(1, "word");
      w.start("one", [&](world_core& self) { self.store(word.global(), 1); });
      w.start("other", [&](world_core& self) { self.store(word.global(), 2); });
      w.join();
      is_over = true;
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
    CHECK(v.executions == 1);
    CHECK(v.failure->is_repeatable);
    CHECK(v.failure->shrunk == v.failure->found);
    CHECK(!v.failure->mended); // not: nothing helps
  }

  TEST_CASE("a failure in one of several jobs is not lost, whatever the others have left out") {
    for (std::uint64_t const last : {1U, 20U, 60U, 200U}) {
      CAPTURE(last);
      std::atomic<std::uint64_t> executions{0};
      std::atomic<bool> is_over{false};
      std::atomic<bool> has_failed{false};
      verdict const v = explore({.jobs = 3,
                                 .runs_repeated = true,
                                 .shrinks = false,
                                 .diagnoses = false,
                                 .interrupted = &is_over},
                                [&](world& w) {
                                  bool const fails = ++executions == last;
                                  if (fails)
                                    is_over = has_failed = true;
                                  w.check(!fails, "the last one");
                                });
      CHECK(has_failed);
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "check");
    }
  }

  TEST_CASE("one that comes after the last execution changes nothing") {
    std::atomic<bool> is_over{false};
    std::uint64_t executions = 0;
    verdict const v = explore({.executions = 20, .runs_repeated = true, .interrupted = &is_over},
                              [&](world&) { is_over = ++executions == 20; });
    CHECK(is_over);
    CHECK(v.executions == 20);
    CHECK(!v.is_interrupted);
  }
}
