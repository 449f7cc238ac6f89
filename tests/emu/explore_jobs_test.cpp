// SPDX-License-Identifier: Apache-2.0
// Explorations whose executions run on several threads.
#include "message_world.hpp"
#include "repetitions.hpp"

#include <quarry/emu/replay_file.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace quarry_test;

/// A reader that takes the flag for the payload's, in one execution of several: relaxed.
void pass_by_luck(world& w) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  auto flag = w.allocate<std::uint32_t>(1, "flag");
  w.start("writer", [&](world_core& self) {
    self.store(data.global(), 42, order::relaxed, scope::system);
    self.store(flag.global(), 1, order::relaxed, scope::system);
  });
  w.start("reader", [&](world_core& self) {
    if (self.load(flag.global(), order::relaxed, scope::system) == 1)
      w.check(self.load(data.global(), order::relaxed, scope::system) == 42, "stale");
  });
  w.join();
}

/// Two that take turns and never end: each execution is cut.
void play_for_ever(world& w) {
  auto turn = w.allocate<std::uint32_t>(1, "turn");
  for (std::uint32_t me = 0; me < 2; ++me)
    w.start("player", [at = turn.global(), me](world_core& self) {
      for (;;)
        if (self.load(at, order::acquire, scope::system) % 2 == me)
          self.fetch_add(at, 1, order::acq_rel, scope::system);
    });
  w.join();
}

/// False: not within ten seconds.
bool wait_until(std::atomic<bool> const& flag) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!flag.load()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::yield();
  }
  return true;
}

/// Where two threads come, and then whoever comes again.
class meeting_of_two {
public:
  bool come() {
    std::thread::id nobody{};
    if (!first_.compare_exchange_strong(nobody, std::this_thread::get_id()) &&
        nobody != std::this_thread::get_id())
      are_both_here_ = true;
    return wait_until(are_both_here_);
  }

private:
  std::atomic<std::thread::id> first_{};
  std::atomic<bool> are_both_here_{false};
};

void check_same(verdict const& a, verdict const& b) {
  CHECK(a.executions == b.executions);
  CHECK(a.trace_hash == b.trace_hash);
  CHECK(a.inconclusive == b.inconclusive);
  CHECK(a.busiest == b.busiest);
  REQUIRE(a.failure.has_value() == b.failure.has_value());
  if (!a.failure)
    return;
  CHECK(a.failure->execution == b.failure->execution);
  CHECK(a.failure->seed == b.failure->seed);
  CHECK(a.failure->found == b.failure->found);
  CHECK(a.failure->shrunk == b.failure->shrunk);
}

} // namespace

