// SPDX-License-Identifier: Apache-2.0
// User-mode queues and signals, explored by who tries instead of waiting.
#include "explored_passes.hpp"

#include <quarry/emu.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using small_queue = basic_user_queue<2>; ///< its index wraps with the fourth packet
constexpr std::uint32_t producers = 2, each = 3;

task<> submit_by_tries(world_core& self, small_queue& q, std::uint32_t producer) {
  for (std::uint32_t i = 0; i < each; ++i) {
    packet const p = service_packet{.function = static_cast<std::uint16_t>(producer),
                                    .arguments = {i, 0, 0, ~std::uint64_t{i}}};
    std::optional<packet_claim> mine;
    auto const has_room = [&] { return q.has_room(self); };
    while (!(mine = q.try_reserve(self))) {
      poll_until room(has_room);
      co_await room;
    }
    self.store(q.slot(*mine), p);
    auto const is_turn = [&] { return q.is_turn(self, *mine); };
    while (!q.try_commit(self, *mine)) {
      poll_until turn(is_turn);
      co_await turn;
    }
  }
}

} // namespace

TEST_SUITE("emu.explored_packets") {
  TEST_CASE("six packets of two producers that try, through two slots") {
    passes(2'000, [](world& w) {
      small_queue q(w.known(), 2);
      for (std::uint32_t who = 0; who < producers; ++who)
        w.start_task("producer " + std::to_string(who),
                     [&q, who](world_core& self) { return submit_by_tries(self, q, who); });
      w.start_task("processor", [&](world_core& self) -> task<> {
        std::array<std::uint64_t, producers> next{};
        for (std::uint32_t i = 0; i < producers * each; ++i) {
          auto peeked = q.peek(self);
          auto const at = co_await std::move(peeked);
          auto const p = self.load(at).as<service_packet>();
          bool const is_whole = p.function < producers && p.arguments[3] == ~p.arguments[0];
          w.check(is_whole, "a packet is torn, or was read before it was written");
          if (is_whole)
            w.check(p.arguments[0] == next[p.function]++, "a packet came twice, or too early");
          q.release(self);
        }
      });
      w.join();
    });
  }

  TEST_CASE("an empty queue has room for as many packets as slots, wherever its indices are") {
    passes(2'000, [](world& w) {
      small_queue q(w.known(), 2);
      w.start_task("alone", [&](world_core& self) -> task<> {
        for (int n = 0; n < 6; ++n) {
          auto const a = q.try_reserve(self), b = q.try_reserve(self);
          w.check(a && b, "an empty queue refuses a packet");
          if (!a || !b)
            co_return;
          w.check(!q.has_room(self) && !q.try_reserve(self), "three packets in two slots");
          w.check(!q.try_commit(self, *b), "the second packet comes first");
          w.check(q.try_commit(self, *a) && q.try_commit(self, *b), "it is their turn");
          for (int i = 0; i < 2; ++i) {
            w.check(q.is_ready(self), "a packet was lost");
            q.release(self);
          }
          w.check(!q.is_ready(self) && q.has_room(self), "it is empty");
          auto reserved = q.reserve(self); // an odd number: the wrap comes in the midst, too
          packet_claim const one = co_await std::move(reserved);
          task<> committed = q.commit(self, one);
          co_await std::move(committed);
          q.release(self);
        }
      });
      w.join();
    });
  }

  TEST_CASE("who has waited for a signal sees what was stored before it was completed") {
    passes(2'000, [](world& w) {
      signal done(w.known());
      auto data = w.allocate<std::uint32_t>(1, "data");
      w.start("completes", [&](world_core& self) {
        self.store(data.global(), 42U);
        self.store(done.word(), std::int64_t{0}, order::release, scope::system);
      });
      w.start_task("waits", [&](world_core& self) -> task<> {
        auto over = done.wait(self);
        static_cast<void>(co_await over);
        w.check(self.load(data.global()) == 42, "a stale word");
      });
      w.join();
    });
  }
}
