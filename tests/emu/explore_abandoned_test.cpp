// SPDX-License-Identifier: Apache-2.0
// Executions that are given up with kernels and host threads in the middle of something: what
// those hold is given back, before the next execution begins. (Under ASan: all of it.)
#include "agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/mutex.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

using words = global<std::uint32_t>;

/// How many there are, and how many there have been.
struct census {
  int alive = 0;
  int born = 0;
};

/// What an actor holds: memory of the heap, and a place in the count. When it goes it uses the
/// emulated memory once more, as a lock would.
template<class Self>
class held {
public:
  held(Self& self, words at, census& all) : self_(self), at_(at), all_(all) {
    ++all_.alive;
    ++all_.born;
  }
  held(held const&) = delete;
  held& operator=(held const&) = delete;
  ~held() {
    self_.fetch_add(at_, 1U, order::acq_rel, scope::system);
    --all_.alive;
  }

private:
  Self& self_;
  words at_;
  census& all_;
  std::vector<int> heap_ = std::vector<int>(100);
};

/// What the last actor does when all others are at it.
enum class ending : std::uint8_t { exception, deadlock, limit };

constexpr auto is_set = [](std::uint32_t v) { return v != 0; };
/// Nobody ever sets `never`; everybody counts at `count`, each on a line of its own.
constexpr std::uint32_t never = 0, count = 16, mine = 32, word_count = 64;

/// In a function below the kernel's own.
template<class Self>
void works(Self& self, words data, census& all) {
  held<Self> const one(self, data + count, all);
  for (;;)
    self.store(data + mine, self.load(data + mine) + 1U);
}

struct waves {
  template<class W>
  static task<> waits(W& wf, words data, census& all) {
    held<W> const one(wf, data + count, all);
    static_cast<void>(co_await wf.wait_until(data + never, is_set, order::acquire, scope::system));
  }
  template<any_wavefront W>
  task<> operator()(W& wf, words data, census& all, ending how) const {
    held<W> const one(wf, data + count, all);
    if (wf.index_in_group() == 0) {
      task<> waiting = waits(wf, data, all);
      co_await std::move(waiting);
    }
    if (how == ending::exception && wf.index_in_group() == 1)
      throw std::logic_error("in the middle");
    if (how == ending::limit)
      works(wf, data, all);
    co_await wf.barrier();
  }
};

struct items {
  template<any_work_item W>
  task<> operator()(W& wi, words data, census& all, ending how) const {
    held<W> const one(wi, data + count, all);
    if (wi.local_linear_id() == 0)
      static_cast<void>(
          co_await wi.wait_until(data + never, is_set, order::acquire, scope::system));
    if (how == ending::exception && wi.local_linear_id() == 40)
      throw std::logic_error("in the middle");
    if (how == ending::limit)
      works(wi, data, all);
    co_await wi.barrier();
  }
};

struct functions {
  template<any_plain_work_item W>
  void operator()(W& wi, words data, census& all, ending how) const {
    held<W> const one(wi, data + count, all);
    if (wi.local_linear_id() == 0)
      wi.wait_until(data + never, is_set, order::acquire, scope::system);
    if (how == ending::exception && wi.local_linear_id() == 40)
      throw std::logic_error("in the middle");
    if (how == ending::limit)
      works(wi, data, all);
    wi.barrier();
  }
};

/// The kernel, beside a host thread that waits and one that is at work.
template<class Kernel>
void run(world& w, Kernel kernel, ending how, census& all) {
  w.check(all.alive == 0, "an execution has left something behind");
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto data = gpu.allocate<std::uint32_t>(word_count, "words");
  auto const at = data.global();
  w.start_task("waits", [&](world_core& self) -> task<> {
    held<world_core> const one(self, at + count, all);
    static_cast<void>(co_await self.wait_until(at + never, is_set, order::acquire, scope::system));
  });
  w.start("works", [&](world_core& self) {
    held<world_core> const one(self, at + count, all);
    for (int i = 0; i < 20; ++i)
      self.fetch_add(at + mine, 1U, order::relaxed, scope::system);
  });
  static_cast<void>(
      gpu.run({.work_items = 64, .work_items_per_group = 64}, kernel, at, std::ref(all), how));
  w.join();
}