TEST_SUITE("emu.explore_jobs") {
  TEST_CASE("all executions are run, once each") {
    for (unsigned const jobs : {1U, 2U, 3U, 7U})
      for (std::uint64_t const executions : {1U, 16U, 17U, 100U, 1000U}) {
        CAPTURE(jobs);
        CAPTURE(executions);
        for (bool const runs_repeated : {true, false}) {
          std::atomic<std::uint64_t> run{0};
          verdict const v =
              explore({.executions = executions, .jobs = jobs, .runs_repeated = runs_repeated},
                      [&](world& w) {
                        run.fetch_add(1, std::memory_order_relaxed);
                        pass_message(w, {});
                      });
          CHECK(v);
          CHECK(v.executions == executions);
          CHECK(run == executions - v.repeated);
          CHECK((v.repeated == 0 || !runs_repeated));
          CHECK((v.repeated != 0 || runs_repeated || executions < 1000));
        }
      }
  }

  TEST_CASE("jobs run at the same time") {
    meeting_of_two two;
    verdict const v = explore({.executions = 32, .jobs = 2},
                              [&](world& w) { w.check(two.come(), "the other job has not come"); });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.executions == 32);
  }

  TEST_CASE("what comes of it does not depend on who is faster") {
    std::uint64_t found = 0, cut = 0;
    for (unsigned const jobs : {2U, 5U})
      for (std::uint64_t seed = 1; seed <= quarry_test::fewer(10U); ++seed)
        for (auto const& f : {pass_by_luck, play_for_ever}) {
          CAPTURE(jobs);
          CAPTURE(seed);
          auto const run = [&](bool is_caller_slow) {
            auto const caller = std::this_thread::get_id();
            return explore({.executions = 200,
                            .jobs = jobs,
                            .seed = seed,
                            .most_decisions = 60,
                            .detects_races = false,
                            .diagnoses = false},
                           [&](world& w) {
                             if ((std::this_thread::get_id() == caller) == is_caller_slow)
                               for (int i = 0; i < 3; ++i)
                                 std::this_thread::yield();
                             f(w);
                           });
          };
          verdict const v = run(true);
          check_same(v, run(false));
          found += v.failure ? 1 : 0;
          cut += v.inconclusive;
        }
    CHECK(found != 0);
    CHECK(cut != 0);
  }

  TEST_CASE("an exhaustive exploration comes to the same with any number of jobs") {
    enum class last_is { welcome, a_failure, endless };
    auto const take_tickets = [](last_is c) { // three actors; what becomes of the orders c b a, …
      return [c](world& w) {
        auto next = w.allocate<std::uint32_t>(1, "next");
        std::array<std::uint32_t, 3> ticket{};
        for (std::size_t i = 0; i < 3; ++i)
          w.start("actor", [at = next.global(), &ticket, i, c](world_core& self) {
            ticket[i] = self.fetch_add(at, 1, order::relaxed, scope::system);
            while (c == last_is::endless && ticket[i] == 2 && i == 2)
              self.fetch_add(at, 1, order::relaxed, scope::system);
          });
        w.join();
        w.check(c != last_is::a_failure || ticket[2] != 0 || ticket[1] != 1, "the last order");
      };
    };
    std::uint64_t found = 0, complete = 0, cut = 0;
    for (auto const c : {last_is::welcome, last_is::a_failure, last_is::endless})
      for (search_bounds const& most :
           {search_bounds{}, {.deviations = 4}, {.preemptions = 1}, {.stale = 0}}) {
        auto const run = [&](unsigned jobs) {
          return explore({.executions = 100'000,
                          .jobs = jobs,
                          .strategy = "exhaustive",
                          .bounds = most,
                          .most_decisions = 15,
                          .detects_races = false,
                          .diagnoses = false},
                         take_tickets(c));
        };
        verdict const alone = run(1);
        REQUIRE(alone.executions < 100'000);
        found += alone.failure ? 1 : 0;
        complete += alone.is_complete ? 1 : 0;
        cut += alone.inconclusive;
        for (unsigned const jobs : {2U, 5U})
          for (int i = 0; i < quarry_test::fewer(2); ++i) {
            CAPTURE(jobs);
            verdict const v = run(jobs);
            check_same(v, alone);
            CHECK(v.is_complete == alone.is_complete);
            CHECK(v.is_complete_up_to == alone.is_complete_up_to);
          }
      }
    CHECK(found >= 4);
    CHECK(complete >= 1);
    CHECK(cut != 0);
  }

  TEST_CASE("jobs of an exhaustive exploration share what is left") {
    auto const caller = std::this_thread::get_id();
    verdict const v = explore({.executions = 100'000'000,
                               .jobs = 2,
                               .strategy = "exhaustive",
                               .shrinks = false,
                               .diagnoses = false},
                              [&](world& w) {
                                for (int i = 0; i < 6; ++i) // 6! orders, and more
                                  w.start("one", [](world_core&) {});
                                w.join();
                                w.check(std::this_thread::get_id() == caller, "somebody helps");
                              });
    REQUIRE(v.failure);
    CHECK(v.failure->report.find("somebody helps") != std::string::npos);
    CHECK(v.failure->execution == v.executions);
  }

  TEST_CASE("and they share the limit of executions") {
    for (unsigned const jobs : {1U, 2U, 4U}) {
      CAPTURE(jobs);
      std::atomic<std::uint64_t> run{0};
      verdict const v =
          explore({.executions = 40, .jobs = jobs, .strategy = "exhaustive"}, [&](world& w) {
            run.fetch_add(1, std::memory_order_relaxed);
            pass_message(w, {});
          });
      CHECK(v);
      CHECK(v.executions == 40);
      CHECK(run == 40);
      CHECK_FALSE(v.is_complete);
    }
  }

  TEST_CASE("the first failure in the order of executions counts, whoever comes to it first") {
    // Of two jobs the caller's has executions 1 to 16 and 33 to 48, the other's 17 to 32.
    auto const fails_at = [](unsigned of_caller, unsigned of_other, bool is_caller_first) {
      auto const caller = std::this_thread::get_id();
      std::atomic<bool> has_first_failed{false};
      std::array<unsigned, 2> count{}; // one for each thread
      return explore({.executions = 64,
                      .jobs = 2,
                      .runs_repeated = true, // it counts them
                      .shrinks = false,
                      .diagnoses = false},
                     [&, caller](world& w) {
                       bool const is_caller = std::this_thread::get_id() == caller;
                       unsigned const number = ++count[is_caller ? 0 : 1];
                       bool const fails = number == (is_caller ? of_caller : of_other);
                       if (!fails)
                         return;
                       if (is_caller == is_caller_first)
                         has_first_failed.store(true);
                       else
                         wait_until(has_first_failed);
                       w.check(false, "here");
                     });
    };
    for (bool const is_caller_first : {false, true}) {
      CAPTURE(is_caller_first);
      verdict const of_other = fails_at(20, 3, is_caller_first);
      REQUIRE(of_other.failure);
      CHECK(of_other.failure->execution == 19);
      CHECK(of_other.executions == 19);
      verdict const of_caller = fails_at(5, 3, is_caller_first);
      REQUIRE(of_caller.failure);
      CHECK(of_caller.failure->execution == 5);
      CHECK(of_caller.executions == 5);
    }
  }

  TEST_CASE("a failure is repeated, shrunk and mended") {
    verdict const v =
        explore({.executions = 10'000, .jobs = 4, .detects_races = false}, pass_by_luck);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "check");
    CHECK(v.failure->execution == v.executions);
    CHECK(v.failure->seed == v.executions);
    CHECK(v.failure->is_repeatable);
    CHECK(v.failure->shrunk.nonzero_count() <= v.failure->found.nonzero_count());
    REQUIRE(v.failure->mended);
    CHECK(v.failure->mended->is_possible);
  }

  TEST_CASE("what is thrown past an execution ends the exploration, comes out, and is kept") {
    struct not_an_exception {};
    auto const folder = std::filesystem::temp_directory_path() /
                        ("quarry-explore-thrown-" + std::to_string(::getpid()));
    auto const caller = std::this_thread::get_id();
    for (bool const is_of_caller : {true, false}) {
      CAPTURE(is_of_caller);
      std::atomic<std::uint64_t> thrown{0};
      CHECK_THROWS_AS(static_cast<void>(explore({.executions = 1'000'000'000,
                                                 .jobs = 2,
                                                 .name = "throws",
                                                 .failures = folder.string()},
                                                [&](world&) {
                                                  if ((std::this_thread::get_id() == caller) ==
                                                      is_of_caller) {
                                                    thrown.fetch_add(1, std::memory_order_relaxed);
                                                    throw not_an_exception{};
                                                  }
                                                })),
                      not_an_exception);
      CHECK(thrown == 1);
      auto const seed = is_of_caller ? "1" : "11"; // the other one's executions begin with the 17th
      auto const kept =
          replay_file::read((folder / (std::string("throws-") + seed + ".replay")).string());
      REQUIRE(kept.has_value());
      CHECK(kept->kind == "exception");
      CHECK(kept->where == "something that is no std::exception");
      std::filesystem::remove_all(folder);
    }
  }

  TEST_CASE("a process that dies leaves behind how far each job had come") {
    auto const folder = std::filesystem::temp_directory_path() /
                        ("quarry-explore-jobs-" + std::to_string(::getpid()));
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        meeting_of_two two;
        static_cast<void>(
            explore({.executions = 100, .jobs = 2, .name = "two", .failures = folder.string()},
                    [&](world&) { ::_exit(two.come() ? 3 : 4); }));
      } catch (...) {
        ::_exit(5);
      }
      ::_exit(6);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 3);
    std::ifstream mark(folder / "two.running");
    std::string const text(std::istreambuf_iterator<char>(mark), {});
    CHECK(text == "quarry-running 1\nname: two\nseed: 0x1\nexecution:                    1\n"
                  "                   17\n");
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("numbers of jobs that cannot be are refused, before anything runs") {
    auto const refused = [](explore_options const& o, char const* says) {
      std::atomic<bool> has_run{false};
      CHECK_THROWS_WITH_AS(static_cast<void>(explore(o, [&](world&) { has_run = true; })),
                           doctest::Contains(says), std::invalid_argument);
      CHECK(!has_run);
    };
    refused({.jobs = 0}, "0 jobs; there can be 1 to 256");
    refused({.jobs = 257}, "257 jobs; there can be 1 to 256");
    refused({.jobs = 2, .strategy = "exhaustive", .reduces = true},
            "what is reduced or hashes states runs with one job only");
    refused({.jobs = 2, .strategy = "exhaustive", .hashes_states = true},
            "what is reduced or hashes states runs with one job only");
    refused({.jobs = 2, .strategy = "bytes"}, "bytes runs with one job only");
    refused(
        {.jobs = 2, .strategy = "luck"},
        "there is no strategy 'luck': swarm, random_walk, pct, bytes, boring and exhaustive are "
        "known");
  }
}
