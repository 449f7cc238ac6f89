// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"

#include <quarry/this_actor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

struct stack_range {
  std::uintptr_t lowest = std::numeric_limits<std::uintptr_t>::max();
  std::uintptr_t highest = 0;
  [[gnu::noinline]] void look() {
    auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest = std::min(lowest, here);
    highest = std::max(highest, here);
  }
  [[nodiscard]] std::uintptr_t bytes() const { return highest - lowest; }
};

constexpr std::uintptr_t small_stack = 4096;
constexpr int million = 1'000'000;

/// A parameter that looks at the stack when its frame is destroyed.
class looks_at_end {
public:
  explicit looks_at_end(stack_range& stack) : stack_(&stack) {}
  looks_at_end(looks_at_end&& other) noexcept : stack_(std::exchange(other.stack_, nullptr)) {}
  ~looks_at_end() {
    if (stack_ != nullptr)
      stack_->look();
  }

private:
  stack_range* stack_;
};

task<std::int64_t> one(stack_range& stack, looks_at_end) {
  stack.look();
  co_return 1;
}

task<std::int64_t> one_after_another(int count, stack_range& stack) {
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    looks_at_end end(stack);
    sum += co_await one(stack, std::move(end));
  }
  co_return sum;
}

task<std::int64_t> nested(int depth, stack_range& stack, looks_at_end) {
  stack.look();
  std::int64_t below = 0;
  if (depth > 0) {
    looks_at_end end(stack);
    below = co_await nested(depth - 1, stack, std::move(end));
  }
  stack.look();
  co_return below + 1;
}

task<> throws_at(int depth) {
  if (depth == 0)
    throw std::runtime_error("from the bottom");
  co_await throws_at(depth - 1);
}

class park {
public:
  park() noexcept {} // NOLINT(*-equals-default): g++ 12 mistreats aggregates that are awaited
  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    h.promise().self->wait_for("park", std::source_location::current());
  }
  void await_resume() const noexcept {}
};

class counted {
public:
  explicit counted(int& alive) : alive_(&alive) { ++*alive_; }
  counted(counted const& other) : alive_(other.alive_) { ++*alive_; }
  counted& operator=(counted const&) = default;
  ~counted() { --*alive_; }

private:
  int* alive_;
};

task<> parked_chain(int depth, int& alive) {
  counted const local(alive);
  if (depth == 0)
    co_await park();
  else
    co_await parked_chain(depth - 1, alive);
}

struct alignas(64) line {
  std::byte bytes[192];
};

[[gnu::noinline]] bool is_aligned(void const* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}

task<bool> aligned_locals(line by_value) {
  line local{};
  bool ok = is_aligned(&by_value) && is_aligned(&local);
  {
    line nested_scope{};
    ok = ok && is_aligned(&nested_scope);
    co_await this_actor();
    ok = ok && is_aligned(&nested_scope);
  }
  co_return ok;
}

task<std::unique_ptr<int>> moves_only(std::unique_ptr<int> value) {
  co_return value;
}

// The shapes that g++ 12 gets wrong, in the form in which we write them.

template<class F>
task<int> call(F f) {
  co_return f();
}

struct aggregate {
  counted a;
  int value;
};

task<int> take(aggregate a) {
  co_return a.value;
}

task<int> take_list(std::vector<int> list) {
  co_return static_cast<int>(list.size());
}

task<int> the_way_we_write_it(int& alive) {
  int sum = 0;
  counted const captured(alive);
  auto closure = [captured] { return 1; };
  sum += co_await call(std::move(closure)); // not: call([captured] { … })
  aggregate a{counted(alive), 2};
  sum += co_await take(std::move(a)); // not: take(aggregate{…})
  std::vector<int> list{1, 2, 3};
  sum += co_await take_list(std::move(list)); // not: take_list({1, 2, 3})
  auto later = take_list(std::vector<int>(4));
  sum += co_await std::move(later);
  int chosen = 0; // not: flag ? co_await x() : y()
  if (sum == 10)
    chosen = co_await take_list(std::vector<int>(5));
  aggregate filled{counted(alive), 0}; // not: aggregate{…, co_await x()}
  filled.value = chosen;
  co_return sum + filled.value;
}

} // namespace

TEST_SUITE("lib.task") {
  TEST_CASE("a million awaits one after another use no stack") {
    stack_range stack;
    CHECK(run_alone(one_after_another(million, stack)) == million);
    CHECK(stack.bytes() < small_stack);
  }

  TEST_CASE("a million awaits inside each other use no stack, on their way down, up and out") {
    stack_range stack;
    for (int i = 0; i < 2; ++i)
      CHECK(run_alone(nested(million - 1, stack, looks_at_end(stack))) == million);
    CHECK(stack.bytes() < small_stack);
  }

  TEST_CASE("an exception reaches the root through a thousand tasks") {
    CHECK_THROWS_WITH_AS(run_alone(throws_at(1000)), "from the bottom", std::runtime_error);
  }

  TEST_CASE("an exception can be caught by the awaiting task, which goes on") {
    auto const catches = []() -> task<int> {
      int caught = 0;
      for (int i = 0; i < 3; ++i) {
        try {
          co_await throws_at(i);
        } catch (std::runtime_error const&) {
          ++caught;
        }
      }
      co_return caught;
    };
    CHECK(run_alone(catches()) == 3);
  }

  TEST_CASE("destroying a suspended chain destroys the locals of all its tasks") {
    int alive = 0;
    lone_actor a;
    {
      task<> root = parked_chain(1000, alive);
      root.start_on(a);
      a.resume();
      CHECK(a.state == actor_state::waiting);
      CHECK(alive == 1001);
    }
    CHECK(alive == 0);
  }

  TEST_CASE("a task that never started is destroyed with its arguments") {
    int alive = 0;
    {
      auto const never = take(aggregate{counted(alive), 1});
    }
    CHECK(alive == 0);
  }

  TEST_CASE("locals and parameters in frames keep an alignment of 64 bytes") {
    for (int i = 0; i < 100; ++i)
      REQUIRE(run_alone(aligned_locals({})));
  }

  TEST_CASE("a result that can only be moved arrives") {
    CHECK(*run_alone(moves_only(std::make_unique<int>(7))) == 7);
  }

  TEST_CASE("what g++ 12 destroys twice in other forms is destroyed once in ours") {
    int alive = 0;
    CHECK(run_alone(the_way_we_write_it(alive)) == 15);
    CHECK(alive == 0);
  }

  TEST_CASE("a task may be created on one thread, run on a second and destroyed on a third") {
    for (int i = 0; i < 100; ++i) {
      stack_range stack;
      auto root = std::make_unique<task<std::int64_t>>(nested(100, stack, looks_at_end(stack)));
      lone_actor a;
      root->start_on(a);
      std::thread([&] { a.resume(); }).join();
      CHECK(std::move(*root).result() == 101);
      std::thread([&] { root.reset(); }).join();
    }
  }

  TEST_CASE("a moved task leaves an empty one behind") {
    stack_range stack;
    task<std::int64_t> first = one(stack, looks_at_end(stack));
    task<std::int64_t> second = std::move(first);
    CHECK_FALSE(first); // NOLINT: that is the question
    CHECK(run_alone(std::move(second)) == 1);
  }
}
