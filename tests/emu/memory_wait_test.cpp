// SPDX-License-Identifier: Apache-2.0
// Waits for a value in memory: what their predicates may do.
#include "agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/yield.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Throws when the value has become 1, which is not before it was asked.
int refuse_one(int value) {
  if (value == 1)
    throw std::runtime_error("a predicate refuses 1");
  return value;
}
struct wait_for_what_throws {
  task<> operator()(any_wavefront auto& wf, global<int> word, global<int> caught) const {
    if (wf.index_in_group() == 0) {
      co_await quarry::yield();
      wf.store(word, 1, order::release, scope::agent);
      co_return;
    }
    auto const is_two = [](int v) { return refuse_one(v) == 2; };
    try {
      static_cast<void>(co_await wf.wait_until(word, is_two, order::acquire, scope::agent));
    } catch (std::runtime_error const&) {
      wf.store(caught, 1);
      throw;
    }
  }
};
struct items_wait_for_what_throws {
  void operator()(any_plain_work_item auto& wi, global<int> word, global<int> caught) const {
    if (wi.local_linear_id() == 0) {
      wi.store(word, 1, order::release, scope::agent);
      return;
    }
    auto const is_two = [](int v) { return refuse_one(v) == 2; };
    try {
      static_cast<void>(wi.wait_until(word, is_two, order::acquire, scope::agent));
    } catch (std::runtime_error const&) {
      wi.store(caught, 1, order::relaxed, scope::agent);
      throw;
    }
  }
};

} // namespace

TEST_SUITE("emu.memory_wait") {
  TEST_CASE("what the predicate of a wait throws comes where it is awaited, whenever it is asked") {
    with_every_agent([](agent& gpu) {
      auto const answer = [&](auto kernel) {
        auto words = gpu.allocate<int>(2, "words");
        auto const report = fail_with(gpu.run({.work_items = 128, .work_items_per_group = 128},
                                              kernel, words.global(), words.global() + 1),
                                      fault::kind::exception);
        CHECK_SAYS(report, "a predicate refuses 1");
        CHECK(words.host()[1] == 1);
      };
      answer(wait_for_what_throws{});
      answer(items_wait_for_what_throws{});
    });
  }

  TEST_CASE("a predicate of wait_until() that accesses memory is an exception that says so") {
    verdict const v = explore({.executions = 100, .diagnoses = false}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(32, "words");
      auto const head = words.global(), tail = words.global() + 16;
      w.start("producer", [=](world_core& self) {
        self.store(tail, 7, order::release, scope::system);
        self.store(head, 7, order::release, scope::system);
      });
      w.start_task("consumer", [=](world_core& self) -> task<> {
        auto const caught_up = [=, &self](std::uint32_t h) {
          return h != 0 && h == self.load(tail, order::relaxed, scope::system);
        };
        static_cast<void>(co_await self.wait_until(head, caught_up, order::acquire, scope::system));
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "exception");
    CHECK_MESSAGE(v.failure->report.find("an operation of consumer within a predicate of "
                                         "wait_until()") != std::string::npos,
                  v.failure->report);
  }
}
