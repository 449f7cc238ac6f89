// SPDX-License-Identifier: Apache-2.0
// What becomes of launches and nurseries where one allocation fails, whichever it is: they may
// throw std::bad_alloc, or end with a fault, or with the process; but they say nothing wrong, and
// come to an end.
#include "in_child.hpp"

#include <quarry/emu.hpp>
#include <quarry/quarry.hpp>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <unistd.h>

namespace {

/// Allocations that succeed before one fails; negative: none fails.
std::atomic<long> allocations_left{-1};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left.load() >= 0 && allocations_left.fetch_sub(1) == 0)
    throw std::bad_alloc();
  void* const p = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (p == nullptr)
    throw std::bad_alloc();
  return p;
}

} // namespace

// NOLINTBEGIN(*-no-malloc, *-owning-memory): these are what others allocate by
void* operator new(std::size_t bytes) {
  return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
// NOLINTEND(*-no-malloc, *-owning-memory)

namespace {

using namespace quarry;
using namespace quarry::emu;

enum class verdict : std::uint8_t { right, wrong };

/// Between these, one allocation fails.
void fail_after(long allocations) {
  allocations_left = allocations;
}
void fail_never() {
  allocations_left = -1;
}

/// False: f() has thrown std::bad_alloc.
template<class F>
bool is_granted(F const& f) {
  try {
    f();
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

struct count_up {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    auto const i = wf.global_id();
    wf.store(words + i, wf.load(words + i) + 1U);
  }
};

/// Each launch that is said to be well has run.
template<class Scheduler>
verdict launches_are_told_of(Scheduler& s, long allocations) {
  agent gpu(s, {.compute_units = 1});
  auto words = gpu.template allocate<std::uint32_t>(64, "words");
  std::uint32_t good = 0;
  fail_after(allocations);
  for (int i = 0; i < 5; ++i) {
    bool is_well = false;
    static_cast<void>(is_granted([&] {
      launch_config const one{.work_items = 64, .work_items_per_group = 64};
      is_well = static_cast<bool>(gpu.run(one, count_up{}, words.global()));
    }));
    good += is_well ? 1 : 0;
  }
  fail_never();
  return words.host()[0] >= good ? verdict::right : verdict::wrong;
}

task<> run_once(int& ran) {
  co_await yield();
  ++ran;
}

/// A child whose start has thrown is none; the nursery waits for the others.
verdict children_are_waited_for(executor& s, long allocations) {
  strand here(s, "here");
  nursery children;
  int started = 0, ran = 0;
  fail_after(allocations);
  for (int i = 0; i < 6; ++i)
    started += is_granted([&] { children.start(here, run_once(ran), "child"); }) ? 1 : 0;
  fail_never();
  children.wait(s);
  return ran == started ? verdict::right : verdict::wrong;
}

template<class Scenario>
verdict natively(Scenario const& f, long allocations) {
  native_scheduler s({.threads = 1, .stall_timeout = std::chrono::seconds(5)});
  return f(s, allocations);
}
template<class Scenario>
verdict in_turns(Scenario const& f, long allocations) {
  sequential_scheduler s;
  verdict v = verdict::wrong;
  s.run([&] { v = f(s, allocations); });
  return v;
}

/// Of an abort that tells of something else than memory that was not there.
bool tells_of_an_error(std::string const& said) {
  for (char const* const error : {"free()", "corrupt", "malloc", "Sanitizer", "broken invariant"})
    if (said.find(error) != std::string::npos)
      return true;
  return false;
}

/// Runs it for each allocation up to `most` that may fail, in a process of its own.
template<class Run>
void is_always_right(long most, Run const& run) {
  for (long n = 0; n < most; ++n) {
    CAPTURE(n);
    auto const end = quarry_test::in_child([&] {
      bool is_wrong = false;
      try {
        static_cast<void>(is_granted([&] { is_wrong = run(n) == verdict::wrong; }));
      } catch (std::exception const& e) {
        fail_never();
        fmt::print(stderr, "{}\n", e.what());
        is_wrong = true;
      }
      ::_exit(is_wrong ? 1 : 0);
    });
    bool const is_told = end.is_aborted() && !tells_of_an_error(end.said);
    CHECK_MESSAGE((is_told || end.status == 0), end.said);
  }
}

auto const launches = [](auto& s, long n) { return launches_are_told_of(s, n); };
auto const children = [](auto& s, long n) { return children_are_waited_for(s, n); };

} // namespace

TEST_SUITE("emu.out_of_memory") {
  TEST_CASE("launches are told of, natively") {
    is_always_right(50, [](long n) { return natively(launches, n); });
  }
  TEST_CASE("launches are told of, in turns") {
    is_always_right(50, [](long n) { return in_turns(launches, n); });
  }
  TEST_CASE("children are waited for, natively") {
    is_always_right(30, [](long n) { return natively(children, n); });
  }
  TEST_CASE("children are waited for, in turns") {
    is_always_right(30, [](long n) { return in_turns(children, n); });
  }
}
