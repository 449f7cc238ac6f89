// SPDX-License-Identifier: Apache-2.0
// What it costs to leave one suspended computation and enter the next: `switch/who`.
#include "bench.hpp"
#include "quarry_runtime.hpp"

#include <benchmark/benchmark.h>
#include <boost/context/fiber.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

// As many as the wavefronts of a few resident work-groups; each is resumed in its turn.
constexpr std::size_t computation_count = 64;

/// Times rounds of one resume of each; an item is a resume with its suspension.
template<class Resume>
void round_robin(benchmark::State& state, std::uint64_t const& steps, Resume const& resume) {
  std::uint64_t const before = steps;
  for (auto _ : state)
    for (std::size_t i = 0; i < computation_count; ++i)
      resume(i);
  auto const expected = static_cast<std::uint64_t>(state.iterations()) * computation_count;
  check(state, steps - before == expected, "a resume did not run");
  state.SetItemsProcessed(static_cast<std::int64_t>(expected));
}

void boost_context(benchmark::State& state) {
  std::uint64_t steps = 0;
  bool stopping = false;
  std::vector<boost::context::fiber> fibers;
  fibers.reserve(computation_count);
  for (std::size_t i = 0; i < computation_count; ++i)
    fibers.emplace_back([&steps, &stopping](boost::context::fiber&& back) {
      while (!stopping) {
        ++steps;
        back = std::move(back).resume();
      }
      return std::move(back);
    });
  auto const resume = [&fibers](std::size_t i) { fibers[i] = std::move(fibers[i]).resume(); };
  for (std::size_t i = 0; i < computation_count; ++i)
    resume(i); // not timed: the first touch of each stack
  round_robin(state, steps, resume);
  stopping = true;
  for (std::size_t i = 0; i < computation_count; ++i)
    resume(i);
}

/// The least a C++20 coroutine can be: it runs until it suspends, and is resumed by its owner.
class bare_coroutine {
public:
  struct promise_type {
    bare_coroutine get_return_object() {
      return bare_coroutine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  explicit bare_coroutine(std::coroutine_handle<promise_type> handle) : handle_{handle} {}
  bare_coroutine(bare_coroutine&& other) noexcept : handle_{std::exchange(other.handle_, {})} {}
  bare_coroutine& operator=(bare_coroutine&&) = delete;
  ~bare_coroutine() {
    if (handle_)
      handle_.destroy();
  }
  void resume() const { handle_.resume(); }

private:
  std::coroutine_handle<promise_type> handle_;
};

bare_coroutine count_steps(std::uint64_t& steps) {
  for (;;) {
    ++steps;
    co_await std::suspend_always{};
  }
}

void std_coroutine(benchmark::State& state) {
  std::uint64_t steps = 0;
  std::vector<bare_coroutine> coroutines;
  coroutines.reserve(computation_count);
  for (std::size_t i = 0; i < computation_count; ++i)
    coroutines.push_back(count_steps(steps));
  round_robin(state, steps, [&coroutines](std::size_t i) { coroutines[i].resume(); });
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  add_quarry_runtime();
  benchmark::RegisterBenchmark("switch/boost_context", boost_context)->UseRealTime();
  benchmark::RegisterBenchmark("switch/std_coroutine", std_coroutine)->UseRealTime();
  return run(argc, argv);
}
