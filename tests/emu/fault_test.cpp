// SPDX-License-Identifier: Apache-2.0
#include "after_fault.hpp"
#include "agents.hpp"

#include <quarry/event.hpp>
#include <quarry/mutex.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

bool never(int v) {
  return v == -1;
}

/// Looks at nothing of Quarry's.
struct spins_on_the_host {
  std::atomic<bool>& begun;
  std::atomic<bool>& over;
  void operator()(any_wavefront auto&) const {
    begun = true;
    while (!over)
      std::this_thread::yield();
  }
};

/// Group 17 throws when all that fit are inside and wait, each in its own way.
struct throws_among_waiters {
  task<> operator()(any_wavefront auto& wf, global<int> word, event& never_set,
                    std::atomic<int>& alive) const {
    tally const inside(alive);
    if (wf.linear_group_id() == 17)
      throw std::logic_error("seventeen");
    if (wf.linear_group_id() % 3 == 0)
      static_cast<void>(co_await wf.wait_until(word, never, order::acquire, scope::agent));
    if (wf.linear_group_id() % 3 == 1 && wf.index_in_group() != 0)
      co_await wf.barrier();
    co_await never_set.wait();
  }
};

struct throws_a_number {
  task<> operator()(any_wavefront auto&) const { throw 42; }
};

struct all_throw {
  void operator()(any_plain_work_item auto& wi) const {
    throw std::runtime_error("item " + std::to_string(wi.global_id()));
  }
};

struct wrong_views {
  task<> operator()(any_wavefront auto& wf, bool asks_for_tile) const {
    if (asks_for_tile)
      static_cast<void>(wf.template tile<16>());
    else
      static_cast<void>(wf.global_id());
    co_return;
  }
};

struct waits_for_event {
  task<> operator()(any_wavefront auto& wf, event& e, global<int> out) const {
    co_await e.wait();
    wf.fetch_add(out, 1, order::relaxed, scope::agent);
  }
};

/// Wavefront 0 holds the mutex and the others wait for it when the last one throws.
struct throws_beside_a_mutex {
  task<> operator()(any_wavefront auto& wf, quarry::mutex& m, global<int> word) const {
    if (wf.index_in_group() + 1 == wf.waves_in_group()) {
      auto const is_held = [](int v) { return v == 1; };
      static_cast<void>(co_await wf.wait_until(word, is_held, order::acquire, scope::work_group));
      throw std::logic_error("beside a mutex");
    }
    quarry::mutex::guard const held = co_await m.lock();
    wf.store(word, 1, order::release, scope::work_group);
    static_cast<void>(co_await wf.wait_until(word, never, order::acquire, scope::work_group));
  }
};
/// The same between work-items.
struct item_throws_beside_a_mutex {
  task<> operator()(any_work_item auto& wi, quarry::mutex& m, global<int> word) const {
    if (wi.global_id() == 100) {
      auto const is_held = [](int v) { return v == 1; };
      static_cast<void>(co_await wi.wait_until(word, is_held, order::acquire, scope::work_group));
      throw std::logic_error("beside a mutex");
    }
    quarry::mutex::guard const held = co_await m.lock();
    wi.store(word, 1, order::release, scope::work_group);
    static_cast<void>(co_await wi.wait_until(word, never, order::acquire, scope::work_group));
  }
};

struct meets {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    co_await wf.barrier();
    wf.fetch_add(out, 1, order::relaxed, scope::agent);
  }
};

} // namespace

