// SPDX-License-Identifier: Apache-2.0
#include <quarry/fiber.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

using quarry::execution_fiber;
using quarry::fiber_pool;

namespace {

template<class F>
void start(execution_fiber& fiber, F& job) {
  fiber.start([](void* f) { (*static_cast<F*>(f))(); }, &job);
}

} // namespace

TEST_SUITE("lib.fiber") {
  TEST_CASE("resume and suspend pair like call and return") {
    execution_fiber fiber;
    std::string log;
    auto job = [&] {
      log += "a";
      fiber.suspend();
      log += "b";
      fiber.suspend();
      log += "c";
    };
    CHECK(fiber.is_idle());
    start(fiber, job);
    for (char const* expected : {"a", "a1b", "a1b1c"}) {
      CHECK_FALSE(fiber.is_idle());
      fiber.resume();
      CHECK(log == expected);
      log += "1";
    }
    CHECK(fiber.is_idle());
    start(fiber, job);
    fiber.resume();
    CHECK(log == "a1b1c1a");
    fiber.resume();
    fiber.resume();
  }

  TEST_CASE("suspending the outer fiber from the inner one comes back to the inner one") {
    execution_fiber outer;
    execution_fiber inner;
    std::string log;
    auto inside = [&] {
      log += "(";
      outer.suspend(); // past the job of `outer`, which resumed us
      log += ")";
      inner.suspend();
      log += "]";
    };
    auto outside = [&] {
      start(inner, inside);
      log += "<";
      inner.resume();
      log += ">";
      outer.suspend();
      inner.resume();
    };
    start(outer, outside);
    outer.resume();
    CHECK(log == "<(");
    outer.resume();
    CHECK(log == "<()>");
    outer.resume();
    CHECK(log == "<()>]");
    CHECK(outer.is_idle());
    CHECK(inner.is_idle());
  }

  TEST_CASE("a fiber that hands over is as one that suspends, and the other one as resumed") {
    execution_fiber first, second;
    std::string log;
    auto begins = [&] {
      log += "a";
      first.switch_to(second);
      log += "c";
      first.switch_to(second);
      log += "e";
    };
    auto follows = [&] {
      log += "b";
      second.suspend();
      log += "d";
    };
    start(first, begins);
    start(second, follows);
    auto const goes_on = [&](execution_fiber& f) { // while whoever resumes it handles an exception
      try {
        throw std::runtime_error("outer");
      } catch (std::runtime_error const&) {
        f.resume();
        try {
          throw;
        } catch (std::runtime_error const& again) {
          CHECK(again.what() == std::string("outer"));
        }
      }
    };
    goes_on(first);
    CHECK(log == "ab");
    CHECK_FALSE(first.is_idle());
    CHECK_FALSE(second.is_idle());
    std::thread([&] { goes_on(first); }).join(); // comes to the end of `second`
    CHECK(log == "abcd");
    CHECK_FALSE(first.is_idle());
    CHECK(second.is_idle());
    goes_on(first);
    CHECK(log == "abcde");
    CHECK(first.is_idle());
  }

  TEST_CASE("fibers hand over in turns, from functions within, also while one resumes another") {
    execution_fiber fibers[2], inner;
    std::string log;
    auto one = [&] {
      for (int i = 0; i < 3; ++i) {
        log += "<";
        fibers[0].switch_to(fibers[1]);
      }
    };
    auto within = [&] {
      for (int i = 0; i < 2; ++i) {
        log += ">";
        fibers[1].switch_to(fibers[0]); // leaves `inner`, too
      }
      fibers[0].resume(); // in the midst of its own turn of handing over
      log += "!";
    };
    auto two = [&] {
      start(inner, within);
      inner.resume();
      CHECK(inner.is_idle());
    };
    start(fibers[0], one);
    start(fibers[1], two);
    fibers[0].resume();
    CHECK(log == "<><><!");
    CHECK(fibers[0].is_idle());
    CHECK(fibers[1].is_idle());
  }

  TEST_CASE("a fiber may go on on another thread, with its own exceptions") {
    execution_fiber fiber;
    bool ok = false;
    auto job = [&] {
      try {
        throw std::runtime_error("mine");
      } catch (std::runtime_error const&) {
        fiber.suspend();
        try {
          throw;
        } catch (std::runtime_error const& again) {
          ok = again.what() == std::string("mine");
        }
      }
    };
    start(fiber, job);
    fiber.resume();
    CHECK(std::current_exception() == nullptr);
    std::thread([&] {
      try {
        throw 1;
      } catch (int) {
        fiber.resume();
        CHECK(std::current_exception() != nullptr);
      }
    }).join();
    CHECK(ok);
  }

  TEST_CASE("a pool lends the same fibers again") {
    fiber_pool pool;
    auto nothing = [] {};
    for (int i = 0; i < 100; ++i) {
      execution_fiber& a = pool.take();
      execution_fiber& b = pool.take();
      CHECK(&a != &b);
      start(a, nothing);
      a.resume();
      pool.give_back(a);
      pool.give_back(b);
    }
    CHECK(pool.created_count() == 2);
  }

  TEST_CASE("stacks are counted while they are mapped") {
    std::size_t const before = execution_fiber::mapped_count();
    {
      execution_fiber one;
      execution_fiber other;
      CHECK(execution_fiber::mapped_count() == before + 2);
    }
    CHECK(execution_fiber::mapped_count() == before);
  }

  TEST_CASE("a deep call chain fits") {
    execution_fiber fiber;
    int depth = 0;
    auto job = [&] {
      auto const down = [&](auto& self, int left) -> int {
        char volatile some[100] = {};
        ++depth;
        return left == 0 ? some[0] : self(self, left - 1) + some[1];
      };
      static_cast<void>(down(down, 500));
    };
    start(fiber, job);
    fiber.resume();
    CHECK(depth == 501);
  }
}
