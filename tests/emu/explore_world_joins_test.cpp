// SPDX-License-Identifier: Apache-2.0
// What world::start() and world::join() order, and who hears of what actors throw.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/nursery.hpp>
#include <quarry/strand.hpp>
#include <quarry/this_actor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

verdict explore_words(std::function<void(world&, buffer<word>&)> const& f) {
  return explore({.executions = 2'000, .diagnoses = false, .keeps_failures = false}, [&](world& w) {
    auto words = w.allocate<word>(64, "words");
    f(w, words);
  });
}

void throw_bug(world_core&) {
  throw std::logic_error("a bug");
}

/// True if it has thrown what the world expects.
bool join_hears(world& w, std::string const& what) {
  try {
    w.join();
  } catch (std::exception const& e) {
    return e.what() == what;
  }
  return false;
}

} // namespace

TEST_SUITE("emu.explore_world_joins") {
  TEST_CASE("what an actor has done before it threw comes before who joins it") {
    verdict const v = explore_words([](world& w, buffer<word>& words) {
      w.start("stores", [at = words.global()](world_core& self) {
        self.store(at, 2);
        throw std::runtime_error("expected");
      });
      w.start("ends well", [at = words.global() + 16](world_core& self) { self.store(at, 3); });
      w.check(join_hears(w, "expected"), "it throws");
      w.check(words.host()[0] == 2 && words.host()[16] == 3, "host code sees both");
      w.check(w.host().load(words.global()) == 2, "so does the host");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what a second one throws is for the next join()") {
    verdict const v = explore_words([](world& w, buffer<word>&) {
      w.start("a", [](world_core&) { throw std::runtime_error("expected"); });
      w.start("b", throw_bug);
      w.start("c", [](world_core&) {});
      w.check(join_hears(w, "expected"), "a's");
      w.check(join_hears(w, "a bug"), "b's");
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what nobody hears of is a failure, though something else was heard") {
    for (bool const joins : {true, false}) {
      CAPTURE(joins);
      verdict const v = explore_words([joins](world& w, buffer<word>&) {
        if (joins) {
          w.start("a", [](world_core&) { throw std::runtime_error("expected"); });
          w.start("b", throw_bug);
          w.check(join_hears(w, "expected"), "a's");
        } else {
          bool is_over = false;
          w.start("b", [&](world_core& self) {
            is_over = true;
            throw_bug(self);
          });
          static_cast<void>(w.scheduler().run_until([&] { return is_over; }));
        }
      });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "exception");
      CHECK_MESSAGE(v.failure->report.starts_with("a bug\n  thrown by b"), v.failure->report);
    }
  }

  TEST_CASE("two may join at once, and both come after all others") {
    verdict const v = explore_words([](world& w, buffer<word>& words) {
      auto const at = words.global();
      w.start("stores", [=](world_core& self) { self.store(at, 2); });
      strand place(w.scheduler(), "place");
      auto const joins = [&]() -> task<> {
        world_core const self({&co_await this_actor(), &w.scheduler()});
        w.join();
        w.check(self.load(at) == 2, "it has stored 2");
      };
      nursery n;
      n.start(place, joins(), "joins");
      w.join();
      w.check(w.host().load(at) == 2, "it has stored 2");
      n.wait(w.scheduler());
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what host code has written past us an actor finds") {
    verdict const v = explore_words([](world& w, buffer<word>& words) {
      auto const add_two = [at = words.global()](world_core& self) {
        self.store(at, self.load(at) + 2);
      };
      w.start("one", add_two);
      w.join();
      words.host()[0] += 5;
      w.start("other", add_two);
      w.join();
      w.check(words.host()[0] == 9, "9 in all");
    });
    CHECK_MESSAGE(v, v.to_string());
  }
}
