// SPDX-License-Identifier: Apache-2.0
// Whose turn it is under the sequential scheduler: who may operate, and what comes to whom.
#include <quarry/boring.hpp>
#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>

using namespace quarry;

namespace {

/// Does what is another actor's to do.
task<> operates_for(actor const* const& other) {
  executor& s = (co_await this_actor()).home->owner();
  s.decision_point(const_cast<actor&>(*other));
}

task<> lends_to_a_thread(std::string& refused) {
  actor& self = co_await this_actor();
  std::thread([&] {
    try {
      self.home->owner().decision_point(self);
    } catch (std::logic_error const& e) {
      refused = e.what();
    }
  }).join();
}

task<> tells_itself(actor const*& me, event& until) {
  me = &co_await this_actor();
  co_await until.wait();
}

} // namespace

TEST_SUITE("lib.sequential_turns") {
  TEST_CASE("an actor that operates for another one is refused, which names both") {
    sequential_scheduler s;
    strand a(s, "a");
    actor const* other = nullptr;
    event until;
    nursery n;
    n.start(a, tells_itself(other, until), "the one");
    REQUIRE(s.run_until([&] { return other != nullptr; }));
    CHECK_THROWS_WITH_AS(sync_wait(a, operates_for(other)),
                         "an operation of the one in a turn of sync_wait: each actor has a core of "
                         "its own, which only its own function uses",
                         std::logic_error);
    until.set();
    n.wait(s);
  }

  TEST_CASE("so is a thread that operates for the actor that has made it") {
    sequential_scheduler s;
    strand a(s, "a");
    std::string refused;
    nursery n;
    n.start(a, lends_to_a_thread(refused), "the one");
    n.wait(s);
    CHECK(refused == "an operation of the one in a thread that runs none of the actors: a thread "
                     "of one's own has no core");
  }

  TEST_CASE("what a question throws is thrown where somebody waits for its answer") {
    sequential_scheduler s;
    bool throws = false, has_thrown = false;
    s.run({[&] {
             CHECK_THROWS_WITH_AS(static_cast<void>(s.run_until([&] {
                                    if (throws)
                                      throw std::runtime_error("no answer");
                                    return false;
                                  })),
                                  "no answer", std::runtime_error);
             has_thrown = true;
           },
           [&] {
             throws = true;
             CHECK(s.run_until([&] { return has_thrown; }));
           }});
    CHECK(has_thrown);
  }

  TEST_CASE("an answer holds, though the next one would be another one") {
    sequential_scheduler s;
    s.run([&] {
      int asked = 0;
      CHECK(s.run_until([&] { return ++asked == 1; }));
      CHECK(asked == 1);
    });
  }

  TEST_CASE("after a poll that has thrown, an actor that operates for another one is refused") {
    boring choices;
    sequential_scheduler s({.choices = &choices});
    strand a(s, "a");
    bool throws = false, is_over = false, is_refused = false;
    actor* other = nullptr;
    auto const polls = [&]() -> task<> {
      other = &co_await this_actor();
      auto const ask = [&] {
        if (throws)
          throw std::runtime_error("no answer");
        return is_over;
      };
      poll_until wait(ask);
      co_await wait;
    };
    auto const operates = [&]() -> task<> {
      actor& self = co_await this_actor();
      throws = true;
      CHECK_THROWS_AS(s.decision_point(self), std::runtime_error);
      throws = false;
      is_over = true;
      try {
        s.decision_point(*other);
      } catch (std::logic_error const&) {
        is_refused = true;
      }
    };
    nursery n;
    n.start(a, polls(), "polls");
    n.start(a, operates(), "operates");
    n.wait(s);
    CHECK(is_refused);
  }
}
