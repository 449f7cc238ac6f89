// SPDX-License-Identifier: Apache-2.0
// What becomes of a failure once it is found: it is saved, made shorter, and what mends it is
// tried.
#include "in_child.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/replay_file.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

using namespace quarry;
using namespace quarry::emu;

/// Three nodes on Treiber's stack, whose head has a tag: one pops, the other one pops two, and
/// pushes the first one back. `looks`: how a pop first looks at the head.
class tagged_stack {
public:
  tagged_stack(world& w, emu::access looks)
      : world_(w), looks_(looks), head_(w.allocate<std::uint64_t>(1, "head")),
        next_(w.allocate<std::uint32_t>(4, "next")), data_(w.allocate<std::uint32_t>(4, "data")),
        owners_(w.allocate<std::uint32_t>(4, "owners")) {}

  void push(world_core& self, std::uint32_t n) {
    self.store(data_.global() + n, 7 * n);
    std::uint64_t top = self.load(head_.global(), order::relaxed, scope::system);
    do
      self.store(next_.global() + n, static_cast<std::uint32_t>(top), order::relaxed,
                 scope::system);
    while (
        !self.compare_exchange(head_.global(), top, tagged(top, n), order::release, scope::system));
  }
  void give_back(world_core& self, std::uint32_t n) {
    self.fetch_sub(owners_.global() + n, 1U, order::relaxed, scope::system);
    push(self, n);
  }
  std::uint32_t pop(world_core& self) {
    look_line = std::source_location::current().line() + 1;
    std::uint64_t top = self.load(head_.global(), looks_);
    while (auto const n = static_cast<std::uint32_t>(top)) {
      std::uint32_t const below = self.load(next_.global() + n, order::relaxed, looks_.far);
      if (!self.compare_exchange(head_.global(), top, tagged(top, below), order::acquire,
                                 scope::system))
        continue;
      world_.check(self.fetch_add(owners_.global() + n, 1U, order::relaxed, scope::system) == 0,
                   "popped twice");
      world_.check(self.load(data_.global() + n) == 7 * n, "old data");
      return n;
    }
    return 0;
  }

  static inline std::uint_least32_t look_line = 0;

private:
  static std::uint64_t tagged(std::uint64_t before, std::uint32_t n) {
    return ((before >> 32) + 1) << 32 | n;
  }

  world& world_;
  emu::access looks_;
  buffer<std::uint64_t> head_;
  buffer<std::uint32_t> next_, data_, owners_;
};

auto pops_and_pushes(emu::access looks) {
  return [looks](world& w) {
    tagged_stack s(w, looks);
    for (std::uint32_t n = 1; n <= 3; ++n)
      s.push(w.host(), n);
    w.start("one", [&](world_core& self) { s.pop(self); });
    w.start("two", [&](world_core& self) {
      std::uint32_t const first = s.pop(self);
      s.pop(self);
      if (first != 0)
        s.give_back(self, first);
      s.pop(self);
    });
    w.join();
  };
}

} // namespace

