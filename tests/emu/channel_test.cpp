// SPDX-License-Identifier: Apache-2.0
#include "queue_traffic.hpp"
#include "test_agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/yield.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

struct pair_of {
  std::uint32_t number;
  std::uint32_t copy;
};

constexpr machine shape{.compute_units = 2, .wavefront_size = 64};

/// Group 0 waits for room that never comes; group 1 throws then, if it is told to.
struct waits_for_nobody {
  template<any_wavefront W>
  task<> operator()(W& wf, channel<pair_of>& c, global<std::uint32_t> word, bool throws) const {
    if (wf.linear_group_id() == 0) {
      auto all = c.talloc(wf, 32U);
      static_cast<void>(co_await std::move(all));
      wf.store(word, 1, order::release, scope::agent);
      auto more = c.talloc(wf, 1U);
      static_cast<void>(co_await std::move(more));
    } else if (throws) {
      auto const is_full = [](std::uint32_t v) { return v == 1; };
      static_cast<void>(co_await wf.wait_until(word, is_full, order::acquire, scope::agent));
      co_await yield();
      throw std::runtime_error("in vain");
    }
  }
};

/// Every work-item sends 1 + its number % 3 elements.
struct send {
  template<any_wavefront W>
  task<> operator()(W& wf, channel<pair_of>& ch) const {
    auto const id = convert<std::uint32_t>(wf.global_id().to_lanes());
    typename W::template lanes<std::uint32_t> const count = id % 3U + 1U;
    auto const fill = [&](wave_elements<W::size> const& mine) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto const has = wf.where(count > i);
        wf.store(ch.at(mine, i, &pair_of::number), id * 3U + i);
        wf.store(ch.at(mine, i, &pair_of::copy), ~(id * 3U + i));
      }
    };
    task<> sent = ch.send(wf, count, fill);
    co_await std::move(sent);
  }
};

struct ask_for_two {
  template<any_wavefront W>
  void operator()(W& wf, channel<pair_of>& ch) const {
    static_cast<void>(ch.try_talloc(wf, typename W::template lanes<std::uint32_t>(2)));
  }
};
/// Two work-items ask, the second one for 2^32 - 1; the rest for none.
struct ask_beyond_32_bits {
  template<any_wavefront W>
  task<> operator()(W& wf, channel<pair_of>& ch, std::uint32_t first, bool sends) const {
    typename W::template lanes<std::uint32_t> count(0);
    count.set(0, first);
    count.set(1, ~0U);
    if (sends) {
      task<> sent = ch.send(wf, count, [](auto const&) {});
      co_await std::move(sent);
    } else {
      static_cast<void>(ch.try_talloc(wf, count));
    }
  }
};
struct send_to_another {
  template<any_wavefront W>
  task<> operator()(W& wf, channel<pair_of>& from, channel<pair_of>& to) const {
    auto const mine = from.try_talloc(wf, typename W::template lanes<std::uint32_t>(1));
    task<> sent = to.enq(wf, mine);
    co_await std::move(sent);
  }
};

struct take_too_many {
  template<any_wavefront W>
  void operator()(W& wf, channel<pair_of>& ch, std::uint64_t first) const {
    auto const lane = convert<std::uint32_t>(wf.local_id().to_lanes());
    static_cast<void>(ch.deq(wf, lane + static_cast<std::uint32_t>(first)));
  }
};
struct free_again {
  template<any_wavefront W>
  void operator()(W& wf, channel<pair_of>& ch, std::uint64_t first) const {
    auto const position =
        ch.deq(wf, typename W::template lanes<std::uint32_t>(static_cast<std::uint32_t>(first)));
    ch.tfree(wf, position);
    ch.tfree(wf, position);
  }
};

/// Counts the elements that it consumes, by number.
struct receive {
  void operator()(any_wavefront auto& wf, channel<pair_of>& ch, std::uint64_t first,
                  std::uint32_t count, global<std::uint32_t> seen,
                  global<std::uint32_t> wrong) const {
    auto const id = convert<std::uint32_t>(wf.global_id().to_lanes());
    auto const some = wf.where(id < count);
    auto const position = ch.deq(wf, id + static_cast<std::uint32_t>(first));
    auto const number = wf.load(ch.field(position, &pair_of::number));
    auto const copy = wf.load(ch.field(position, &pair_of::copy));
    wf.add(seen + convert<std::int32_t>(number), 1, order::relaxed, scope::agent);
    if (auto const bad = wf.where(copy != ~number))
      wf.fetch_add(wrong, static_cast<std::uint32_t>(wf.active().count()), order::relaxed,
                   scope::agent);
    ch.tfree(wf, position);
  }
};

