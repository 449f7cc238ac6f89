// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Everybody writes, meets, and reads what the work-item on the far side wrote.
struct exchange_in_rounds {
  task<> operator()(any_wavefront auto& wf, global<int> out, int rounds) const {
    auto const cells = wf.template lds<int, 1024>();
    int const n = static_cast<int>(wf.group_size().volume());
    auto const far = -wf.local_id(0) + (n - 1);
    auto sum = wf.local_id(0) * 0;
    for (int round = 0; round < rounds; ++round) {
      wf.store(cells + wf.local_id(), wf.local_id(0) + round * 1000);
      co_await wf.barrier();
      sum = sum + wf.load(cells + far);
      co_await wf.barrier();
    }
    wf.store(out + wf.global_id(), sum);
  }
};

void exchange(unsigned per_group, unsigned items) {
  with_every_agent([&](agent& gpu) {
    constexpr int rounds = 5;
    auto out = gpu.allocate<int>(items, "out");
    succeed(gpu.run({.work_items = items, .work_items_per_group = per_group, .lds_bytes = 4096},
                    exchange_in_rounds{}, out.global(), rounds));
    for (unsigned i = 0; i < items; ++i) {
      unsigned const size = std::min(per_group, items - i / per_group * per_group);
      int const far = static_cast<int>(size - 1 - i % per_group);
      REQUIRE(out.host()[i] == rounds * far + 1000 * (0 + 1 + 2 + 3 + 4));
    }
  });
}

/// One reduction of the values (seed * (i + 1)) % 97 of a group's work-items, repeated.
template<class T, class Op>
struct reduce_often {
  task<> operator()(any_wavefront auto& wf, global<T const> in, global<T> out, int rounds) const {
    auto const mine = wf.load(in + wf.global_id());
    for (int round = 0; round < rounds; ++round) {
      T const all = co_await wf.group_reduce(mine + static_cast<T>(round), Op{});
      if (wf.index_in_group() == wf.waves_in_group() - 1)
        wf.store(out + (wf.linear_group_id() * static_cast<unsigned>(rounds) +
                        static_cast<unsigned>(round)),
                 all);
    }
  }
};

template<class T, class Op>
void reduces(unsigned items, unsigned per_group) {
  with_every_agent([&](agent& gpu) {
    constexpr int rounds = 4;
    unsigned const groups = (items + per_group - 1) / per_group;
    auto in = gpu.allocate<T>(items, "in");
    auto out = gpu.allocate<T>(groups * rounds, "out");
    for (unsigned i = 0; i < items; ++i)
      in.host()[i] = static_cast<T>((i + 1) * 61 % 97);
    succeed(gpu.run({.work_items = items, .work_items_per_group = per_group}, reduce_often<T, Op>{},
                    global<T const>(in.global()), out.global(), rounds));
    for (unsigned g = 0; g < groups; ++g)
      for (int round = 0; round < rounds; ++round) {
        T expected = Op::template identity<T>();
        for (unsigned i = g * per_group; i < std::min(items, (g + 1) * per_group); ++i)
          expected =
              static_cast<T>(Op{}(expected, static_cast<T>(in.host()[i] + static_cast<T>(round))));
        REQUIRE(out.host()[g * rounds + static_cast<unsigned>(round)] == expected);
      }
  });
}

template<class T>
struct scan {
  task<> operator()(any_wavefront auto& wf, global<T const> in, global<T> out,
                    global<T> totals) const {
    auto const v = wf.load(in + wf.global_id());
    auto before = v;
    for (int round = 0; round < 3; ++round) { // both banks
      T const total = co_await wf.group_prefix_sum(v, before);
      if (wf.index_in_group() == 0)
        wf.store(totals + wf.linear_group_id(), total);
    }
    wf.store(out + wf.global_id(), before);
  }
};

template<class T>
void scans(unsigned items, unsigned per_group) {
  with_every_agent([&](agent& gpu) {
    unsigned const groups = (items + per_group - 1) / per_group;
    auto in = gpu.allocate<T>(items, "in");
    auto out = gpu.allocate<T>(items, "out");
    auto totals = gpu.allocate<T>(groups, "totals");
    for (unsigned i = 0; i < items; ++i)
      in.host()[i] = static_cast<T>(i * 7 % 13);
    succeed(gpu.run({.work_items = items, .work_items_per_group = per_group}, scan<T>{},
                    global<T const>(in.global()), out.global(), totals.global()));
    for (unsigned g = 0; g < groups; ++g) {
      T sum{};
      for (unsigned i = g * per_group; i < std::min(items, (g + 1) * per_group); ++i) {
        REQUIRE(out.host()[i] == sum);
        sum = static_cast<T>(sum + in.host()[i]);
      }
      CHECK(totals.host()[g] == sum);
    }
  });
}

