// SPDX-License-Identifier: Apache-2.0
// Launches of a service: who is told of their ends, and that none outlives it.
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/running_launches.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Waits until its word is not 0, and counts then.
struct wait_and_count {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> gate,
                    global<std::uint32_t> count) const {
    auto const is_open = [](std::uint32_t v) { return v != 0; };
    static_cast<void>(co_await wf.wait_until(gate, is_open, order::acquire, scope::system));
    wf.fetch_add(count, 1, order::relaxed, scope::system);
  }
};

/// An agent with two kernels of two wavefronts each; a gate of its own keeps each from ending.
struct gated {
  explicit gated(executor& s)
      : scheduler(s), gpu(s, {.compute_units = 2, .wavefront_size = 64}),
        words(gpu.allocate<std::uint32_t>(3)),
        kernels{gpu.load(wait_and_count{}, words.global(), words.global() + 2),
                gpu.load(wait_and_count{}, words.global() + 1, words.global() + 2)} {}

  std::shared_ptr<launch_state> prepared(std::size_t which) {
    auto const code = gpu.core().find_loaded(kernels[which].kernel_object()).value();
    auto l = std::make_shared<launch_state>();
    l->config = {.work_groups = 2, .work_items_per_group = 64};
    l->kernel = "kernel " + std::to_string(which);
    l->entry = code.entry;
    l->bound = code.arguments.get();
    gpu.core().prepare(*l);
    return l;
  }
  void open(std::size_t which) {
    gpu.core().with_host([&](auto const& host) {
      host.store(words.global() + which, 1, order::release, scope::system);
    });
  }
  [[nodiscard]] std::uint32_t counted() { return words.host()[2]; }

  executor& scheduler;
  wide_agent gpu;
  buffer<std::uint32_t> words;
  loaded_kernel kernels[2];
};

using launches = running_launches<std::string>;

/// The notes of those that have ended, and what is wrong with them.
std::vector<std::string> finished(launches& running) {
  std::vector<std::string> notes;
  bool const any = running.finish([&](launch_state const& l, std::string const& note) {
    CHECK(l.is_done());
    notes.push_back(note + (l.first_fault ? ": " + l.first_fault->report : ""));
  });
  CHECK(any == !notes.empty());
  return notes;
}
using notes = std::vector<std::string>;

} // namespace

TEST_SUITE("emu.running_launches") {
  TEST_CASE("each end is told once, with its note, and the others go on") {
    with_schedulers([](executor& s) {
      gated g(s);
      launches running(g.gpu.core());
      CHECK(running.is_empty());
      CHECK_FALSE(running.any_ended());
      CHECK(finished(running) == notes{});
      running.start(g.prepared(0), "first");
      running.start(g.prepared(1), "second");
      CHECK_FALSE(running.is_empty());
      CHECK(finished(running) == notes{});
      g.open(1);
      REQUIRE(s.run_until([&] { return running.any_ended(); }));
      CHECK(finished(running) == notes{"second"});
      CHECK(g.counted() == 2);
      CHECK_FALSE(running.any_ended());
      CHECK_FALSE(running.is_empty());
      CHECK(finished(running) == notes{});
      g.open(0);
      REQUIRE(s.run_until([&] { return running.any_ended(); }));
      CHECK(finished(running) == notes{"first"});
      CHECK(running.is_empty());
      CHECK(g.counted() == 4);
    });
  }

  TEST_CASE("stop() ends those that run with its fault, and those that have ended stay well") {
    with_schedulers([](executor& s) {
      gated g(s);
      launches running(g.gpu.core());
      running.start(g.prepared(0), "well");
      running.start(g.prepared(1), "stopped");
      g.open(0);
      REQUIRE(s.run_until([&] { return running.any_ended(); }));
      running.stop({fault::kind::misuse, "service", "no more"});
      std::vector<std::string> all;
      REQUIRE(s.run_until([&] {
        for (std::string& note : finished(running))
          all.push_back(std::move(note));
        return running.is_empty();
      }));
      CHECK(all == notes{"well", "stopped: no more"});
      CHECK(g.counted() == 2);
    });
  }

  TEST_CASE("those that still run are waited for, in the end") {
    with_schedulers([](executor& s) {
      gated g(s);
      auto const last = g.prepared(0);
      {
        launches running(g.gpu.core());
        running.start(last, "last");
        g.open(0);
      }
      CHECK(last->is_done());
      CHECK_FALSE(last->has_failed());
      CHECK(g.counted() == 2);
    });
  }

  TEST_CASE("those that cannot end are given up then, all at once, and say who waits") {
    with_impatient_schedulers([](executor& s) {
      gated g(s);
      auto const stuck = g.prepared(0), other = g.prepared(1);
      {
        launches running(g.gpu.core());
        running.start(stuck, "stuck");
        running.start(other, "the other");
      }
      REQUIRE(stuck->is_done());
      REQUIRE(stuck->first_fault);
      CHECK_SAYS(stuck->first_fault->report, "wait_until");
      REQUIRE(other->first_fault);
      CHECK(other->first_fault->report == stuck->first_fault->report); // without a wait of its own
      CHECK(g.counted() == 0);
    });
  }

  TEST_CASE("a launch is kept as long as it runs, and forgotten when its end has been told") {
    sequential_scheduler s;
    gated g(s);
    launches running(g.gpu.core());
    std::weak_ptr<launch_state> launch;
    {
      auto l = g.prepared(0);
      launch = l;
      running.start(std::move(l), "only one");
    }
    CHECK_FALSE(launch.expired());
    g.open(0);
    REQUIRE(s.run_until([&] { return running.any_ended(); }));
    CHECK_FALSE(launch.expired());
    CHECK(finished(running) == notes{"only one"});
    CHECK(launch.expired());
  }
}