/// Producers run beside an aggregator, which dispatches what is ready until all has come.
void pass_all(executor& s, channel_options o, std::uint32_t senders) {
  wide_agent gpu(s, shape);
  channel<pair_of> ch(gpu.core().known(), o);
  auto seen = gpu.allocate<std::uint32_t>(senders * 3 + 1);
  auto wrong = gpu.allocate<std::uint32_t>(64);
  std::uint32_t total = 0;
  for (std::uint32_t i = 0; i < senders; ++i)
    total += i % 3 + 1;
  auto producing =
      gpu.launch({.work_items = senders, .work_items_per_group = 128}, send{}, std::ref(ch));
  basic_core<native_memory> const aggregator({});
  std::uint32_t taken = 0;
  while (taken < total) {
    REQUIRE(s.run_until([&] { return ch.ready(aggregator) != 0; }));
    std::uint32_t const count = ch.ready(aggregator);
    std::uint64_t const first = ch.take(count);
    REQUIRE(gpu.run({.work_items = count, .work_items_per_group = 64}, receive{}, std::ref(ch),
                    first, count, seen.global(), wrong.global()));
    static_cast<void>(ch.reclaim(aggregator));
    taken += count;
  }
  REQUIRE(producing.wait());
  CHECK(taken == total);
  CHECK(wrong.host()[0] == 0);
  for (std::uint32_t i = 0; i < senders; ++i)
    for (std::uint32_t k = 0; k < 3; ++k)
      REQUIRE(seen.host()[i * 3 + k] == (k < i % 3 + 1 ? 1 : 0));
  if (s.decides()) {
    CHECK(ch.counts().allocated == total);
    CHECK(ch.counts().most <= o.width);
  }
}

} // namespace

