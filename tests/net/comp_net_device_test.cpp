// SPDX-License-Identifier: Apache-2.0
// What work-groups share, piece by piece; together with its service it is in the suites
// comp_net_context and comp_net_node.
#include "agents.hpp"
#include "test_agents.hpp"
#include "unserved_device.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry::net::comp_net;
using comp_net_test::unserved_device;
using quarry_test::contains;
using quarry_test::wide_agent;

namespace {

/// A part of a meeting place.
struct part {
  std::uintptr_t first;
  std::size_t bytes;
};

std::vector<part> parts_of(meeting_place const& all, std::uint32_t rings, std::uint32_t pes) {
  std::vector<part> parts;
  auto const add = [&](auto const* at, std::size_t bytes) {
    parts.push_back({reinterpret_cast<std::uintptr_t>(at), bytes});
  };
  for (std::uint32_t ring = 0; ring < rings; ++ring) {
    for (std::uint32_t round = 0; round < meeting_place::most_rounds; ++round)
      add(all.barrier_word(ring, round), sizeof(std::uint64_t));
    for (std::uint64_t bank = 0; bank < 2; ++bank)
      for (std::uint32_t from = 0; from < pes; ++from) {
        add(all.chunk(ring, bank, from), all.chunk_bytes());
        add(all.signal(ring, bank, from), sizeof(std::uint64_t));
      }
  }
  std::sort(parts.begin(), parts.end(), [](part a, part b) { return a.first < b.first; });
  return parts;
}

/// What a function stops with.
std::optional<kernel_stop> stopped(auto const& f) {
  try {
    f();
  } catch (kernel_stop const& stop) {
    return stop;
  }
  return std::nullopt;
}

void check_stop(std::optional<kernel_stop> const& stop, fault::kind kind, std::string const& says) {
  REQUIRE(stop);
  CHECK(to_string(stop->what) == to_string(kind));
  CHECK(stop->message == says);
}

std::source_location here(std::source_location where = std::source_location::current()) {
  return where;
}

std::vector<std::uint32_t> rings_of(std::vector<open_contexts::orphan> const& orphans) {
  std::vector<std::uint32_t> all;
  for (auto const& o : orphans)
    all.push_back(o.ring);
  return all;
}

} // namespace

