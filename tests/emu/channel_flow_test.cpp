// SPDX-License-Identifier: Apache-2.0
// What work-items of one wavefront do differently: some send, some give back; and what a host sees
// of it in the end.
#include "agents.hpp"
#include "channel_numbers.hpp"
#include "test_agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <functional>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_size = 64};

/// Even ones, by a count that is 0 for the others.
struct send_even {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<number>& to) const {
    auto const value = src.load(&number::value);
    typename W::template lanes<std::uint32_t> count(0);
    wf.active().for_each([&](int lane) { count.set(lane, value[lane] % 2 == 0 ? 1 : 0); });
    auto const fill = [&](wave_elements<W::size> const& e) {
      wf.store(to.at(e, 0, &number::value), value);
    };
    task<> sent = to.send(wf, count, fill);
    co_await std::move(sent);
  }
};
/// Sends on what is below the limit, after it has given back that.
struct send_up_to {
  std::uint64_t limit;
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<number>& to) const {
    auto const value = src.load(&number::value);
    if (auto const some = wf.where(value < limit)) {
      src.tfree();
      auto const fill = [&](wave_elements<W::size> const& e) {
        wf.store(to.at(e, 0, &number::value), value + std::uint64_t{1});
      };
      task<> sent = to.send(wf, typename W::template lanes<std::uint32_t>(1), fill);
      co_await std::move(sent);
    }
  }
};
struct copy_out {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, global<std::uint64_t> out) const {
    wf.store(out, src.load(&number::value)[wf.active().first()]);
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.channel_flow") {
  TEST_CASE("a work-item that sends nothing writes nothing") {
    constexpr std::uint64_t count = 8'192;
    for (auto const how : {channel_reservation::per_wavefront, channel_reservation::per_work_item})
      with_schedulers([&](executor& s) {
        wide_agent gpu(s, shape);
        auto sum = gpu.allocate<std::uint64_t>(1, "sum");
        channel_graph g(gpu);
        auto& in = g.add_channel<number>({.width = count, .name = "in"});
        auto& out = g.add_channel<number>({.width = count, .reservation = how, .name = "out"});
        g.connect(in, send_even{}, std::ref(out));
        g.connect(out, add_up{}, sum.global());
        for (std::uint64_t i = 0; i < count; ++i)
          g.put(in, {i});
        g.execute();
        g.wait_for_done().or_throw();
        CHECK(g.totals().elements == count + count / 2);
        CHECK(sum.host()[0] == count / 2 * (count / 2 - 1));
      });
  }

  TEST_CASE("elements are given back by those that do so, and by the others at the end") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      channel_graph g(gpu);
      auto& c = g.add_channel<number>({.width = 64, .elements_per_done_count = 1, .name = "c"});
      g.connect(c, send_up_to{4}, std::ref(c));
      for (int round = 0; round < 20; ++round) {
        for (std::uint64_t i = 0; i < 8; ++i)
          g.put(c, {i});
        g.execute();
        REQUIRE(g.wait_for_done());
      }
    });
  }

  TEST_CASE("the host sees what a graph has done, and may let it run again") {
    verdict const v = explore({.executions = 200, .keeps_failures = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1,
                                         .wavefront_slots = 2,
                                         .wavefront_size = 32,
                                         .command_processor_cores = 1});
      auto out = gpu.allocate<std::uint64_t>(1, "out");
      channel_graph<explored_targets> g(gpu);
      auto& in = g.add_channel<number>({.width = 8,
                                        .elements_per_done_count = 1,
                                        .orders = channel_orders::at(scope::agent),
                                        .name = "in"});
      g.connect(in, copy_out{}, out.global());
      for (std::uint64_t i = 1; i < 3; ++i) {
        g.put(in, {i});
        g.execute();
        w.check(bool(g.wait_for_done()), "the graph has failed");
        w.check(w.host().load(out.global()) == i, "an old value");
      }
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }
}