TEST_SUITE("emu.channel") {
  TEST_CASE("every element comes once and whole, whoever reserves, padded or not, wide or narrow") {
    with_schedulers([](executor& s) {
      for (auto const how :
           {channel_reservation::per_wavefront, channel_reservation::per_work_item})
        for (bool const padded : {false, true})
          for (std::uint32_t const width : {256U, 4096U}) {
            CAPTURE(width);
            pass_all(s,
                     {.width = width,
                      .elements_per_done_count = width == 256 ? 1U : 64U,
                      .reservation = how,
                      .is_padded = padded},
                     1000);
          }
    });
  }

  TEST_CASE("a wavefront reserves once for all its work-items: 64 times fewer exchanges") {
    auto const exchanges = [](channel_reservation how) {
      sequential_scheduler s;
      wide_agent gpu(s, shape);
      channel<pair_of> ch(gpu.core().known(), {.width = 4096, .reservation = how});
      REQUIRE(gpu.run({.work_items = 640, .work_items_per_group = 64}, send{}, std::ref(ch)));
      CHECK(ch.counts().allocated == 1279); // 213 times 1 + 2 + 3, and 1
      CHECK(ch.counts().most == 1279);
      CHECK(ch.counts().reservations == (how == channel_reservation::per_wavefront ? 10 : 640));
      return ch.counts().exchanges;
    };
    auto const once = exchanges(channel_reservation::per_wavefront);
    CHECK(exchanges(channel_reservation::per_work_item) >= 64 * once);
  }

  TEST_CASE("a full channel refuses, and has room again once its oldest elements are freed") {
    allocations known;
    channel<pair_of> ch(known, {.width = 4, .elements_per_done_count = 2});
    basic_core<native_memory> self({});
    native_scheduler s({.threads = 1, .stall_timeout = patience});
    auto const put = [&](std::uint32_t count) {
      auto const e = ch.try_talloc(self, count);
      if (e) {
        traffic jobs(s);
        jobs.start(ch.enq(self, *e), "producer");
        jobs.wait();
      }
      return e.has_value();
    };
    CHECK(put(3));
    CHECK(!put(2));
    CHECK(put(1));
    CHECK(!put(1));
    REQUIRE(ch.ready(self) == 4);
    std::uint64_t const first = ch.take(4);
    CHECK(ch.ready(self) == 0);
    ch.tfree(self, first + 1); // out of order: 0 holds everything up
    ch.tfree(self, first + 2);
    ch.tfree(self, first + 3);
    CHECK(ch.reclaim(self) == 0);
    CHECK(!put(1));
    ch.tfree(self, first);
    CHECK(ch.reclaim(self) == 4);
    CHECK(put(3));
  }

  TEST_CASE("a producer that is evicted does not wait for room any more") {
    for (bool const throws : {false, true}) { // or nobody can go on
      with_impatient_schedulers([throws](executor& s) {
        wide_agent gpu(s, shape);
        auto word = gpu.allocate<std::uint32_t>(1);
        channel<pair_of> ch(gpu.core().known(), {.width = 32, .elements_per_done_count = 1});
        CHECK(!gpu.run({.work_groups = 2, .work_items_per_group = 64}, waits_for_nobody{},
                       std::ref(ch), word.global(), throws));
        CHECK(ch.usage().in_use == 32);
        CHECK(ch.usage().waiting == 0);
      });
    }
  }

  TEST_CASE("more at once than the channel is wide, and another channel's elements, are faults") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    channel<pair_of> narrow(gpu.core().known(),
                            {.width = 64, .elements_per_done_count = 16, .name = "narrow"});
    outcome const wide =
        gpu.run({.work_items = 64, .work_items_per_group = 64}, ask_for_two{}, std::ref(narrow));
    REQUIRE(!wide);
    CHECK(wide.get_fault()->what == fault::kind::wrong_shape);
    CHECK(wide.get_fault()->report.find(
              "narrow: talloc of 128 elements at once; at most 49 are ever free (of 64, freed "
              "by 16: channel_options::elements_per_done_count)") != std::string::npos);
    channel<pair_of> other(gpu.core().known(), {.width = 64, .name = "other"});
    outcome const strange = gpu.run({.work_items = 1, .work_items_per_group = 64},
                                    send_to_another{}, std::ref(narrow), std::ref(other));
    REQUIRE(!strange);
    CHECK(strange.get_fault()->what == fault::kind::misuse);
    CHECK(strange.get_fault()->report.find("other: enq of element 0, which") != std::string::npos);
  }

  TEST_CASE("counts whose sum has more than 32 bits are a fault, whatever the lower ones say") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    for (auto const how : {channel_reservation::per_wavefront, channel_reservation::per_work_item})
      for (std::uint32_t const first : {1U, 6U}) // what 32 bits have of the sum: 0, 5
        for (bool const sends : {false, true}) {
          CAPTURE(first);
          CAPTURE(sends);
          channel<pair_of> ch(
              gpu.core().known(),
              {.width = 64, .elements_per_done_count = 16, .reservation = how, .name = "narrow"});
          outcome const o = gpu.run({.work_items = 64, .work_items_per_group = 64},
                                    ask_beyond_32_bits{}, std::ref(ch), first, sends);
          REQUIRE(!o);
          CHECK(o.get_fault()->what == fault::kind::wrong_shape);
          std::uint64_t const all = how == channel_reservation::per_wavefront && !sends
                                        ? (std::uint64_t{1} << 32) + first - 1
                                        : ~0U;
          CHECK(o.get_fault()->report.find("narrow: talloc of " + std::to_string(all) +
                                           " elements at once; at most 49") != std::string::npos);
        }
  }

  TEST_CASE("a deq of what was not dispatched, and a second tfree, are faults of a wavefront") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    channel<pair_of> ch(gpu.core().known(),
                        {.width = 4, .elements_per_done_count = 1, .name = "short"});
    basic_core<native_memory> host({});
    auto const mine = ch.try_talloc(host, 2);
    REQUIRE(mine);
    ch.enq_alone(host, *mine);
    std::uint64_t const first = ch.take(2);
    outcome const many = gpu.run({.work_items = 3, .work_items_per_group = 64}, take_too_many{},
                                 std::ref(ch), first);
    REQUIRE(!many);
    CHECK(many.get_fault()->what == fault::kind::misuse);
    CHECK(many.get_fault()->report.find(
              "short: deq of the element at offset 2, which has not been dispatched") !=
          std::string::npos);
    CHECK(many.get_fault()->report.find("wavefront 0 of group 0") != std::string::npos);
    outcome const twice = gpu.run({.work_items = 1, .work_items_per_group = 64}, free_again{},
                                  std::ref(ch), first + 1);
    REQUIRE(!twice);
    CHECK(twice.get_fault()->what == fault::kind::misuse);
    CHECK(twice.get_fault()->report.find("short: tfree of element 1: the elements of its done "
                                         "count have been freed already") != std::string::npos);
  }

  TEST_CASE("impossible shapes are refused by name") {
    allocations known;
    auto const make = [&](std::uint32_t width, std::uint32_t share) {
      channel<pair_of> const ch(known, {.width = width, .elements_per_done_count = share});
    };
    CHECK_THROWS_WITH(make(3, 1),
                      "channel: a width of 3; allowed are powers of two up to 2147483648");
    CHECK_THROWS_AS(make(0, 1), std::invalid_argument);
    CHECK_THROWS_WITH(make(64, 128),
                      "channel: 128 elements a done count; allowed are divisors of the width, 64");
    CHECK_THROWS_AS((basic_channel<pair_of, 3>(known, {.width = 4, .elements_per_done_count = 1})),
                    std::invalid_argument);
  }
}