TEST_SUITE("net.comp_net_device") {
  TEST_CASE("where rings meet: each word, chunk and signal for itself, within what there is") {
    for (std::uint32_t const pes : {1U, 2U, 5U})
      for (std::size_t const chunk : {64U, 256U}) {
        CAPTURE(pes);
        CAPTURE(chunk);
        constexpr std::uint32_t rings = 3;
        std::size_t const bytes = meeting_place::bytes(rings, pes, chunk);
        std::vector<std::byte> memory(bytes);
        auto const begin = reinterpret_cast<std::uintptr_t>(memory.data());
        auto const parts = parts_of(meeting_place(memory.data(), pes, chunk), rings, pes);
        CHECK(parts.front().first == begin);
        for (std::size_t i = 0; i + 1 < parts.size(); ++i)
          REQUIRE(parts[i].first + parts[i].bytes <= parts[i + 1].first);
        CHECK(parts.back().first + parts.back().bytes <= begin + bytes);
        for (part const& p : parts)
          CHECK((p.first - begin) % (p.bytes >= 64 ? 64 : 8) == 0);
      }
  }

  TEST_CASE("a record of a wait has an odd number while it lasts, another one each time") {
    wait_record r;
    auto const first = here(), second = here();
    r.begin("wait_until", std::nullopt, 3, first);
    auto const number = r.number.load();
    CHECK(number % 2 == 1);
    CHECK(r.from == wait_record::no_pe);
    CHECK(r.absent == 3);
    CHECK(r.line == first.line());
    r.end();
    CHECK(r.number % 2 == 0);
    CHECK(r.number > number);
    r.begin("reduce", pe{7}, 0, second);
    CHECK(r.number % 2 == 1);
    CHECK(std::string(r.what) == "reduce");
    CHECK(r.from == 7);
    CHECK(r.absent == 0);
    CHECK(r.line == second.line());
  }
  TEST_CASE("who has gone in mid-wait leaves an end; where nobody waits, nothing") {
    wait_record r;
    r.end_if_begun();
    CHECK(r.number == 0);
    r.begin("reduce", pe{1}, 0, here());
    auto const number = r.number.load();
    r.begin("reduce", pe{1}, 0, here()); // somebody else, after it
    CHECK(r.number % 2 == 1);
    CHECK(r.number > number);
    r.end_if_begun();
    auto const ended = r.number.load();
    CHECK(ended % 2 == 0);
    r.end_if_begun();
    CHECK(r.number == ended);
  }

  TEST_CASE(
      "open contexts are counted and known by their rings, and the service is woken for each") {
    int woken = 0;
    open_contexts contexts(5, [&] { ++woken; });
    launch_state launch;
    CHECK(contexts.count() == 0);
    CHECK(contexts.rings_in_use() == "");
    CHECK(contexts.try_open(3, launch));
    CHECK(contexts.try_open(0, launch));
    CHECK(woken == 2);
    CHECK(contexts.count() == 2);
    CHECK(contexts.rings_in_use() == "0, 3");
    contexts.closed(3);
    CHECK(contexts.count() == 1);
    CHECK(contexts.rings_in_use() == "0");
  }
  TEST_CASE("after the end none are opened; those that are stay until they are closed") {
    int woken = 0;
    open_contexts contexts(2, [&] { ++woken; });
    launch_state launch;
    REQUIRE(contexts.try_open(0, launch));
    CHECK_FALSE(contexts.is_over());
    contexts.end();
    CHECK(contexts.is_over());
    CHECK_FALSE(contexts.try_open(1, launch));
    CHECK(contexts.count() == 1);
    CHECK(contexts.rings_in_use() == "0");
    CHECK(woken == 1);
    contexts.closed(0);
    CHECK(contexts.count() == 0);
  }
  TEST_CASE("how often a ring's contexts have met stays when they are closed") {
    open_contexts contexts(2, [] {});
    launch_state launch;
    REQUIRE(contexts.try_open(1, launch));
    contexts.has_met(1, {.barriers = 4, .reductions = 9});
    contexts.closed(1);
    CHECK(contexts.met(1).barriers == 4);
    CHECK(contexts.met(1).reductions == 9);
    CHECK(contexts.met(0).barriers == 0);
    CHECK(contexts.met(0).reductions == 0);
  }

  TEST_CASE("what a launch leaves open, the service of those rings gets, once") {
    int woken = 0;
    open_contexts contexts(4, [&] { ++woken; });
    launch_state ends, goes_on;
    for (std::uint32_t const ring : {0U, 1U, 3U})
      REQUIRE(contexts.try_open(ring, ends));
    REQUIRE(contexts.try_open(2, goes_on));
    contexts.closed(1);
    woken = 0;
    CHECK_FALSE(contexts.has_orphans(0, 4));
    ends.tell_heirs();
    CHECK(woken == 1);
    CHECK(contexts.count() == 3); // until somebody has closed them
    CHECK_FALSE(ends.is_settled());
    CHECK(contexts.has_orphans(0, 1));
    CHECK_FALSE(contexts.has_orphans(1, 3));
    CHECK(contexts.take_orphans(1, 3).empty());
    auto const low = contexts.take_orphans(0, 2), high = contexts.take_orphans(2, 4);
    CHECK(rings_of(low) == std::vector<std::uint32_t>{0});
    CHECK(rings_of(high) == std::vector<std::uint32_t>{3});
    CHECK_FALSE(contexts.has_orphans(0, 4));
    low[0].left->fetch_sub(1);
    CHECK_FALSE(ends.is_settled());
    high[0].left->fetch_sub(1);
    CHECK(ends.is_settled());
  }
  TEST_CASE("a launch that has closed all its contexts leaves nothing, and wakes nobody") {
    int woken = 0;
    open_contexts contexts(2, [&] { ++woken; });
    launch_state launch;
    REQUIRE(contexts.try_open(1, launch));
    contexts.closed(1);
    woken = 0;
    launch.tell_heirs();
    CHECK(launch.is_settled());
    CHECK_FALSE(contexts.has_orphans(0, 2));
    CHECK(woken == 0);
    CHECK(contexts.count() == 0);
  }

  TEST_CASE("a ring is one context's, and the next one goes on where it has come to") {
    allocations known;
    basic_core<native_memory> const self({});
    buffer<ring_state> states(known, 2, "states");
    ring_orders const orders;
    auto const first = try_take_ring(self, states.global(), 1, orders);
    REQUIRE(first);
    CHECK(first->write == 0);
    CHECK(first->barriers == 0);
    CHECK(first->reductions == 0);
    CHECK_FALSE(try_take_ring(self, states.global(), 1, orders));
    CHECK(try_take_ring(self, states.global(), 0, orders)); // another one
    give_ring_back(self, states.global(), 1, {.write = 7, .barriers = 8, .reductions = 9}, orders);
    auto const second = try_take_ring(self, states.global(), 1, orders);
    REQUIRE(second);
    CHECK(second->write == 7);
    CHECK(second->barriers == 8);
    CHECK(second->reductions == 9);
    CHECK_FALSE(try_take_ring(self, states.global(), 1, orders));
  }

  TEST_CASE("a symmetric object has an offset, up to the heap's last byte") {
    native_scheduler s({.threads = 1});
    wide_agent gpu(s);
    unserved_device d(gpu.core());
    auto const base = d.net.offset_of(d.words.data(), 8, "put", here());
    CHECK(d.net.offset_of(&d.words[5], 8, "put", here()) == base + 40);
    CHECK(d.net.offset_of(&d.words[1], (unserved_device::heap_words - 1) * 8, "put", here()) ==
          base + 8);
    CHECK(d.net.self() == pe{0});
    CHECK(d.net.pe_count() == 1);
    auto const where = here();
    auto const beyond =
        stopped([&] { static_cast<void>(d.net.offset_of(&d.words[1], 4096, "get", where)); });
    check_stop(beyond, fault::kind::out_of_bounds,
               "get of 4096 bytes at offset " + std::to_string(base + 8) +
                   " of the symmetric heap goes beyond its end");
    CHECK(beyond->where.line() == where.line());
    std::uint64_t own = 0;
    check_stop(stopped([&] { static_cast<void>(d.net.offset_of(&own, 8, "wait_until", where)); }),
               fault::kind::out_of_bounds,
               "wait_until of 8 bytes outside the symmetric heap, in private memory");
  }
  TEST_CASE("a pe that is not in the job is refused, with how many there are") {
    native_scheduler s({.threads = 1});
    wide_agent gpu(s);
    unserved_device d(gpu.core());
    CHECK_NOTHROW(d.net.check_pe(pe{0}, "put", here()));
    check_stop(stopped([&] { d.net.check_pe(pe{1}, "put", here()); }), fault::kind::out_of_bounds,
               "put for pe 1; there are 1 pes");
  }

  TEST_CASE("who is stopped is told why the job has failed") {
    native_scheduler s({.threads = 1});
    wide_agent gpu(s);
    unserved_device d(gpu.core());
    check_stop(stopped([&] { d.net.stop("quiet", here()); }), fault::kind::exception,
               "quiet was given up: the job has failed");
    d.network.fail(make_error(net_errc::peer_lost, "pe 1 has left"));
    check_stop(stopped([&] { d.net.stop("quiet", here()); }), fault::kind::exception,
               "quiet was given up: pe 1 has left");
  }
  TEST_CASE("pes in different collectives fail the job: the program's own fault, said to all") {
    native_scheduler s({.threads = 1});
    wide_agent gpu(s);
    unserved_device d(gpu.core());
    std::string const why = "work-group 3 of pe 0 is in barrier_all, that of pe 2 in reduce";
    check_stop(stopped([&] { d.net.stop_differing({3, "barrier_all", pe{2}, "reduce"}, here()); }),
               fault::kind::wrong_shape, "barrier_all was given up: " + why);
    auto const failure = d.network.failure();
    REQUIRE(failure);
    CHECK(failure->code == net_errc::mismatched_collective);
    CHECK(failure->what == why);
    // Work-groups that wait for something else are told the same.
    check_stop(stopped([&] { d.net.stop("wait_until", here()); }), fault::kind::wrong_shape,
               "wait_until was given up: " + why);
  }
}
