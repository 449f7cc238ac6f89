// SPDX-License-Identifier: Apache-2.0
// Channels whose indices wrap at once: what 64 bits hide for ever.
#include <quarry/emu.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

namespace {

using namespace quarry;
using namespace quarry::emu;

struct numbered {
  std::uint32_t number;
};
template<int IndexBits>
using tiny = basic_channel<numbered, IndexBits>;

template<class Channel>
task<> put(world_core& self, Channel& ch, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    auto allocated = ch.talloc(self, 1);
    channel_elements const mine = co_await std::move(allocated);
    self.store(ch.at(mine), numbered{i});
    task<> sent = ch.enq(self, mine);
    co_await std::move(sent);
  }
}

/// Two producers, one of which needs the indices to wrap; one actor aggregates and consumes.
template<int IndexBits>
void two_producers(world& w) {
  constexpr std::uint32_t many = 9, total = many + 1;
  tiny<IndexBits> ch(w.known(), {.width = 2, .elements_per_done_count = 1});
  std::array<int, total> seen{};
  w.start_task("slow", [&](world_core& self) { return put(self, ch, many, 1); });
  w.start_task("fast", [&](world_core& self) { return put(self, ch, 0, many); });
  w.start_task("consumer", [&](world_core& self) -> task<> {
    for (std::uint32_t taken = 0; taken < total; ++taken) {
      auto const is_ready = [&] { return ch.ready(self) != 0; };
      poll_until wait(is_ready);
      co_await wait;
      std::uint64_t const off = ch.take(1);
      std::uint32_t const number = self.load(ch.deq(self, off)).number;
      w.check(number < total && ++seen[number] == 1, "an element is wrong, or came twice");
      ch.tfree(self, off);
      static_cast<void>(ch.reclaim(self));
    }
  });
  w.join();
}

template<int IndexBits>
verdict explored(std::uint64_t executions) {
  return explore({.executions = executions, .shrinks = false, .diagnoses = false},
                 [](world& w) { two_producers<IndexBits>(w); });
}

} // namespace

TEST_SUITE("emu.channel_wrap") {
  TEST_CASE("with 3-bit indices, a talloc that sleeps while they wrap is found") {
    verdict const v = explored<3>(20'000);
    REQUIRE(v.failure);
    MESSAGE("ABA found in execution " << v.failure->execution << ": " << v.failure->kind);
  }
  TEST_CASE("with 64 bits the same world is clean; so is the wrap of 8 bits by itself") {
    for (verdict const& v : {explored<64>(3'000), explored<8>(3'000)}) {
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }
}
