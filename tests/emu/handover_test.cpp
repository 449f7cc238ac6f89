// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

/// A word from one host thread to another, beside a flag that is no device memory.
verdict explore_handover(bool gives, bool takes) {
  return explore({.executions = 200, .diagnoses = false}, [=](world& w) {
    auto word = w.allocate<std::uint32_t>(1, "word");
    handover order;
    bool is_set = false;
    w.start("giver", [&](world_core& self) {
      self.store(word.global(), 42);
      if (gives)
        order.give();
      is_set = true;
    });
    w.start_task("taker", [&](world_core& self) -> task<> {
      while (!is_set)
        co_await yield();
      if (takes)
        order.take();
      w.check(self.load(word.global()) == 42, "the word is stale");
    });
    w.join();
  });
}

struct stores_and_gives {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> at, handover& order,
                    bool& is_set) const {
    wf.store(at, 42U);
    order.give();
    is_set = true;
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.handover") {
  TEST_CASE("what is given comes before what follows the taking") {
    verdict const v = explore_handover(true, true);
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("without the giving or the taking there is no order") {
    CHECK(explore_handover(false, true).failure);
    CHECK(explore_handover(true, false).failure);
  }

  TEST_CASE("a kernel's wavefront gives what it has done") {
    verdict const v = explore({.executions = 200, .diagnoses = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto word = w.allocate<std::uint32_t>(1, "word");
      handover order;
      bool is_set = false;
      w.start("host", [&](world_core&) {
        static_cast<void>(gpu.run({.work_items = 1}, stores_and_gives{}, word.global(),
                                  std::ref(order), std::ref(is_set)));
      });
      w.start_task("taker", [&](world_core& self) -> task<> {
        while (!is_set)
          co_await yield();
        order.take();
        w.check(self.load(word.global()) == 42, "the word is stale");
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("in the predicate of a wait, where it would order somebody else, it is refused") {
    verdict const v = explore({.executions = 200, .diagnoses = false}, [](world& w) {
      handover order;
      bool is_set = false;
      w.start("giver", [&](world_core&) {
        order.give();
        is_set = true;
      });
      w.start_task("taker", [&](world_core&) -> task<> {
        auto const takes = [&] {
          if (is_set)
            order.take();
          return is_set;
        };
        poll_until wait(takes);
        co_await wait;
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "exception");
    CHECK_MESSAGE(v.to_string().find("a handover in the predicate of a wait") != std::string::npos,
                  v.to_string());
  }

  TEST_CASE("outside of explored executions it does nothing") {
    handover order;
    order.take();
    order.give();
    order.take();
  }
}
