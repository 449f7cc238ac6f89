// SPDX-License-Identifier: Apache-2.0
// The shape of a channel: its limits, where its elements lie, and what a report says of it.
#include "lone_actor.hpp"

#include <quarry/emu/channel.hpp>
#include <quarry/emu/core.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

template<std::size_t Bytes>
struct element {
  unsigned char bytes[Bytes];
};
template<int IndexBits>
using narrow = basic_channel<element<4>, IndexBits>;

/// The widest that is accepted, and that the next one is refused.
template<int IndexBits>
void check_widest(std::uint32_t most) {
  allocations known;
  CAPTURE(IndexBits);
  narrow<IndexBits> const ch(known, {.width = most, .elements_per_done_count = most});
  CHECK(ch.width() == most);
  CHECK_THROWS_AS(narrow<IndexBits>(known, {.width = 2 * most, .elements_per_done_count = 1}),
                  std::invalid_argument);
}

void check_refused(std::uint32_t width, std::uint32_t share, std::string const& why) {
  allocations known;
  CHECK_THROWS_WITH_AS(
      channel<element<4>>(known,
                          {.width = width, .elements_per_done_count = share, .name = "ring"}),
      ("ring: " + why).c_str(), std::invalid_argument);
}

using native_core = basic_core<native_memory>;
task<channel_elements> take(native_core& self, auto& ch, std::uint32_t count) {
  task<channel_elements> allocated = ch.talloc(self, count);
  co_return co_await std::move(allocated);
}

} // namespace

TEST_SUITE("emu.channel_arrays") {
  TEST_CASE("a channel is at most a quarter as wide as its indices count") {
    check_widest<3>(2);
    check_widest<4>(4);
    check_widest<12>(1024);
    check_widest<20>(1U << 18);
  }

  TEST_CASE("a width that is no power of two, and shares that do not divide it, are refused") {
    for (std::uint32_t const width : {0U, 3U, 1023U, ~0U})
      check_refused(width, 1,
                    "a width of " + std::to_string(width) +
                        "; allowed are powers of two up to 2147483648");
    for (std::uint32_t const share : {0U, 3U, 48U, 65U, 128U})
      check_refused(64, share,
                    std::to_string(share) +
                        " elements a done count; allowed are divisors of the width, 64");
  }

  TEST_CASE("what can be had at once is what is there though a done count is in use") {
    allocations known;
    native_core self({});
    for (std::uint32_t const share : {1U, 4U, 16U}) {
      CAPTURE(share);
      channel<element<4>> ch(known, {.width = 16, .elements_per_done_count = share});
      std::uint32_t const most = 16 - share + 1;
      CHECK(ch.most_at_once() == most);
      CHECK_THROWS_AS(static_cast<void>(ch.try_talloc(self, most + 1)), kernel_stop);
      CHECK(ch.usage().in_use == 0);
      REQUIRE(ch.try_talloc(self, most));
      CHECK(ch.usage().in_use == most);
    }
  }

  TEST_CASE_TEMPLATE("padded, no two elements share a cache line, whatever their size", T,
                     element<4>, element<8>, element<12>, element<24>, element<40>, element<48>,
                     element<64>, element<65>, element<72>, element<200>) {
    allocations known;
    constexpr std::uint32_t width = 64;
    channel<T> ch(known, {.width = width, .elements_per_done_count = 1, .is_padded = true});
    std::set<std::uintptr_t> lines;
    std::uintptr_t before = 0;
    for (std::uint32_t i = 0; i < width; ++i) {
      CAPTURE(i);
      auto const at = reinterpret_cast<std::uintptr_t>(ch.at_position(i).get());
      CHECK(known.contain(ch.at_position(i).get(), sizeof(T)));
      for (std::uintptr_t l = at / 64; l <= (at + sizeof(T) - 1) / 64; ++l)
        CHECK(lines.insert(l).second);
      if (i != 0)
        CHECK(at - before < 2 * sizeof(T) + 64); // and not more than that takes
      before = at;
    }
  }

  TEST_CASE("without padding they stand next to each other, and bytes() is what is allocated") {
    allocations known;
    channel<element<12>> dense(known, {.width = 32, .elements_per_done_count = 8});
    channel<element<12>> padded(known,
                                {.width = 32, .elements_per_done_count = 8, .is_padded = true});
    auto const at = [](auto& ch, std::uint32_t i) {
      return reinterpret_cast<std::uintptr_t>(ch.at_position(i).get());
    };
    CHECK(at(dense, 1) - at(dense, 0) == 12);
    std::size_t const others = 2 * 32 * 4 + 32 / 8 * 4; // the control array and the done counts
    CHECK(dense.bytes() == 32 * 12 + others);
    CHECK(padded.bytes() == 32 * (at(padded, 1) - at(padded, 0)) + others);
  }

  TEST_CASE("elements in a row wrap where the array ends, padded or not") {
    allocations known;
    native_core self({});
    for (bool const padded : {false, true}) {
      CAPTURE(padded);
      channel<element<8>> ch(known,
                             {.width = 8, .elements_per_done_count = 1, .is_padded = padded});
      auto const first = ch.try_talloc(self, 6);
      REQUIRE(first);
      ch.enq_alone(self, *first);
      std::uint64_t const off = ch.take(6);
      for (std::uint64_t i = 0; i < 6; ++i)
        ch.tfree(self, off + i);
      CHECK(ch.reclaim(self) == 6);
      auto const mine = ch.try_talloc(self, 5);
      REQUIRE(mine);
      CHECK(mine->first == 6);
      auto const row = ch.row_of(*mine);
      for (std::uint32_t i = 0; i < 5; ++i)
        CHECK(row[i] == ch.at_position((6 + i) % 8));
      ch.enq_alone(self, *mine); // their positions wrap, too
      std::uint64_t const next = ch.take(5);
      for (std::uint32_t i = 0; i < 5; ++i)
        CHECK(ch.deq(self, next + i) == row[i]);
    }
  }

  TEST_CASE("the usage says what is allocated and not given back, and who waits, while it waits") {
    allocations known;
    native_core self({});
    channel<element<8>> ch(known, {.width = 4, .elements_per_done_count = 2, .name = "full"});
    CHECK(ch.name() == "full");
    auto const first = ch.try_talloc(self, 3);
    REQUIRE(first);
    auto second = take(self, ch, 2);
    lone_actor a;
    second.start_on(a);
    a.resume();
    CHECK(a.state == actor_state::polling);
    CHECK(ch.usage().in_use == 3);
    CHECK(ch.usage().waiting == 1);
    CHECK(ch.waiting(self) == 1);
    ch.enq_alone(self, *first);
    std::uint64_t const off = ch.take(3);
    ch.tfree(self, off);
    CHECK(ch.reclaim(self) == 0); // its done count has another one
    CHECK_FALSE(a.poll(a.poll_argument));
    ch.tfree(self, off + 1);
    CHECK(ch.usage().in_use == 3); // until they are given back
    CHECK(ch.reclaim(self) == 2);
    CHECK(ch.usage().in_use == 1);
    CHECK(a.poll(a.poll_argument));
    a.resume();
    REQUIRE(a.state == actor_state::done);
    CHECK(std::move(second).result().first == 3);
    CHECK(ch.usage().in_use == 3);
    CHECK(ch.usage().waiting == 0);
  }
}