template<class Kernel>
void leaves_nothing(Kernel kernel, ending how) {
  CAPTURE(static_cast<int>(how));
  census all;
  verdict const v = explore(
      {.executions = 40, .most_decisions = 300, .runs_repeated = true, .detects_races = false},
      [&](world& w) { run(w, kernel, how, all); });
  CHECK(all.alive == 0);
  CHECK(all.born > 40 * 4); // of each execution, or of those that shrink it
  if (how == ending::limit) {
    CHECK_MESSAGE(!v.failure, v.to_string());
    CHECK(v.inconclusive == 40);
    return;
  }
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == (how == ending::exception ? "exception" : "deadlock"));
  CHECK(v.failure->is_repeatable);
}

/// The last group lets the first one go, for whose place it waits.
struct awaits_the_last {
  task<> operator()(any_wavefront auto& wf, words at) const {
    if (wf.linear_group_id() == 1)
      wf.store(at + never, 1U, order::release, scope::system);
    static_cast<void>(co_await wf.wait_until(at + never, is_set, order::acquire, scope::system));
  }
};

/// The first group, which polls on its way out, too.
struct waits_for_others {
  template<class W>
  struct polls_at_end {
    W& self;
    words at;
    ~polls_at_end() {
      while (self.load(at + never, order::acquire, scope::agent) == 0) {
      }
    }
  };
  template<any_wavefront W>
  task<> operator()(W& wf, words at) const {
    if (wf.linear_group_id() == 0) {
      polls_at_end<W> const end{wf, at};
      static_cast<void>(co_await wf.wait_until(at + never, is_set, order::acquire, scope::agent));
    } else {
      wf.fetch_add(at + mine, 1U, order::relaxed, scope::agent);
      if (wf.fetch_add(at + count, 1U, order::acq_rel, scope::agent) == 1)
        wf.store(at + never, 1U, order::release, scope::agent);
    }
  }
};

struct counts {
  void operator()(any_wavefront auto& wf, words at, int times) const {
    for (int i = 0; i < times; ++i)
      wf.fetch_add(at, 1U, order::relaxed, scope::system);
  }
};

/// Of whom somebody lets go while it waits: what is found where its frame goes.
enum class left : std::uint8_t { check, race, stall };

enum class waiting : std::uint8_t { for_long, in_vain };

/// It waits for another one, which sets `never`, but where that is in vain.
void leave_in_a_wait(world& w, left what, waiting is, int steps) {
  struct at_end {
    explicit at_end(std::function<void()> g) : f(std::move(g)) {}
    at_end(at_end const&) = delete;
    ~at_end() { f(); }
    std::function<void()> f;
  };
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto data = w.allocate<std::uint32_t>(word_count, "words");
  auto const at = data.global();
  w.start_task("waits", [&, at](world_core& self) -> task<> {
    bool has_come = false;
    at_end const end([&] {
      if (what == left::check)
        w.check(has_come, "left early");
      if (what == left::race)
        static_cast<void>(self.load(at + count));
    });
    std::optional<completion> launched;
    if (what == left::stall)
      launched.emplace(gpu.launch({.work_items = 1}, counts{}, at + mine + 1, steps));
    static_cast<void>(co_await self.wait_until(at + never, is_set, order::acquire, scope::system));
    has_come = true;
  });
  w.start_task("sets", [&, at](world_core& self) -> task<> {
    self.store(at + count, 2U);
    for (int i = 0; i < steps; ++i)
      self.fetch_add(at + mine, 1U, order::relaxed, scope::system);
    if (is == waiting::for_long)
      self.store(at + never, 1U, order::release, scope::system);
    co_return;
  });
  w.join();
}

} // namespace

