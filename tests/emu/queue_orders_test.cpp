// SPDX-License-Identifier: Apache-2.0
// Tables of orders and scopes: each operation of a queue asks for its own entries, and every entry
// is asked for. What an actor was asked is noted on its way to the memory.
#include "lone_actor.hpp"
#include "noted_accesses.hpp"
#include "queue_traffic.hpp"

#include <quarry/emu/mpmc_queue.hpp>
#include <quarry/emu/work_group_queue.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <source_location>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Every operation of a queue, in a life of one element: what its actors were asked.
notes life(spsc_orders const& orders) {
  allocations known;
  notes all;
  noting_core const self(all, memory_context{});
  spsc_queue<int, 2> q(known, 3, orders);
  static_cast<void>(run_alone(q.reserve(self)));
  q.publish(self);
  static_cast<void>(run_alone(q.peek(self)));
  q.release(self);
  CHECK(q.try_reserve(self));
  CHECK_FALSE(q.try_peek(self));
  return all;
}

notes life(slot_orders const& orders) {
  allocations known;
  notes all;
  noting_core const self(all, memory_context{});
  mpmc_queue<int, 2> q(known, 2, orders);
  slot_claim const reserved = run_alone(q.reserve(self));
  q.publish(self, reserved);
  slot_claim const peeked = run_alone(q.peek(self));
  q.release(self, peeked);
  q.publish(self, run_alone(q.reserve(self)));
  CHECK(q.is_ready(self, q.claim(self)));
  return all;
}

/// The parts of a table that some operation asks for.
template<class Table>
std::set<std::string> reached() {
  std::set<std::string> entries;
  for (noted const& n : life(all_different<Table>()))
    entries.insert(entry_of<Table>(n.by));
  return entries;
}

template<class Table>
void every_entry_is_reached() {
  std::set<std::string> all;
  for (auto const& e : Table::entries)
    CHECK(all.insert(e.name).second); // no name twice
  CHECK(reached<Table>() == all);
}

/// With each entry weakened in turn: its operations ask for less, and no others.
template<class Table>
void weakening_shows() {
  constexpr emu::access weakest{order::relaxed, scope::work_item};
  notes const strong = life(Table{});
  lines const names = named<Table>(life(all_different<Table>()));
  REQUIRE(strong.size() == names.size());
  for (auto const& e : Table::entries) {
    CAPTURE(e.name);
    Table weak;
    weak.*e.entry = weakest;
    notes const now = life(weak);
    REQUIRE(now.size() == strong.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      bool const is_its = names[i] == now[i].operation + " " + e.name;
      CHECK(now[i].by == (is_its ? weakest : strong[i].by));
      if (is_its)
        CHECK(strong[i].by == Table{}.*e.entry);
    }
  }
}

using package_queue = work_group_queue<std::uint32_t, 1, 2>;

/// One wavefront pushes a package: what it was asked.
struct push_noted {
  task<> operator()(any_wavefront auto& wf, package_queue& q, notes& all) const {
    noting<std::remove_reference_t<decltype(wf)>> self(all, wf.slot());
    lanes<std::uint32_t, std::remove_reference_t<decltype(wf)>::size> const message[1] = {1U};
    task<> push = q.push(self, 7, message);
    co_await std::move(push);
  }
};

} // namespace

TEST_SUITE("emu.queue_orders") {
  TEST_CASE("a table lists every entry under a name of its own, and every entry is reached") {
    static_assert(lists_every_entry<spsc_orders>());
    static_assert(lists_every_entry<slot_orders>());
    every_entry_is_reached<spsc_orders>();
    every_entry_is_reached<slot_orders>();
  }

  TEST_CASE("weakening one entry weakens its operations and no others") {
    weakening_shows<spsc_orders>();
    weakening_shows<slot_orders>();
  }

  TEST_CASE("the operations of the spsc queue ask for these entries, in this order") {
    CHECK(named<spsc_orders>(life(all_different<spsc_orders>())) ==
          lines{"load producer_own_write_index", "wait_until producer_reads_read_index",
                "store publish_write_index", "load consumer_own_read_index",
                "wait_until consumer_reads_write_index", "store release_read_index",
                "load producer_own_write_index", "load producer_reads_read_index",
                "load consumer_own_read_index", "load consumer_reads_write_index"});
  }

  TEST_CASE("the operations of the mpmc queue ask for these entries, in this order") {
    CHECK(named<slot_orders>(life(all_different<slot_orders>())) ==
          lines{"fetch_add write_index",
                "fetch_add write_ticket",
                "wait_until producer_awaits_turn",
                "wait_until producer_awaits_empty",
                "store set_full", // publish
                "fetch_add read_index",
                "fetch_add read_ticket", // peek
                "wait_until consumer_awaits_turn",
                "wait_until consumer_awaits_full",
                "store clear_full",
                "fetch_add count_served", // release
                "fetch_add write_index",
                "fetch_add write_ticket", // reserve
                "wait_until producer_awaits_turn",
                "wait_until producer_awaits_empty",
                "store set_full",
                "fetch_add read_index",
                "fetch_add read_ticket", // claim
                "load consumer_awaits_turn",
                "load consumer_awaits_full"}); // is_ready
  }

  TEST_CASE("a work-group's push and its consumer ask for the same entries, once a package") {
    with_native_agents({}, [](agent& gpu) {
      notes pushed, taken;
      package_queue q(gpu.core().known(), 2, 128, all_different<slot_orders>());
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 64}, push_noted{}, std::ref(q),
                      std::ref(pushed)));
      CHECK(named<slot_orders>(pushed) == lines{"fetch_add write_index", "fetch_add write_ticket",
                                                "wait_until producer_awaits_turn",
                                                "wait_until producer_awaits_empty",
                                                "store set_full"});
      noting_core const self(taken, memory_context{});
      slot_claim const c = q.claim(self);
      run_alone(q.ready(self, c));
      CHECK(q.view(self, c).header.count == 64);
      CHECK(q.is_ready(self, c));
      q.release(self, c);
      CHECK(named<slot_orders>(taken) ==
            lines{"fetch_add read_index", "fetch_add read_ticket",
                  "wait_until consumer_awaits_turn", "wait_until consumer_awaits_full",
                  "load consumer_awaits_turn", "load consumer_awaits_full", "store clear_full",
                  "fetch_add count_served"});
    });
  }

  TEST_CASE("what hands an element over is a release that an acquire of the other side meets") {
    spsc_orders const spsc;
    slot_orders const slot;
    emu::access const releases[] = {spsc.publish_write_index, spsc.release_read_index,
                                    slot.set_full, slot.clear_full, slot.count_served};
    emu::access const acquires[] = {spsc.producer_reads_read_index, spsc.consumer_reads_write_index,
                                    slot.producer_awaits_turn,      slot.producer_awaits_empty,
                                    slot.consumer_awaits_turn,      slot.consumer_awaits_full};
    for (emu::access const a : releases)
      CHECK(a == emu::access{order::release, scope::system});
    for (emu::access const a : acquires)
      CHECK(a == emu::access{order::acquire, scope::system});
  }
}
