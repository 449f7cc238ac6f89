// SPDX-License-Identifier: Apache-2.0
// Bounds: what a kernel may touch, and what is reported when it touches something else.
#include "agents.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// One lane of group 1 reads (or one actor does) at an offset of bytes from a base.
struct load_one {
  task<> operator()(any_wavefront auto& wf, global<int> at) const {
    if (wf.linear_group_id() == 1)
      static_cast<void>(wf.load(at));
    co_return;
  }
};
struct store_one {
  task<> operator()(any_wavefront auto& wf, global<int> at) const {
    if (wf.linear_group_id() == 1)
      wf.store(at, 1);
    co_return;
  }
};
struct add_one {
  task<> operator()(any_wavefront auto& wf, global<int> at) const {
    if (wf.linear_group_id() == 1)
      wf.fetch_add(at, 1, order::relaxed, scope::agent);
    co_return;
  }
};
struct wait_one {
  task<> operator()(any_wavefront auto& wf, global<int> at) const {
    if (wf.linear_group_id() == 1)
      static_cast<void>(
          co_await wf.wait_until(at, [](int) { return true; }, order::acquire, scope::agent));
  }
};
struct load_lanes_of {
  task<> operator()(any_wavefront auto& wf, global<int> at) const {
    if (wf.linear_group_id() == 1)
      static_cast<void>(wf.load(at + wf.local_id()));
    co_return;
  }
};
struct item_load {
  task<> operator()(any_work_item auto& wi, global<int> at) const {
    if (wi.global_id() == 20)
      static_cast<void>(wi.load(at));
    co_return;
  }
};
struct plain_store {
  void operator()(any_plain_work_item auto& wi, global<int> at) const {
    if (wi.global_id() == 20)
      wi.store(at, 2);
  }
};
void non_template_store(work_item& wi, global<int> at) {
  if (wi.global_id() == 20)
    wi.store(at, 2);
}

/// Every scheduler checks but unchecked `native`.
template<class F>
void with_checking_agents(F const& test) {
  with_every_agent([&](agent& gpu) {
    if (is_checked(gpu))
      test(gpu);
  });
}

void out_of_bounds(agent& gpu, global<int> at, std::string const& what) {
  auto const each = [&](auto kernel, std::string const& how) {
    launch_config const site{.work_groups = 2, .work_items_per_group = 16};
    auto const report = fail_with(gpu.run(site, kernel, at), fault::kind::out_of_bounds);
    CHECK_SAYS(report, what);
    CHECK_SAYS(report, "out of bounds: " + how + " of 4 bytes at ");
    CHECK_SAYS(report, "allocations_test.cpp:");
    CHECK_SAYS(report, "at allocations_test.cpp:" + std::to_string(site.where.line()));
  };
  each(load_one{}, "load");
  each(store_one{}, "store");
  each(add_one{}, "read-modify-write");
  each(wait_one{}, "wait_until");
  each(item_load{}, "load");
  each(plain_store{}, "store");
  each(&non_template_store, "store");
}

global<int> moved(global<int> at, std::ptrdiff_t bytes) {
  // Through an integer: the address is outside its array on purpose.
  auto const address = reinterpret_cast<std::uintptr_t>(at.get());
  return global<int>(reinterpret_cast<int*>(address + static_cast<std::uintptr_t>(bytes)));
}

struct masked_gather {
  task<> operator()(any_wavefront auto& wf, global<int> at, int size, global<int> out) const {
    auto const i = wf.global_id(0) * 3; // far beyond the end
    auto const in = wf.where(i < size);
    wf.store(out + wf.global_id(), wf.load(at + i));
    co_return;
  }
};