TEST_SUITE("emu.explore_abandoned") {
  TEST_CASE("a wavefront's exception, a deadlock and the limit of decisions leave nothing behind") {
    for (ending const how : {ending::exception, ending::deadlock, ending::limit})
      leaves_nothing(waves{}, how);
  }

  TEST_CASE("neither do a work-item's") {
    for (ending const how : {ending::exception, ending::deadlock, ending::limit})
      leaves_nothing(items{}, how);
  }

  TEST_CASE("nor those of functions, in the middle of which they are") {
    for (ending const how : {ending::exception, ending::deadlock, ending::limit})
      leaves_nothing(functions{}, how);
  }

  TEST_CASE("who polls on its way out of what only the search has given up is no hidden state") {
    auto const right = [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto data = gpu.allocate<std::uint32_t>(word_count, "words");
      auto const ran = gpu.run({.work_items = 96, .work_items_per_group = 32}, waits_for_others{},
                               data.global());
      w.check(static_cast<bool>(ran), "a fault");
    };
    CHECK(explore({.executions = 500, .keeps_failures = false}, right));
    verdict const v = explore({.strategy = "exhaustive",
                               .hashes_states = true,
                               .diagnoses = false,
                               .keeps_failures = false},
                              right);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "unwinding");
    CHECK(!v.failure->is_repeatable);
    CHECK_MESSAGE(v.to_string().find("the search gave the execution up") != std::string::npos,
                  v.to_string());
    CHECK(v.to_string().find("hidden state") == std::string::npos);
  }

  TEST_CASE("what they find on their way out is no failure: one that waits in vain stays that") {
    for (left const what : {left::check, left::race, left::stall})
      for (waiting const is : {waiting::for_long, waiting::in_vain})
        for (std::string const by : {"swarm", "exhaustive", "hashed"}) {
          CAPTURE(static_cast<int>(what));
          CAPTURE(static_cast<int>(is));
          CAPTURE(by);
          explore_options o{.executions = by == "swarm" ? 50U : 5'000U,
                            .strategy = by == "swarm" ? "swarm" : "exhaustive",
                            .hashes_states = by == "hashed",
                            .diagnoses = false,
                            .keeps_failures = false};
          bool const is_short = by == "swarm" && is == waiting::for_long;
          if (is_short)
            o.most_decisions = 200;
          verdict const v =
              explore(o, [&](world& w) { leave_in_a_wait(w, what, is, is_short ? 1'000 : 1); });
          if (is == waiting::for_long) {
            CHECK_MESSAGE(!v.failure, v.to_string());
            CHECK((v.inconclusive != 0) == is_short);
          } else {
            REQUIRE_MESSAGE(v.failure, v.to_string());
            CHECK(v.failure->kind == "deadlock");
          }
        }
  }

  TEST_CASE("what a launch waits for, for which somebody waits in vain, is told") {
    verdict const v = explore({.keeps_failures = false}, [](world& w) {
      explored_agent gpu(w.scheduler(),
                         {.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32});
      auto data = gpu.allocate<std::uint32_t>(word_count, "words");
      auto const at = data.global();
      completion launched =
          gpu.launch({.work_items = 64, .work_items_per_group = 32}, awaits_the_last{}, at);
      w.start_task("waits", [at](world_core& self) -> task<> {
        static_cast<void>(
            co_await self.wait_until(at + never, is_set, order::acquire, scope::system));
      });
      w.join();
      launched.wait().or_throw();
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "waiting for a group that is not resident");
    CHECK(v.failure->report.find("1 of 2 groups are not resident") != std::string::npos);
  }

  TEST_CASE("whose world has gone without them are left as they are: what they share has gone") {
    enum class leaving : std::uint8_t { by_return, by_exception, by_kernel };
    for (leaving const how : {leaving::by_return, leaving::by_exception, leaving::by_kernel}) {
      CAPTURE(static_cast<int>(how));
      verdict const v = explore({.executions = 100, .diagnoses = false}, [how](world& w) {
        explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
        auto data = gpu.allocate<std::uint32_t>(word_count, "words");
        auto const at = data.global();
        auto const lock = std::make_unique<quarry::mutex>();
        w.start_task("holds", [&](world_core& self) -> task<> {
          auto const guard = co_await lock->lock();
          for (int i = 0; i < 3; ++i)
            self.fetch_add(at + mine, 1U, order::relaxed, scope::system);
        });
        w.start("launches", [&](world_core&) {
          census all;
          static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32}, waves{}, at,
                                    std::ref(all), ending::limit));
        });
        w.host().fetch_add(at + count, 1U, order::relaxed, scope::system);
        if (how == leaving::by_exception)
          throw std::logic_error("in the middle");
        if (how == leaving::by_kernel)
          gpu.run(
                 {.work_items = 32, .work_items_per_group = 32},
                 [](any_wavefront auto& wf, words out) { wf.store(out + word_count, 1U); }, at)
              .or_throw();
      });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == (how == leaving::by_return      ? "misuse"
                                : how == leaving::by_exception ? "exception"
                                                               : "out of bounds"));
      CHECK(v.failure->is_repeatable);
    }
  }
}
