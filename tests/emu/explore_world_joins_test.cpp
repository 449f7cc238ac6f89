// SPDX-License-Identifier: Apache-2.0
// What world::start() and world::join() order, and who hears of what actors throw.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/nursery.hpp>
#include <quarry/strand.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

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

struct does_nothing {
  void operator()(any_wavefront auto&) const {}
};

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

  TEST_CASE("one who joins may be given up") {
    verdict const v = explore_words([](world& w, buffer<word>& words) {
      auto const at = words.global();
      w.start("counts", [=](world_core& self) {
        for (int i = 0; i < 4; ++i)
          self.fetch_add(at, 1U, order::relaxed, scope::system);
      });
      auto const joins = [&]() -> task<> {
        w.join();
        co_return;
      };
      auto const throws = [&]() -> task<> {
        actor& self = co_await this_actor();
        nursery n;
        n.start(*self.home, joins(), "joins");
        co_await yield();
        co_await yield();
        throw std::runtime_error("beside it");
      };
      {
        strand place(w.scheduler(), "place");
        nursery n;
        n.start(place, throws(), "throws");
        try {
          n.wait(w.scheduler());
        } catch (std::runtime_error const&) {
        }
      }
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("something newer than what host code has written stays") {
    verdict const v = explore_words([](world& w, buffer<word>& words) {
      auto const at = words.global(), flag = at + 16;
      w.start("answers", [=](world_core& self) {
        self.store(at, 1U, order::relaxed, scope::system);
        self.store(flag, 1U, order::release, scope::system);
        while (self.load(flag, order::acquire, scope::system) != 2) {
        }
        self.store(at, 7U, order::relaxed, scope::system);
        self.store(flag, 3U, order::release, scope::system);
      });
      auto const await = [&](word n) {
        while (w.host().load(flag, order::acquire, scope::system) != n) {
        }
      };
      await(1);
      words.host()[0] = 5;
      w.host().store(flag, 2U, order::release, scope::system);
      await(3);
      w.start("looks", [=, &w](world_core& self) {
        w.check(self.load(at, order::relaxed, scope::system) == 7, "the answer");
      });
      w.join();
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

  TEST_CASE("a world of too many actors is told so, also where they do nothing") {
    for (bool const works : {false, true}) {
      CAPTURE(works);
      explore_options o{.executions = 1, .most_decisions = 100'000, .diagnoses = false};
      o.keeps_failures = false;
      verdict const v = explore(o, [works](world& w) {
        auto word = w.allocate<std::uint32_t>(1, "word");
        for (int i = 0; i < 4'097; ++i)
          w.start("one of many", [works, at = word.global()](world_core& self) {
            if (works)
              self.fetch_add(at, 1, order::relaxed, scope::system);
          });
        w.join();
      });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "exception");
      CHECK_MESSAGE(v.failure->report.find("an execution has at most 4096 actors") !=
                        std::string::npos,
                    v.failure->report);
    }
  }

  TEST_CASE("launches are counted with all their wavefronts, also before those have begun") {
    explore_options o{.executions = 3, .most_decisions = 100'000, .diagnoses = false};
    o.keeps_failures = false;
    std::size_t launched = 0;
    verdict const v = explore(o, [&launched](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      std::vector<completion> all;
      launched = 0;
      for (int i = 0; i < 3; ++i, ++launched)
        all.push_back(
            gpu.launch({.work_groups = 1'500, .work_items_per_group = 32}, does_nothing{}));
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "exception");
    CHECK_MESSAGE(v.failure->report.find("1500 wavefronts, after 30") != std::string::npos,
                  v.failure->report);
    CHECK(launched == 2);
  }
}