struct broadcast_and_any {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> out) const {
    std::uint32_t const waves = wf.waves_in_group();
    std::uint64_t hash = 0;
    for (std::uint32_t source = 0; source < waves; ++source) {
      std::uint64_t const mine = 100 * (wf.index_in_group() + 1);
      hash = hash * 31 + co_await wf.group_broadcast(mine, wf.index_in_group() == source);
      auto const is_last_item = wf.local_id(0) == static_cast<int>(wf.group_size().volume()) - 1;
      hash = hash * 2 + co_await wf.group_any(is_last_item);
      hash = hash * 2 + co_await wf.group_any(wf.local_id(0) < 0);
    }
    if (wf.index_in_group() == waves - 1)
      wf.store(out + wf.linear_group_id(), hash);
  }
};

/// Only the work-items of odd number submit; a wavefront whose lanes are all inactive comes along.
struct masked_collectives {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const id = wf.local_id(0);
    auto before = id;
    int sum = 0;
    int total = 0;
    int smallest = 0;
    {
      auto const active = wf.where(((id & 1) == 1) & (id >= 70));
      sum = co_await wf.group_reduce(id, plus{});
      smallest = co_await wf.group_reduce(id, minimum{});
      total = co_await wf.group_prefix_sum(id * 0 + 1, before);
      wf.store(out + wf.global_id(), before);
      total += co_await wf.group_all(id >= 70) ? 1000 : 0; // whose lanes are inactive has no say
      total += co_await wf.group_any(id < 70) ? 2000 : 0;
    }
    total += co_await wf.group_all(id >= 70) ? 4000 : 0;
    total += co_await wf.group_any(id < 70) ? 8000 : 0;
    if (auto first = wf.where(id == 0)) {
      wf.store(out + wf.global_id(), sum);
      wf.store(out + 2, smallest);
      wf.store(out + 4, total);
    }
  }
};

struct offsets {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> out) const {
    // Wavefront w has w work-items to place, the last one none.
    std::uint32_t const w = wf.index_in_group();
    std::uint32_t const mine = w + 1 == wf.waves_in_group() ? 0 : w;
    auto const place = co_await wf.group_offset(mine);
    wf.store(out + (w * 3), place.before);
    wf.store(out + (w * 3 + 1), place.total);
    wf.store(out + (w * 3 + 2), place.is_last ? 1U : 0U);
  }
};

/// Wavefronts that come to one meeting with different things in mind.
enum class odd_one : std::uint8_t { other_type, other_operation, other_meeting };
template<class D>
task<> reduce_differently(any_wavefront auto& wf, odd_one how, D by) {
  lanes<int, std::remove_reference_t<decltype(wf)>::size> const one = 1;
  if (wf.index_in_group() == 0)
    static_cast<void>(co_await wf.group_reduce(one, plus{}, by));
  else if (how == odd_one::other_type)
    static_cast<void>(co_await wf.group_reduce(convert<float>(one), plus{}, by));
  else if (how == odd_one::other_operation)
    static_cast<void>(co_await wf.group_reduce(one, maximum{}, by));
  else
    static_cast<void>(co_await wf.group_any(one > 0, by));
}
struct meet_differently {
  task<> operator()(any_wavefront auto& wf, odd_one how, bool is_fine) const {
    if (is_fine) {
      task<> meets = reduce_differently(wf, how, wf.make_fine_grain_barrier());
      co_await std::move(meets);
    } else {
      task<> meets = reduce_differently(wf, how, converged{});
      co_await std::move(meets);
    }
  }
};

/// Collectives that are made, and awaited after others; and a prefix sum over its own input.
struct meet_later {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const one = wf.global_id(0) * 0 + 1;
    auto sum = wf.group_reduce(one * 5, plus{});
    auto place = wf.group_offset(7);
    auto sent =
        wf.group_broadcast(11 + static_cast<int>(wf.index_in_group()), wf.index_in_group() == 0);
    auto most = wf.group_reduce(one * 3, maximum{});
    wf.store(out, co_await most);
    wf.store(out + 1, co_await sent);
    group_place const where = co_await place;
    wf.store(out + 2, static_cast<int>(where.total));
    wf.store(out + 3, co_await sum);
    auto x = one;
    wf.store(out + 4, co_await wf.group_prefix_sum(x, x));
    wf.store(out + 8 + wf.global_id(), x);
  }
};

} // namespace