struct lds_overrun {
  task<> operator()(any_wavefront auto& wf, int index) const {
    auto const cells = wf.template lds<int, 64>();
    if (wf.index_in_group() == 0)
      wf.store(cells + index, 1);
    co_return;
  }
};
struct lds_two_views {
  task<> operator()(any_wavefront auto& wf) const {
    auto const a = wf.template lds<int, 64>();
    auto const b = wf.template lds<int, 64>();
    wf.store(a + 0, 1);
    static_cast<void>(b);
    co_return;
  }
};
struct item_lds {
  task<> operator()(any_work_item auto& wi) const {
    static_cast<void>(wi.template lds<int, 65>());
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.allocations") {
  TEST_CASE(
      "an access before or after an allocation, or across its end, is a fault that names it") {
    with_checking_agents([](agent& gpu) {
      auto ranks = gpu.allocate<int>(100, "ranks");
      out_of_bounds(
          gpu, moved(ranks.global(), 400),
          "0 bytes after the end of 'ranks' (400 bytes, allocated at allocations_test.cpp:");
      out_of_bounds(gpu, moved(ranks.global(), 412),
                    "'ranks' + 412: 12 bytes after the end of 'ranks'");
      static_cast<void>(fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 16},
                                          load_one{}, moved(ranks.global(), -4)),
                                  fault::kind::out_of_bounds));
      auto const across = fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 16},
                                            load_one{}, moved(ranks.global(), 398)),
                                    fault::kind::out_of_bounds);
      CHECK_SAYS(across, "2 bytes over the end of 'ranks'");
      succeed(gpu.run({.work_groups = 2, .work_items_per_group = 16}, load_one{},
                      moved(ranks.global(), 396)));
    });
  }

  TEST_CASE("the null address and a freed buffer are outside every allocation") {
    with_checking_agents([](agent& gpu) {
      out_of_bounds(gpu, global<int>(), "far from every allocation");
      global<int> gone;
      {
        auto freed = gpu.allocate<int>(100, "freed");
        gone = freed.global() + 3;
      }
      out_of_bounds(gpu, gone,
                    "at byte 12 of 'freed' (400 bytes, allocated at allocations_test.cpp:");
      out_of_bounds(gpu, gone, "), which was given back");
    });
  }

  TEST_CASE("what takes the place of a freed buffer is named, and only the last few are known") {
    allocations known;
    std::vector<std::byte> memory(4096);
    known.add(memory.data(), 64, "old");
    known.remove(memory.data());
    CHECK(known.describe(memory.data() + 8).starts_with("at byte 8 of 'old' (64 bytes"));
    known.add(memory.data(), 64, "new");
    CHECK(known.describe(memory.data() + 62, 4).starts_with("2 bytes over the end of 'new' (64 "));
    CHECK(known.describe(memory.data() + 8).starts_with("at byte 8 of 'new' (64 bytes"));
    for (std::size_t i = 1; i < 30; ++i) {
      known.add(memory.data() + 128 * i, 64, "some");
      known.remove(memory.data() + 128 * i);
    }
    CHECK(known.describe(memory.data() + 128 * 29).ends_with(", which was given back"));
    CHECK(known.describe(memory.data() + 128).starts_with("64 bytes after the end of 'new'"));
    known.add_lds(memory.data() + 3840, 64, "LDS", std::source_location::current());
    known.remove(memory.data() + 3840); // it is used again, by whom it may be
    CHECK_FALSE(known.describe(memory.data() + 3840).ends_with(", which was given back"));
  }

  TEST_CASE("more than there are addresses cannot be exposed, nor known") {
    native_scheduler s({.threads = 1});
    agent gpu(s);
    int mine = 0;
    CHECK_THROWS_WITH_AS(static_cast<void>(gpu.expose(&mine, ~std::size_t{0} / 2, "mine")),
                         "expose: 'mine' has more bytes than there are addresses",
                         std::invalid_argument);
    allocations known;
    CHECK_THROWS_AS(known.add(&mine, ~std::size_t{0}, "mine"), std::invalid_argument);
    CHECK_FALSE(known.contain(&mine, sizeof mine));
  }

  TEST_CASE("exposed memory may be touched while its registration lives") {
    with_checking_agents([](agent& gpu) {
      std::vector<int> mine(64, 3);
      global<int> const at(mine.data());
      {
        auto const lent = gpu.expose(mine.data(), mine.size(), "mine");
        succeed(gpu.run({.work_groups = 2, .work_items_per_group = 16}, add_one{}, at));
        CHECK(mine[0] == 4);
      }
      out_of_bounds(gpu, at, "at byte 0 of 'mine' (256 bytes, allocated at allocations_test.cpp:");
    });
  }

  TEST_CASE("each lane of an access is checked, masked-off lanes are not") {
    with_checking_agents([](agent& gpu) {
      auto data = gpu.allocate<int>(100, "data");
      auto out = gpu.allocate<int>(256, "out");
      auto const report = fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 64},
                                            load_lanes_of{}, data.global() + 50),
                                    fault::kind::out_of_bounds);
      CHECK_SAYS(report, "load of 4 bytes at 'data' + 400: 0 bytes after the end of 'data'");
      CHECK_SAYS(report, ", work-item 50 of the group, ");
      for (int i = 0; i < 100; ++i)
        data.host()[static_cast<unsigned>(i)] = i;
      succeed(gpu.run({.work_groups = 1}, masked_gather{}, data.global(), 100, out.global()));
      CHECK(out.host()[33] == 99);
      CHECK(out.host()[34] == 0);
    });
  }

  TEST_CASE("an index outside the group's LDS is a fault that names the LDS") {
    with_checking_agents([](agent& gpu) {
      for (int index : {64, 1000}) {
        auto const report =
            fail_with(gpu.run({.work_groups = 1, .lds_bytes = 256}, lds_overrun{}, index),
                      fault::kind::out_of_bounds);
        CHECK_SAYS(report, "LDS of group 0");
      }
      succeed(gpu.run({.work_groups = 1, .lds_bytes = 256}, lds_overrun{}, 63));
      succeed(gpu.run({.work_groups = 30, .lds_bytes = 256}, lds_overrun{}, 63));
    });
  }

  TEST_CASE("naming more LDS than the launch reserved is a fault in every scheduler") {
    with_every_agent([](agent& gpu) {
      auto const report = fail_with(gpu.run({.work_groups = 1, .lds_bytes = 511}, lds_two_views{}),
                                    fault::kind::lds_out_of_bounds);
      CHECK_SAYS(report, "256 bytes of LDS at offset 256; the launch reserved 511");
      static_cast<void>(fail_with(gpu.run({.work_groups = 1, .lds_bytes = 256}, item_lds{}),
                                  fault::kind::lds_out_of_bounds));
      static_cast<void>(
          fail_with(gpu.run({.work_groups = 1}, item_lds{}), fault::kind::lds_out_of_bounds));
    });
  }

  TEST_CASE("a misaligned access is a fault, be it atomic or plain, of one element or of lanes") {
    with_checking_agents([](agent& gpu) {
      auto data = gpu.allocate<int>(100, "data");
      CHECK_SAYS(fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 16}, load_one{},
                                   moved(data.global(), 7)),
                           fault::kind::misaligned),
                 "load of 4 bytes at 'data' + 7, which is not a multiple of 4");
      static_cast<void>(fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 50},
                                          load_lanes_of{}, moved(data.global(), 2)),
                                  fault::kind::misaligned));
      auto const report = fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 16},
                                            add_one{}, moved(data.global(), 6)),
                                    fault::kind::misaligned);
      CHECK_SAYS(report, "of 4 bytes at 'data' + 6, which is not a multiple of 4");
      static_cast<void>(fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 16},
                                          wait_one{}, moved(data.global(), 5)),
                                  fault::kind::misaligned));
    });
  }

  /// A thread remembers where it has found an address.
  TEST_CASE("what a thread has found is forgotten when it goes, comes back smaller, or elsewhere") {
    std::vector<std::byte> memory(64);
    std::optional<allocations> known(std::in_place);
    known->add(memory.data(), 64, "all");
    CHECK(known->contain(memory.data() + 32, 32));
    CHECK(known->contain(memory.data() + 32, 32));
    CHECK_FALSE(known->contain(memory.data() + 32, 33));
    known->remove(memory.data());
    CHECK_FALSE(known->contain(memory.data() + 32, 32));
    known->add(memory.data(), 40, "some");
    CHECK(known->contain(memory.data() + 32, 8));
    CHECK_FALSE(known->contain(memory.data() + 32, 32));
    known.emplace(); // at the same place
    CHECK_FALSE(known->contain(memory.data() + 32, 8));
    allocations outer;
    outer.add(memory.data(), 64, "all");
    known->include(&outer);
    CHECK(known->contain(memory.data() + 32, 32));
    outer.remove(memory.data());
    CHECK_FALSE(known->contain(memory.data() + 32, 32));
  }

  TEST_CASE("allocations know where an address lies") {
    allocations known;
    alignas(64) char const bytes[256] = {};
    auto const here = std::source_location::current();
    known.add(bytes + 64, 64, "middle", contents::zeroed, coherence::fine_grained, here);
    CHECK(known.contain(bytes + 64, 64));
    CHECK(known.contain(bytes + 127, 1));
    CHECK(known.contain(bytes + 128, 0));
    CHECK_FALSE(known.contain(bytes + 64, 65));
    CHECK_FALSE(known.contain(bytes + 63, 1));
    CHECK_FALSE(known.contain(bytes + 128, 1));
    CHECK_FALSE(known.contain(bytes + 100, static_cast<std::size_t>(-1)));
    std::string const after = "72 bytes after the end of 'middle' (64 bytes, allocated at " +
                              quarry::to_string(here) + ")";
    CHECK(known.describe(bytes + 200) == after);
    CHECK(known.describe(bytes + 60) ==
          "4 bytes before 'middle' (64 bytes, allocated at " + quarry::to_string(here) + ")");
    CHECK(known.offset_of(bytes + 60) == "'middle' - 4");
    CHECK(known.describe(nullptr).starts_with("far from every allocation"));
    CHECK(known
              .describe(reinterpret_cast<void const*>(~std::uintptr_t{15})) // NOLINT
              .starts_with("far from every allocation"));
    known.add(bytes + 240, 16, "last");
    CHECK(known.offset_of(bytes + 238) == "'last' - 2"); // the nearer one
    CHECK(known.offset_of(bytes + 138) == "'middle' + 74");
    CHECK(known.describe(bytes + 200) == after + ", 40 bytes before 'last'");
    CHECK(known.locate(bytes + 72) == "middle, byte 8");
    CHECK(known.locate(bytes + 128).empty());
    known.remove(bytes + 64);
    CHECK_FALSE(known.contain(bytes + 64, 1));
  }

  TEST_CASE("several of a name are numbered, in the order in which they were added") {
    allocations known;
    char const bytes[256] = {};
    known.add(bytes + 64, 16, "slots");
    CHECK(known.locate(bytes + 72) == "slots, byte 8");
    known.add(bytes, 16, "slots");
    known.add(bytes + 128, 16, "other");
    CHECK(known.locate(bytes + 72) == "slots #1, byte 8");
    CHECK(known.locate(bytes + 8) == "slots #2, byte 8");
    CHECK(known.locate(bytes + 128) == "other, byte 0");
    CHECK(known.describe(bytes + 16).starts_with("0 bytes after the end of 'slots #2' (16 bytes"));
    CHECK(known.offset_of(bytes + 80) == "'slots #1' + 16");
    known.remove(bytes + 64);
    CHECK(known.locate(bytes + 8) == "slots, byte 8");
  }
}
