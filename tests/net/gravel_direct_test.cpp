// SPDX-License-Identifier: Apache-2.0
// Per-node buffers that wavefronts fill themselves, and an aggregator that the test plays. Whole
// jobs of the style are in the suites gravel_style and gravel_quiet.
#include "../emu/noted_accesses.hpp"
#include "../emu/queue_traffic.hpp"
#include "agents.hpp"
#include "direct_nodes.hpp"
#include "lone_actor.hpp"
#include "test_agents.hpp"

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net/gravel_direct.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry::net::gravel;
using namespace quarry_test;
using namespace gravel_test;

namespace {

template<class W>
using lanes_of = lanes<std::uint64_t, std::remove_reference_t<W>::size>;

/// Work-item i sends to node i % nodes: word i, value ~i. Those below `first` do not.
struct send_some {
  task<> operator()(any_wavefront auto& wf, direct_buffers& to, std::uint32_t tag,
                    std::uint32_t nodes, std::uint32_t first) const {
    auto const i = convert<std::uint64_t>(wf.global_id().to_lanes());
    lanes_of<decltype(wf)> const all(nodes);
    auto const node = i - i / all * all;
    auto const row = (node << remote_word::pe_shift) + i;
    auto const those = wf.where(i >= std::uint64_t{first});
    task<> sent = to.send(wf, tag, row, ~i, wf.active(), std::source_location::current());
    co_await std::move(sent);
  }
};

/// Checked for fewer lanes than those that send.
struct send_unchecked {
  task<> operator()(any_wavefront auto& wf, direct_buffers& to) const {
    lanes_of<decltype(wf)> const none(0);
    lane_mask const checked = wf.active().without(lane_mask::first_n(1));
    task<> sent = to.send(wf, package_tag::encode(command::increment), none, none, checked,
                          std::source_location::current());
    co_await std::move(sent);
  }
};

/// What send_some() sends.
std::vector<message> expected(std::uint32_t items, std::uint32_t nodes, std::uint32_t first,
                              command what) {
  std::vector<message> all;
  for (std::uint64_t i = first; i < items; ++i)
    all.push_back({static_cast<std::uint32_t>(i % nodes), static_cast<std::uint32_t>(i),
                   what == command::increment ? 0 : ~i});
  std::sort(all.begin(), all.end());
  return all;
}

/// Sends with so many work-items beside an aggregator.
struct sending {
  std::uint32_t items;
  std::uint32_t nodes;
  std::size_t words;
  command what;
  std::uint32_t first = 0;
};

void check_sending(unchecked_agent& gpu, sending const& s) {
  nodes_buffers b(gpu.core().known(), s.nodes, s.words);
  traffic jobs(gpu.core().scheduler());
  auto const play = [&]() -> task<> {
    actor& me = co_await this_actor();
    core self(context_of(me, gpu.core().known()));
    task<> all = b.aggregate(self, s.items - s.first);
    co_await std::move(all);
  };
  jobs.start(play(), "aggregator");
  std::uint32_t const tag = package_tag::encode(s.what, 5);
  succeed(gpu.run({.work_items = s.items, .work_items_per_group = 128}, send_some{},
                  std::ref(b.direct), tag, s.nodes, s.first));
  jobs.wait();
  CHECK(b.are_whole);
  CHECK(sorted(b.runs) == expected(s.items, s.nodes, s.first, s.what));
  for (run const& r : b.runs)
    CHECK(r.tag == tag);
}

void with_unchecked_agents(auto const& test) {
  for (std::uint32_t const size : {32U, 64U}) {
    CAPTURE(size);
    with_schedulers(
        [&](executor& s) {
          unchecked_agent gpu(s, {.compute_units = 2, .wavefront_size = size});
          test(gpu);
        },
        2, 3);
  }
}

/// One wavefront of 64 sends into open buffers; nobody replaces any.
std::vector<run> sent_at_once(sending const& s, std::uint64_t* reservations = nullptr) {
  sequential_scheduler scheduler;
  wide_agent gpu(scheduler, {.compute_units = 1, .wavefront_size = 64});
  nodes_buffers b(gpu.core().known(), s.nodes, s.words);
  core self({});
  b.open_all(self);
  succeed(gpu.run({.work_items = s.items, .work_items_per_group = 64}, send_some{},
                  std::ref(b.direct), package_tag::encode(s.what), s.nodes, s.first));
  for (std::uint32_t n = 0; n < s.nodes; ++n)
    run_alone(b.replace(self, n));
  CHECK(b.are_whole);
  if (reservations != nullptr)
    *reservations = b.direct.reservations();
  return b.runs;
}

// Orders

/// What a wavefront is asked that sends.
struct send_noted {
  task<> operator()(any_wavefront auto& wf, direct_buffers& to, notes& all) const {
    noting<std::remove_reference_t<decltype(wf)>> self(all, wf.slot());
    lanes_of<decltype(wf)> const zero(0);
    task<> sent = to.send(self, package_tag::encode(command::increment), zero, zero, self.active(),
                          std::source_location::current());
    co_await std::move(sent);
  }
};

/// Two wavefronts send to one node, in buffers with room for half of it.
void send_and_aggregate(world& w, direct_orders const& orders) {
  explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
  nodes_buffers b(w.known(), 1, 5, orders);
  constexpr std::uint32_t items = 34; // the second wavefront has two
  w.start_task("aggregator", [&](world_core& self) { return b.aggregate(self, 4); });
  static_cast<void>(gpu.run({.work_items = items, .work_items_per_group = 32}, send_some{},
                            std::ref(b.direct), package_tag::encode(command::increment), 1U,
                            items - 4));
  w.join();
  w.check(b.are_whole && sorted(b.runs) == expected(items, 1, items - 4, command::increment),
          "a message is lost, or another one");
}

verdict explored(direct_orders const& orders) {
  return explore({.executions = 500, .shrinks = false, .diagnoses = false},
                 [&orders](world& w) { send_and_aggregate(w, orders); });
}

} // namespace