TEST_SUITE("emu.collectives") {
  TEST_CASE("no work-item passes a barrier before all have come, in groups of 1 to 32 wavefronts") {
    exchange(32, 64);
    exchange(64, 192);
    exchange(256, 1024);
    exchange(1024, 2048);
  }
  TEST_CASE("a barrier waits for a partial wavefront and in a partial group") {
    exchange(100, 250);
    exchange(1000, 1001);
  }

  TEST_CASE("a work-group reduction has every work-item's value once, in every type") {
    reduces<std::int32_t, plus>(1000, 256);
    reduces<std::uint64_t, plus>(1000, 256);
    reduces<float, plus>(1000, 256); // small whole numbers: exact in any order
    reduces<double, plus>(1000, 256);
    reduces<std::int16_t, plus>(1000, 256);
  }
  TEST_CASE("a work-group reduction finds the smallest, the largest, and bits") {
    reduces<std::int32_t, minimum>(300, 128);
    reduces<float, minimum>(300, 128);
    reduces<std::int64_t, maximum>(300, 128);
    reduces<double, maximum>(300, 128);
    reduces<std::uint32_t, bit_or>(300, 128);
    reduces<std::uint32_t, bit_and>(300, 128);
  }
  TEST_CASE("a work-group reduction works in groups of 1 to 32 wavefronts, whole and partial") {
    for (unsigned per_group : {1U, 32U, 33U, 64U, 65U, 512U, 1000U, 1024U}) {
      CAPTURE(per_group);
      reduces<std::int32_t, plus>(2 * per_group + 1, per_group);
    }
  }

  TEST_CASE("a work-group prefix sum is exclusive and gives the total") {
    scans<std::int32_t>(1000, 256);
    scans<std::uint64_t>(1000, 96);
    scans<float>(1000, 256);
    scans<std::int32_t>(1025, 1024);
    scans<std::int32_t>(7, 1);
  }

  TEST_CASE("a broadcast gives everybody the source's value; any() says whether one is there") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<std::uint64_t>(3, "out");
      succeed(gpu.run({.work_items = 1000, .work_items_per_group = 400}, broadcast_and_any{},
                      out.global()));
      for (std::size_t g = 0; g < 3; ++g) {
        auto const size = gpu.core().shape().wavefront_size;
        std::uint64_t const waves = ((g == 2 ? 200 : 400) + size - 1) / size;
        std::uint64_t hash = 0;
        for (std::uint64_t source = 0; source < waves; ++source)
          hash = ((hash * 31 + 100 * (source + 1)) * 2 + 1) * 2;
        CHECK(out.host()[g] == hash);
      }
    });
  }

  TEST_CASE(
      "collectives run over the active work-items, the inactive submit what does not matter") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(200, "out");
      succeed(gpu.run({.work_items = 200}, masked_collectives{}, out.global()));
      int sum = 0;
      int count = 0;
      for (int i = 71; i < 200; i += 2) {
        CHECK(out.host()[static_cast<unsigned>(i)] == count++);
        sum += i;
      }
      CHECK(out.host()[0] == sum);
      CHECK(out.host()[2] == 71);
      CHECK(out.host()[4] == 1000 + 8000 + count);
    });
  }

  TEST_CASE("wavefronts that reduce other values, or by another operation, do not meet") {
    with_every_agent([](agent& gpu) {
      for (bool const is_fine : {false, true})
        for (odd_one const how :
             {odd_one::other_type, odd_one::other_operation, odd_one::other_meeting}) {
          CAPTURE(is_fine);
          CAPTURE(static_cast<int>(how));
          auto const end = gpu.run({.work_groups = 1, .work_items_per_group = 128},
                                   meet_differently{}, how, is_fine);
          REQUIRE(!end);
          CHECK(end.get_fault()->what == fault::kind::barrier_divergence);
          CHECK_MESSAGE(
              end.get_fault()->report.find(
                  "wait in a work-group reduce of other values, or by another operation") !=
                  std::string::npos,
              end.get_fault()->report);
        }
    });
  }

  TEST_CASE("group_offset says what comes before a wavefront, and who is last to have something") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<std::uint32_t>(32 * 3, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 512}, offsets{}, out.global()));
      std::uint32_t const waves = 512 / gpu.core().shape().wavefront_size;
      std::uint32_t before = 0;
      for (std::uint32_t w = 0; w < waves; ++w) {
        CHECK(out.host()[w * 3] == before);
        CHECK(out.host()[w * 3 + 1] == (waves - 2) * (waves - 1) / 2);
        CHECK(out.host()[w * 3 + 2] == (w >= waves - 2 ? 1 : 0));
        before += w;
      }
    });
  }

  TEST_CASE("a collective brings its value to the meeting where it is awaited") {
    with_every_agent([](agent& gpu) {
      int const n = 256, waves = n / static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(8 + n, "out");
      succeed(gpu.run({.work_items = n, .work_items_per_group = n}, meet_later{}, out.global()));
      CHECK(out.host()[0] == 3);
      CHECK(out.host()[1] == 11);
      CHECK(out.host()[2] == 7 * waves);
      CHECK(out.host()[3] == 5 * n);
      CHECK(out.host()[4] == n);
      for (int i = 0; i < n; ++i)
        CHECK(out.host()[8 + i] == i);
    });
  }
}
