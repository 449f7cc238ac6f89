// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/channel.hpp>
#include <quarry/emu/channel_options.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

struct number {
  std::uint32_t value;
};

/// Allocates one element more than there is room for, in pieces of two.
struct fill_up {
  template<any_wavefront W>
  void operator()(W& wf, channel<number>& ch) const {
    for (std::uint32_t i = 0; i <= ch.width(); i += 2)
      static_cast<void>(ch.try_talloc(wf, 2U));
  }
};

} // namespace

TEST_SUITE("emu.channel_options") {
  TEST_CASE("the sum of two counts is that of each, and the larger of the most at a time") {
    channel_counts sum{1, 2, 3, 4, 5, 60};
    channel_counts const other{10, 20, 30, 40, 50, 6};
    (sum += other) += {};
    CHECK(sum.allocated == 11);
    CHECK(sum.reservations == 22);
    CHECK(sum.refusals == 33);
    CHECK(sum.exchanges == 44);
    CHECK(sum.additions == 55);
    CHECK(sum.most == 60);
    channel_counts reversed = other;
    reversed += {1, 2, 3, 4, 5, 60};
    CHECK(reversed.most == 60);
  }

  TEST_CASE("a channel of no options is 1024 elements, 64 a done count, and called channel") {
    allocations known;
    channel<number> const ch(known, {});
    CHECK(ch.width() == 1024);
    CHECK(ch.most_at_once() == 1024 - 64 + 1);
    CHECK(ch.name() == "channel");
    CHECK(ch.bytes() == 1024 * sizeof(number) + 2 * 1024 * 4 + 1024 / 64 * 4);
    CHECK(channel_options{}.reservation == channel_reservation::per_wavefront);
    CHECK(channel_options{}.full == when_full::wait);
  }

  TEST_CASE("counts are exact where a scheduler decides, and not kept elsewhere") {
    auto const counted = [](executor& s) {
      wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
      channel<number> ch(gpu.core().known(), {.width = 8, .elements_per_done_count = 1});
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 64}, fill_up{}, std::ref(ch)));
      return ch.counts();
    };
    sequential_scheduler decides;
    channel_counts const exact = counted(decides);
    CHECK(exact.allocated == 8);
    CHECK(exact.reservations == 4);
    CHECK(exact.refusals == 1);
    CHECK(exact.exchanges == 4); // a refusal needs none
    CHECK(exact.additions == 0);
    CHECK(exact.most == 8);
    native_scheduler native({.threads = 1, .stall_timeout = patience});
    channel_counts const none = counted(native);
    CHECK(none.allocated == 0);
    CHECK(none.refusals == 0);
  }

  TEST_CASE("elements and lanes that nobody has allocated are none, of no channel") {
    channel_elements const nothing;
    CHECK(nothing.channel == nullptr);
    CHECK(nothing.count == 0);
    wave_elements<64> const none;
    CHECK(none.channel == nullptr);
    CHECK(none.got.empty());
  }
}