TEST_SUITE("net.gravel_direct") {
  TEST_CASE("a tail is one word, up to the limits of each of its parts") {
    std::set<std::uint64_t> all;
    for (std::uint32_t const words : {0U, 1U, (1U << 19) - 1})
      for (std::uint32_t const messages : {0U, 1U, (1U << 19) - 1})
        for (std::uint32_t const buffer : {0U, 1U, (1U << 25) - 1})
          for (bool const is_sealed : {false, true}) {
            tail const t{words, messages, buffer, is_sealed};
            CHECK(all.insert(t.word()).second);
            tail const back = tail::of(t.word());
            CHECK(back.words == words);
            CHECK(back.messages == messages);
            CHECK(back.buffer == buffer);
            CHECK(back.is_sealed == is_sealed);
            CHECK(back.is_empty() == (messages == 0));
            CHECK(tail::of(t.word() | tail::sealed).is_sealed);
          }
  }

  TEST_CASE("every node begins sealed and empty, and is open with its frame's kind alone") {
    allocations known;
    core self({});
    nodes_buffers b(known, 3, 16);
    CHECK(b.direct.node_count() == 3);
    for (std::uint32_t n = 0; n < 3; ++n) {
      CHECK(b.direct.look(self, n).is_sealed);
      CHECK(b.direct.look(self, n).is_empty());
    }
    b.direct.open(self, 1, 2, frame_kind);
    tail const t = b.direct.look(self, 1);
    CHECK_FALSE(t.is_sealed);
    CHECK(t.is_empty());
    CHECK(t.words == 1);
    CHECK(t.buffer == 2);
    CHECK(b.direct.look(self, 0).is_sealed);
    run_alone(b.replace(self, 1)); // a frame of nothing
    CHECK(b.are_whole);
    CHECK(b.runs.empty());
  }

  TEST_CASE(
      "a wavefront reserves once for each node, and its work-items lie there in their order") {
    std::uint64_t reservations = 0;
    auto const runs = sent_at_once({64, 3, 256, command::add}, &reservations);
    CHECK(reservations == 3);
    REQUIRE(runs.size() == 3);
    for (run const& r : runs) {
      CHECK(r.tag == package_tag::encode(command::add));
      CHECK(std::is_sorted(r.messages.begin(), r.messages.end()));
    }
    CHECK(sorted(runs) == expected(64, 3, 0, command::add));
  }
  TEST_CASE("an increment is a word, anything else three; those who are not active send nothing") {
    for (command const what : {command::increment, command::add, command::put}) {
      CAPTURE(to_string(what));
      std::uint32_t const each = what == command::increment ? 1 : 3;
      // A kind, a run's header, and ten messages: exactly.
      auto const runs = sent_at_once({64, 1, 3 + 10 * each, what, 54});
      REQUIRE(runs.size() == 1);
      CHECK(sorted(runs) == expected(64, 1, 54, what));
    }
    CHECK(sent_at_once({64, 2, 64, command::increment, 64}).empty());
  }
  TEST_CASE("several wavefronts' runs follow each other in one frame") {
    auto const runs = sent_at_once({256, 1, 1024, command::put});
    CHECK(runs.size() == 4);
    CHECK(sorted(runs) == expected(256, 1, 0, command::put));
  }

  TEST_CASE("messages come once each, through buffers that are replaced, however small they are") {
    with_unchecked_agents([](unchecked_agent& gpu) {
      for (sending const& s :
           {sending{300, 4, 1024, command::increment}, sending{300, 3, 16, command::increment, 7},
            sending{300, 2, 16, command::active_message},
            sending{200, 1, 6, command::add}, // one message a frame
            sending{200, 2, 4, command::increment}}) {
        CAPTURE(s.words);
        CAPTURE(s.nodes);
        check_sending(gpu, s);
      }
    });
  }

  TEST_CASE("what was reserved before a buffer is sealed is all that there will be in it") {
    allocations known;
    core self({});
    nodes_buffers b(known, 1, 16);
    b.open_all(self);
    CHECK_FALSE(b.direct.seal(self, 0).is_sealed); // what it was
    CHECK(b.direct.look(self, 0).is_sealed);
    CHECK(b.direct.seal(self, 0).is_sealed); // again: nothing else
    CHECK(b.direct.look(self, 0).words == 1);
  }

  TEST_CASE("a lane that was not checked stops its work-group") {
    with_unchecked_agents([](unchecked_agent& gpu) {
      nodes_buffers b(gpu.core().known(), 1, 64);
      core self({});
      b.open_all(self);
      auto const report = fail_with(gpu.run({.work_items = 8, .work_items_per_group = 8},
                                            send_unchecked{}, std::ref(b.direct)),
                                    fault::kind::wrong_shape);
      CHECK_SAYS(report, "a message of work-items that were not active where it was made");
      CHECK_SAYS(report, "gravel_direct_test.cpp:");
      CHECK(b.direct.look(self, 0).is_empty());
    });
  }

  TEST_CASE("the table lists every entry under a name of its own, and every entry is reached") {
    static_assert(lists_every_entry<direct_orders>());
    std::set<std::string> all;
    for (auto const& e : direct_orders::entries)
      CHECK(all.insert(e.name).second);

    native_scheduler s({.threads = 1, .stall_timeout = patience});
    wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
    nodes_buffers b(gpu.core().known(), 1, 256, all_different<direct_orders>());
    notes sent, aggregated;
    noting_core const self(aggregated, memory_context{});
    b.open_all(self);
    CHECK(named<direct_orders>(std::exchange(aggregated, {})) == lines{"store open"});
    succeed(gpu.run({.work_items = 64, .work_items_per_group = 64}, send_noted{},
                    std::ref(b.direct), std::ref(sent)));
    CHECK(named<direct_orders>(sent) ==
          lines{"load reads_tail", "compare_exchange reserve", "fetch_add count_written"});
    static_cast<void>(b.direct.look(self, 0));
    run_alone(b.replace(self, 0));
    CHECK(named<direct_orders>(aggregated) == lines{"load aggregator_reads_tail", "fetch_or seal",
                                                    "wait_until reads_written", "store open"});
  }
  TEST_CASE("what hands messages or room over is a release that an acquire of the other meets") {
    direct_orders const o;
    for (emu::access const a : {o.count_written, o.open})
      CHECK(a == emu::access{order::release, scope::system});
    for (emu::access const a : {o.reserve, o.reads_written})
      CHECK(a == emu::access{order::acquire, scope::system});
    for (emu::access const a : {o.reads_tail, o.aggregator_reads_tail, o.seal})
      CHECK(a == emu::access{order::relaxed, scope::system});
  }

  TEST_CASE("explored: nothing is lost as it is, and each release and each acquire is needed") {
    verdict const v = explored({});
    CHECK_MESSAGE(v, v.to_string());
    for (auto const& e : direct_orders::entries) {
      if ((direct_orders{}.*e.entry).how == order::relaxed)
        continue;
      CAPTURE(e.name);
      direct_orders weak;
      (weak.*e.entry).how = order::relaxed;
      CHECK(explored(weak).failure);
    }
  }
}