TEST_SUITE("emu.explore_examined") {
  TEST_CASE("an acquire that is missing is named, and no seq_cst update that makes it rare") {
    for (scope const s : {scope::agent, scope::system}) {
      CAPTURE(to_string(s));
      auto const v = explore({.executions = 20'000, .keeps_failures = false},
                             pops_and_pushes({order::relaxed, s}));
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      auto const& changes = v.failure->mended->changes;
      REQUIRE_MESSAGE(changes.size() == 1, v.to_string());
      CHECK_MESSAGE(changes[0].at.where.line() == tagged_stack::look_line, v.to_string());
      CHECK(changes[0].how == order::acquire);
      emu::access const mended{changes[0].how, changes[0].far};
      for (std::string const strategy : {"swarm", "random_walk", "pct"})
        CHECK(explore({.executions = 5'000, .strategy = strategy, .keeps_failures = false},
                      pops_and_pushes(mended)));
    }
  }

  TEST_CASE("a failure is kept before anybody looks for what would mend it") {
    std::filesystem::path const folder =
        std::filesystem::temp_directory_path() / ("quarry-examined-" + std::to_string(::getpid()));
    auto const files = [&] {
      std::size_t n = 0;
      for (auto const& entry : std::filesystem::directory_iterator(folder))
        n += entry.path().extension() == ".replay" ? 1 : 0;
      return n;
    };
    bool has_failed = false;
    std::size_t later = 0, without = 0;
    auto const v = explore({.failures = folder.string()}, [&](world& w) {
      if (has_failed) {
        ++later;
        without += files() == 1 ? 0 : 1;
      }
      auto words = w.allocate<std::uint32_t>(2, "words");
      w.start("writer", [&](world_core& self) { self.store(words.global(), 1U); });
      w.start("reader", [&](world_core& self) { static_cast<void>(self.load(words.global())); });
      w.join();
      has_failed = true;
    });
    REQUIRE(v.failure);
    CHECK(later > 0);
    CHECK(without == 0);
    CHECK(files() == 1);
    CHECK(std::filesystem::path(v.failure->file).parent_path() == folder);
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("a failure stays where somebody gets stuck in what is tried afterwards") {
    std::filesystem::path const folder =
        std::filesystem::temp_directory_path() / ("quarry-stuck-" + std::to_string(::getpid()));
    auto const end = quarry_test::in_child([&] {
      int executions = 0;
      explore_options const o{.patience = std::chrono::milliseconds(100),
                              .failures = folder.string()};
      static_cast<void>(explore(o, [&](world& w) {
        auto words = w.allocate<std::uint32_t>(1, "words");
        w.start("writer", [&](world_core& self) { self.store(words.global(), 1U); });
        w.start("reader", [&](world_core& self) { static_cast<void>(self.load(words.global())); });
        w.join();
        bool volatile never = false; // clang leaves out a loop that only loads an atomic of its own
        for (bool const is_one_of_those = ++executions == 3; is_one_of_those && !never;) {
        }
      }));
    });
    CHECK(WEXITSTATUS(end.status) == explore_options::stuck_status);
    std::vector<std::string> kinds;
    for (auto const& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".replay")
        kinds.push_back(replay_file::read(entry.path().string()).value().kind);
    std::ranges::sort(kinds);
    CHECK(kinds == std::vector<std::string>{"race", "stuck"});
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("it is examined for as long as is asked for, not at all in no time") {
    auto const fails = [](std::chrono::seconds time) {
      return explore(
          {.executions = 1'000, .examines_for = time, .keeps_failures = false}, [](world& w) {
            auto words = w.allocate<std::uint32_t>(3, "words");
            for (std::size_t own : {1U, 2U})
              w.start("adds", [&, own](world_core& self) {
                for (int i = 0; i < 20; ++i) // whose order does not matter
                  self.fetch_add(words.global() + own, 1U, order::relaxed, scope::system);
                self.store(words.global(), self.load(words.global()) + 1);
              });
            w.join();
          });
    };
    verdict const at_once = fails(std::chrono::seconds(0));
    REQUIRE(at_once.failure);
    CHECK(at_once.failure->shrunk.to_text() == at_once.failure->found.to_text());
    REQUIRE(at_once.failure->mended);
    CHECK_FALSE(at_once.failure->mended->is_possible);
    CHECK_MESSAGE(at_once.to_string().find("mends it is not known: 0 seconds are enough "
                                           "(explore_options::examines_for)") != std::string::npos,
                  at_once.to_string());
    verdict const later = fails(std::chrono::hours(1));
    REQUIRE(later.failure);
    CHECK(later.failure->found.to_text() == at_once.failure->found.to_text());
    CHECK(later.failure->shrunk.to_text().size() < later.failure->found.to_text().size());
    REQUIRE(later.failure->mended);
    CHECK(later.failure->mended->is_possible);
    CHECK_THROWS_WITH_AS(fails(std::chrono::seconds(-1)),
                         "explore: -1 seconds to examine a failure; there can be 0 or more",
                         std::invalid_argument);
  }

  TEST_CASE("where a kernel waits in vain, its report has who else waits, and what for") {
    for (bool const joins_first : {false, true}) {
      CAPTURE(joins_first);
      auto const v = explore({.diagnoses = false, .keeps_failures = false}, [&](world& w) {
        auto words = w.allocate<std::uint32_t>(32, "words");
        auto const never = [](std::uint32_t value) { return value == 1; };
        explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
        auto running = gpu.launch(
            {.work_items = 32, .work_items_per_group = 32},
            [=, at = words.global()](any_wavefront auto& wf) -> task<> {
              static_cast<void>(co_await wf.wait_until(at, never, order::acquire, scope::system));
            });
        w.start_task("culprit", [&](world_core& self) -> task<> {
          self.store(words.global() + 16, 2U, order::release, scope::system);
          auto own = self.wait_until(words.global() + 16, never, order::acquire, scope::system);
          static_cast<void>(co_await own);
          self.store(words.global(), 1U, order::release, scope::system);
        });
        if (joins_first)
          w.join();
        static_cast<void>(running.wait());
        if (!joins_first)
          w.join();
      });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "deadlock");
      for (char const* const told :
           {"culprit", "wavefront 0", "awaited  words[16]: 0x2, written by culprit",
            "awaited  words[0]: no store to it is known"})
        CHECK_MESSAGE(v.failure->report.find(told) != std::string::npos, v.failure->report);
    }
  }

  TEST_CASE("a thread of the world's own starts nobody") {
    auto const v = explore({.executions = 1, .keeps_failures = false}, [](world& w) {
      std::string refused;
      std::thread([&] {
        try {
          w.start("late", [](world_core&) {});
        } catch (std::logic_error const& e) {
          refused = e.what();
        }
      }).join();
      w.check(refused.find("in a thread that runs none of the actors") != std::string::npos,
              refused);
    });
    CHECK_MESSAGE(v, v.to_string());
  }
}
