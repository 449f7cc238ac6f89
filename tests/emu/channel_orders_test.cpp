// SPDX-License-Identifier: Apache-2.0
// The table of a channel: each operation asks for its own entries, and every entry is asked for.
#include "lone_actor.hpp"
#include "noted_accesses.hpp"

#include <quarry/emu/channel.hpp>
#include <quarry/emu/channel_orders.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

struct number {
  unsigned value;
};

/// A life of a channel of two elements, with a producer that has to wait for room: what its actors
/// were asked.
class life {
public:
  explicit life(channel_orders const& orders)
      : channel_(known_, {.width = 2, .elements_per_done_count = 1, .orders = orders}) {
    auto allocated = channel_.talloc(self_, 2);
    allocated.start_on(first_);
    first_.resume();
    step("talloc");
    task<> sent = channel_.enq(self_, std::move(allocated).result());
    run_alone(std::move(sent));
    step("enq");
    auto more = channel_.talloc(self_, 1);
    more.start_on(second_);
    second_.resume();
    step("talloc that waits");
    CHECK(channel_.waiting(self_) == 1);
    CHECK(channel_.ready(self_) == 2);
    CHECK(channel_.room(self_) == 0);
    step("aggregator looks");
    std::uint64_t const off = channel_.take(2);
    static_cast<void>(channel_.deq(self_, off));
    step("deq");
    channel_.tfree(self_, off);
    step("tfree");
    CHECK(channel_.reclaim(self_) == 1);
    step("reclaim");
    CHECK(second_.poll(second_.poll_argument));
    second_.resume();
    CHECK(second_.state == actor_state::done);
    step("there is room");
  }

  struct steps {
    std::string of;
    notes asked;
  };
  [[nodiscard]] std::vector<steps> const& all() const { return all_; }
  [[nodiscard]] std::vector<std::string> asked(std::string const& of) const {
    for (steps const& s : all_)
      if (s.of == of)
        return named<channel_orders>(s.asked);
    return {"no such step"};
  }

private:
  void step(char const* of) { all_.push_back({of, std::exchange(notes_, {})}); }

  allocations known_;
  notes notes_;
  noting_core self_{notes_, memory_context{}};
  channel<number> channel_;
  lone_actor first_, second_;
  std::vector<steps> all_;
};

} // namespace

TEST_SUITE("emu.channel_orders") {
  TEST_CASE("the table lists every entry under a name of its own, and every entry is reached") {
    static_assert(lists_every_entry<channel_orders>());
    std::set<std::string> all, reached;
    for (auto const& e : channel_orders::entries)
      CHECK(all.insert(e.name).second);
    life const one(all_different<channel_orders>());
    for (auto const& step : one.all())
      for (noted const& n : step.asked)
        reached.insert(entry_of<channel_orders>(n.by));
    CHECK(reached == all);
  }

  TEST_CASE("each operation of a channel asks for these entries, in this order") {
    life const one(all_different<channel_orders>());
    CHECK(one.asked("talloc") ==
          lines{"load producer_reads_head", "load reads_tail", "compare_exchange reserve"});
    CHECK(one.asked("enq") == lines{"fetch_add reserve_control", "wait_until awaits_control_turn",
                                    "store publish_control_tail"});
    CHECK(one.asked("talloc that waits") == lines{"load producer_reads_head", "load reads_tail",
                                                  "fetch_add count_waiting", "load reads_tail",
                                                  "wait_until producer_reads_head"});
    CHECK(one.asked("aggregator looks") ==
          lines{"load count_waiting", "load aggregator_reads_tail", "load reads_tail"});
    CHECK(one.asked("deq") == lines{}); // what it reads was published before
    CHECK(one.asked("tfree") == lines{"fetch_add count_done"});
    CHECK(one.asked("reclaim") == lines{"load aggregator_reads_done", "store clear_done",
                                        "load aggregator_reads_done", "store publish_head"});
    CHECK(one.asked("there is room") == lines{"fetch_sub count_waiting", "load producer_reads_head",
                                              "load reads_tail", "compare_exchange reserve"});
  }

  TEST_CASE(
      "what hands elements or room over is a release that an acquire of the other side meets") {
    channel_orders const o;
    for (emu::access const a : {o.publish_control_tail, o.count_done, o.publish_head})
      CHECK(a == emu::access{order::release, scope::system});
    for (emu::access const a : {o.producer_reads_head, o.awaits_control_turn,
                                o.aggregator_reads_tail, o.aggregator_reads_done})
      CHECK(a == emu::access{order::acquire, scope::system});
  }

  TEST_CASE("at a scope, all that reach the system reach so far, and no order changes") {
    constexpr channel_orders widest;
    for (scope const s : {scope::work_group, scope::agent, scope::system}) {
      CAPTURE(static_cast<int>(s));
      channel_orders const o = channel_orders::at(s);
      for (auto const& e : channel_orders::entries) {
        CAPTURE(e.name);
        emu::access const before = widest.*e.entry;
        CHECK((o.*e.entry).how == before.how);
        CHECK((o.*e.entry).far == (before.far == scope::system ? s : before.far));
      }
      CHECK(o.clear_done.far == scope::work_item); // one actor's own
    }
  }
}
