// SPDX-License-Identifier: Apache-2.0
// The trampoline: what a slice of an actor ends in.
#include "lone_actor.hpp"

#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <coroutine>
#include <source_location>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry_test;

namespace {

/// Suspends as a function of the actor says.
template<class F>
class suspend_by {
public:
  explicit suspend_by(F how) noexcept : how_(how) {}
  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    how_(*h.promise().self);
  }
  void await_resume() const noexcept {}

private:
  F how_;
};

template<class F>
task<> suspend_once(F how, int& step) {
  step = 1;
  suspend_by<F> awaited(how);
  co_await awaited;
  step = 2;
}

template<class F>
task<> suspend_below(F how, int& step) {
  task<> below = suspend_once(how, step);
  co_await std::move(below);
  step = 3;
}

task<> throws() {
  throw std::runtime_error("thrown");
  co_return;
}

bool is_three(void* n) {
  return *static_cast<int*>(n) == 3;
}

} // namespace

TEST_SUITE("lib.actor") {
  TEST_CASE("a slice ends where a task below suspends; the next one goes on there, to the end") {
    auto const parks = [](actor& a) { a.wait_for("park", std::source_location::current()); };
    int step = 0;
    lone_actor a;
    task<> root = suspend_below(parks, step);
    root.start_on(a);
    CHECK(a.state == actor_state::ready);
    CHECK(step == 0); // lazy
    a.resume();
    CHECK(a.state == actor_state::waiting);
    CHECK(step == 1);
    a.resume();
    CHECK(a.state == actor_state::done);
    CHECK(step == 3);
    CHECK_FALSE(a.leaf);
  }

  TEST_CASE("who waits says for what, where, on what, and who must act") {
    lone_actor holder;
    std::atomic<actor const*> const owner{&holder};
    int thing = 0;
    auto const here = std::source_location::current();
    auto const waits = [&](actor& a) { a.wait_for("mutex", here, &thing, &owner); };
    int step = 0;
    lone_actor a;
    task<> root = suspend_once(waits, step);
    root.start_on(a);
    a.resume();
    CHECK(std::string(a.reason.what) == "mutex");
    CHECK(a.reason.where.line() == here.line());
    CHECK(a.reason.on == &thing);
    CHECK(a.reason.owner->load() == &holder);
  }

  TEST_CASE("who polls has a question that the scheduler may ask; a poll has no owner") {
    int answer = 0;
    auto const polls = [&](actor& a) {
      a.poll_for("count", std::source_location::current(), &answer, &is_three, &answer);
    };
    int step = 0;
    lone_actor a;
    std::atomic<actor const*> const owner{&a};
    a.wait_for("an earlier wait", {}, nullptr, &owner);
    task<> root = suspend_once(polls, step);
    root.start_on(a);
    a.resume();
    CHECK(a.state == actor_state::polling);
    CHECK(std::string(a.reason.what) == "count");
    CHECK(a.reason.on == &answer);
    CHECK_FALSE(a.poll(a.poll_argument));
    answer = 3;
    CHECK(a.poll(a.poll_argument));
    CHECK(a.reason.owner == nullptr);
    CHECK(step == 1); // asking runs nothing
  }

  TEST_CASE("who gives way is ready") {
    auto const yields = [](actor& a) { a.stay_ready("yield", std::source_location::current()); };
    int step = 0;
    lone_actor a;
    task<> root = suspend_once(yields, step);
    root.start_on(a);
    a.resume();
    CHECK(a.state == actor_state::ready);
    CHECK(step == 1);
  }

  TEST_CASE("what the root throws is kept; the actor is done") {
    lone_actor a;
    task<> root = throws();
    root.start_on(a);
    a.resume();
    CHECK(a.state == actor_state::done);
    REQUIRE(a.error);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(a.error), "thrown", std::runtime_error);
  }

  TEST_CASE("an actor that is made ready runs itself, unless it is a part of another one") {
    lone_actor a;
    CHECK(a.on_ready() == &a);
  }
}
