// SPDX-License-Identifier: Apache-2.0
// The table of rings and contexts: each operation asks for its own entries. Those of a job that
// fails are asked for by the service (tell_failure) and by waits (see_failure, comp_net_heap_wait).
#include "../emu/noted_accesses.hpp"
#include "lone_actor.hpp"

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/comp_net/ring_orders.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net::comp_net;
using namespace quarry_test;

namespace {

/// A ring of one entry, its work-group and its service.
class ring_life {
public:
  explicit ring_life(ring_orders const& orders) : rings_(known_, 1, 1, orders) {}

  void post() { index_ = rings_.post(self_, 0, writer_, {}); }
  void await_room() { run_alone(rings_.wait_for_room(self_, 0, writer_)); }
  void await_status() { run_alone(await(rings_)); }
  void await_all() { CHECK(run_alone(rings_.all_completed(self_, 0, writer_))); }
  void look() { CHECK(rings_.is_posted(self_, 0, reader_)); }
  void await_command() { run_alone(next(rings_)); }
  void complete() {
    static_cast<void>(rings_.take(self_, 0, reader_));
    rings_.complete(self_, 0, reader_);
  }
  void give_up() { rings_.give_up(self_, 0, reader_); }

  /// What was asked since the last call.
  [[nodiscard]] lines asked() { return named<ring_orders>(std::exchange(notes_, {})); }

private:
  task<> await(rings& r) { static_cast<void>(co_await r.completed(self_, 0, index_)); }
  task<> next(rings& r) { static_cast<void>(co_await r.next_posted(self_, 0, reader_)); }

  allocations known_;
  notes notes_;
  noting_core self_{notes_, memory_context{}};
  rings rings_;
  ring_writer writer_;
  ring_reader reader_;
  std::uint32_t index_ = 0;
};

/// What taking a ring and giving it back asks for.
lines context_life() {
  allocations known;
  notes all;
  noting_core const self(all, memory_context{});
  buffer<ring_state> states(known, 1, "states");
  auto const orders = all_different<ring_orders>();
  auto const left = try_take_ring(self, states.global(), 0, orders);
  REQUIRE(left);
  CHECK_FALSE(try_take_ring(self, states.global(), 0, orders));
  give_ring_back(self, states.global(), 0, *left, orders);
  return named<ring_orders>(all);
}

} // namespace

TEST_SUITE("net.comp_net_ring_orders") {
  TEST_CASE("the table lists every entry under a name of its own") {
    static_assert(lists_every_entry<ring_orders>());
    std::set<std::string> all;
    for (auto const& e : ring_orders::entries)
      CHECK(all.insert(e.name).second);
  }

  TEST_CASE("each operation of a ring asks for these entries, in this order") {
    ring_life one(all_different<ring_orders>());
    one.post();
    CHECK(one.asked() == lines{"store post_status"});
    one.look();
    one.await_command();
    CHECK(one.asked() == lines{"load poll_status", "wait_until poll_status"});
    one.complete();
    CHECK(one.asked() == lines{"store complete_status", "store advance_read_index"});
    one.await_status();
    CHECK(one.asked() == lines{"wait_until await_status"});
    one.await_room();
    CHECK(one.asked() == lines{"wait_until refresh_read_index"});
    one.post();
    one.complete();
    static_cast<void>(one.asked());
    one.await_all();
    CHECK(one.asked() == lines{"wait_until await_status"});
    one.give_up();
    CHECK(one.asked() == lines{"store complete_status", "store advance_read_index"});
  }

  TEST_CASE("a context takes its ring by one entry, has it or not, and gives it back by another") {
    CHECK(context_life() ==
          lines{"exchange open_context", "exchange open_context", "store close_context"});
  }

  TEST_CASE("what hands an entry or a ring over is a release that an acquire of the other meets") {
    ring_orders const o;
    for (emu::access const a :
         {o.post_status, o.complete_status, o.advance_read_index, o.close_context})
      CHECK(a == emu::access{order::release, scope::system});
    for (emu::access const a :
         {o.refresh_read_index, o.await_status, o.poll_status, o.open_context})
      CHECK(a == emu::access{order::acquire, scope::system});
    for (emu::access const a : {o.tell_failure, o.see_failure}) // nothing was written before
      CHECK(a == emu::access{order::relaxed, scope::system});
  }

  TEST_CASE("at a scope all entries reach so far, and no order changes") {
    for (scope const s : {scope::work_group, scope::agent, scope::system}) {
      ring_orders const o = ring_orders::at(s);
      for (auto const& e : ring_orders::entries) {
        CAPTURE(e.name);
        CHECK((o.*e.entry).far == s);
        CHECK((o.*e.entry).how == (ring_orders{}.*e.entry).how);
      }
    }
  }
}