TEST_SUITE("emu.fault") {
  TEST_CASE("every kind of fault has a name of its own") {
    std::set<std::string_view> names;
    int count = 0;
    for (auto k = fault::kind::barrier_divergence; k <= fault::kind::exception;
         k = static_cast<fault::kind>(static_cast<int>(k) + 1), ++count)
      names.insert(to_string(k));
    CHECK(names.size() == static_cast<std::size_t>(count));
    CHECK(names.count("?") == 0);
  }

  TEST_CASE("a fault ends its launch: groups that poll, meet or wait for events are unwound") {
    with_every_agent([](agent& gpu) {
      for (int i = 0; i < 5; ++i) {
        auto word = gpu.allocate<int>(1, "word");
        event never_set;
        std::atomic<int> alive{0};
        auto const report = fail_with(gpu.run({.work_groups = 200, .work_items_per_group = 128},
                                              throws_among_waiters{}, word.global(),
                                              std::ref(never_set), std::ref(alive)),
                                      fault::kind::exception);
        CHECK_SAYS(report, "seventeen");
        CHECK_SAYS(report, "of group 17 (17,0,0)");
        CHECK(alive == 0);
        still_works(gpu);
      }
    });
  }

  TEST_CASE("whom an evicted wavefront wakes on its way out does not go on") {
    auto const evicts = [](agent& gpu, auto const& kernel) {
      auto words = gpu.allocate<int>(2, "words");
      quarry::mutex m;
      auto failing = gpu.launch({.work_groups = 1, .work_items_per_group = 128}, kernel,
                                std::ref(m), words.global());
      // They wait for the slots of the first one, and have fewer wavefronts.
      auto next =
          gpu.launch({.work_groups = 3, .work_items_per_group = 32}, meets{}, words.global() + 1);
      CHECK_SAYS(fail_with(failing.wait(), fault::kind::exception), "beside a mutex");
      succeed(next.wait());
      CHECK(words.host()[1] == 3);
    };
    for (std::uint32_t slots : {2U, 4U})
      with_every_agent(
          [&](agent& gpu) {
            if (gpu.core().shape().wavefront_size * gpu.core().shape().wavefront_slots < 128)
              return;
            evicts(gpu, throws_beside_a_mutex{});
            evicts(gpu, item_throws_beside_a_mutex{});
          },
          {.compute_units = 1, .wavefront_slots = slots});
  }

  TEST_CASE("a launch keeps its first fault, whoever else has one") {
    with_every_agent([](agent& gpu) {
      auto const report =
          fail_with(gpu.run({.work_groups = 50}, all_throw{}), fault::kind::exception);
      CHECK_SAYS(report, "the kernel threw: item ");
      auto const other =
          fail_with(gpu.run({.work_groups = 1}, throws_a_number{}), fault::kind::exception);
      CHECK_SAYS(other, "no std::exception");
    });
  }

  TEST_CASE("a launch that fails does not disturb another one on the same agent") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(1, "out");
      event go;
      auto good = gpu.launch({.work_groups = 20}, waits_for_event{}, std::ref(go), out.global());
      for (int i = 0; i < 3; ++i)
        static_cast<void>(
            fail_with(gpu.run({.work_groups = 40}, all_throw{}), fault::kind::exception));
      go.set();
      succeed(good.wait());
      CHECK(out.host()[0] == 20 * 256 / static_cast<int>(gpu.core().shape().wavefront_size));
    });
  }

  TEST_CASE("a view that the launch's shape does not have is a fault that names the shape") {
    with_every_agent([](agent& gpu) {
      auto const tile = fail_with(
          gpu.run({.work_groups = 1, .work_items_per_group = {32, 8}}, wrong_views{}, true),
          fault::kind::wrong_shape);
      CHECK_SAYS(tile, "32 x 8 x 1 work-items");
      auto const linear = fail_with(gpu.run({.work_groups = {2, 2}}, wrong_views{}, false),
                                    fault::kind::wrong_shape);
      CHECK_SAYS(linear, "the grid has 2 x 2 x 1 groups");
    });
  }

  TEST_CASE("or_throw throws the fault, or nothing") {
    with_sequential_agents({}, [](agent& gpu) {
      CHECK_THROWS_AS(gpu.run({.work_groups = 1}, throws_a_number{}).or_throw(), kernel_fault);
      try {
        gpu.run({.work_groups = 1}, throws_a_number{}).or_throw();
      } catch (kernel_fault const& e) {
        CHECK(e.what_happened().what == fault::kind::exception);
        CHECK(e.what_happened().kernel == "throws_a_number");
        CHECK(e.what_happened().report == e.what());
      }
      auto out = gpu.allocate<int>(1, "out");
      CHECK_NOTHROW(gpu.run({.work_groups = 1}, sum{}, out.global()).or_throw());
    });
  }

  TEST_CASE("the table of all actors can be made while kernels run") {
    native_scheduler s({.threads = 2, .stall_timeout = patience});
    agent gpu(s);
    auto out = gpu.allocate<int>(1, "out");
    std::atomic<bool> over{false};
    std::thread watcher([&] {
      while (!over)
        static_cast<void>(s.report_now().to_string());
    });
    for (int i = 0; i < 50; ++i) {
      succeed(gpu.run({.work_groups = 100}, sum{}, out.global()));
      static_cast<void>(
          fail_with(gpu.run({.work_groups = 9}, all_throw{}), fault::kind::exception));
    }
    over = true;
    watcher.join();
    CHECK(out.host()[0] == 50 * 100 * 256);
  }

  TEST_CASE("who waits for a kernel that comes to no suspension is told so, once") {
    std::FILE* const said = std::tmpfile();
    REQUIRE(said != nullptr);
    int const before = ::dup(STDERR_FILENO);
    ::dup2(::fileno(said), STDERR_FILENO);
    auto const heard = [&] {
      std::string text(4096, '\0');
      auto const n = ::pread(::fileno(said), text.data(), text.size(), 0);
      text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
      return text;
    };
    constexpr char const* words = "what runs comes to no suspension, and is waited for\n";
    native_scheduler s({.threads = 2, .stall_timeout = std::chrono::milliseconds(5)});
    agent gpu(s);
    std::atomic<bool> begun{false}, over{false};
    std::thread watcher([&] { // ends the kernel when it was told, or after a minute
      auto const end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (heard().find(words) == std::string::npos && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      over = true;
    });
    auto launched = gpu.launch({.work_groups = 1}, spins_on_the_host{begun, over});
    while (!begun && !over) // by a worker: this thread only waits
      std::this_thread::yield();
    outcome const end = launched.wait();
    watcher.join();
    std::fflush(stderr);
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    std::string const text = heard();
    std::fclose(said);
    CHECK_SAYS(fail_with(end, fault::kind::stall), "launch of spins_on_the_host");
    CHECK(text.find(words) != std::string::npos);
    CHECK(text.find(words) == text.rfind(words));
    CHECK(text.find("did not come to a suspension point") != std::string::npos);
  }
}
