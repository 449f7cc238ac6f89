// SPDX-License-Identifier: Apache-2.0
// Residency: which groups can wait for which, and what is reported when they cannot.
#include "agents.hpp"

#include <cstdint>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Groups a and b hand a token back and forth; the others pass by.
struct token {
  task<> operator()(any_wavefront auto& wf, global<int> word, int a, int b, int rounds) const {
    int const me = static_cast<int>(wf.linear_group_id());
    if ((me != a && me != b) || wf.index_in_group() != 0)
      co_return;
    for (int r = 0; r < rounds; ++r) {
      int const mine = 2 * r + (me == b ? 1 : 0);
      auto const is_mine = [mine](int v) { return v == mine; };
      static_cast<void>(co_await wf.wait_until(word, is_mine, order::acquire, scope::agent));
      wf.store(word, mine + 1, order::release, scope::agent);
    }
  }
};

/// Groups 0 … last - 1 wait for the last one.
struct wait_for_last {
  task<> operator()(any_wavefront auto& wf, global<int> word, global<int> passed) const {
    bool const is_last = wf.linear_group_id() + 1 == wf.group_count().volume();
    if (is_last)
      wf.store(word, 1, order::release, scope::agent);
    else
      static_cast<void>(
          co_await wf.wait_until(word, [](int v) { return v == 1; }, order::acquire, scope::agent));
    if (wf.index_in_group() == 0)
      wf.fetch_add(passed, 1, order::relaxed, scope::agent);
  }
};

/// Groups 0 and 1 busily hand a token to and fro until the last one says stop.
struct busy_until_last {
  task<> operator()(any_wavefront auto& wf, global<int> words) const {
    auto const me = wf.linear_group_id();
    auto const count = wf.group_count().volume();
    if (me + 1 == count)
      wf.store(words + 2, 1, order::release, scope::agent);
    while (me < 2 && wf.load(words + 2, order::acquire, scope::agent) == 0) {
      wf.fetch_add(words + me, 1, order::relaxed, scope::agent);
      int const other = wf.load(words + (1 - me), order::relaxed, scope::agent);
      auto const stop = words + 2;
      auto const moved = [stop, other](int v) {
        return v != other || std::atomic_ref(*stop.get()).load() != 0;
      };
      static_cast<void>(
          co_await wf.wait_until(words + (1 - me), moved, order::acquire, scope::agent));
    }
  }
};

/// Each of two resident groups waits for the other's word.
struct cross_wait {
  task<> operator()(any_wavefront auto& wf, global<int> words) const {
    auto const me = wf.linear_group_id();
    static_cast<void>(co_await wf.wait_until(
        words + (1 - me), [](int v) { return v == 1; }, order::acquire, scope::agent));
    wf.store(words + me, 1, order::release, scope::agent);
  }
};

/// As many groups are inside at once as can be resident.
struct count_inside {
  task<> operator()(any_wavefront auto& wf, global<int> inside, global<int> most) const {
    if (wf.index_in_group() == 0) {
      int const now = wf.fetch_add(inside, 1, order::relaxed, scope::agent) + 1;
      int seen = wf.load(most, order::relaxed, scope::agent);
      while (seen < now && !wf.compare_exchange(most, seen, now, order::relaxed, scope::agent)) {
      }
    }
    for (int i = 0; i < 4; ++i)
      co_await wf.barrier();
    if (wf.index_in_group() == 0)
      wf.fetch_add(inside, -1, order::relaxed, scope::agent);
  }
};

struct idle {
  task<> operator()(any_wavefront auto&) const { co_return; }
};

struct item_waits_for_ever {
  task<> operator()(any_work_item auto& wi, global<int> word) const {
    if (wi.local_linear_id() == 5)
      static_cast<void>(
          co_await wi.wait_until(word, [](int v) { return v == 1; }, order::acquire, scope::agent));
    co_await wi.barrier();
  }
};

constexpr machine large{.compute_units = 64};
constexpr machine small{.compute_units = 2};

} // namespace

TEST_SUITE("emu.compute_unit") {
  TEST_CASE("two resident groups hand a token back and forth, next to each other or 500 apart") {
    for (int b : {1, 500}) {
      CAPTURE(b);
      with_every_agent(
          [&](agent& gpu) {
            auto word = gpu.allocate<int>(1, "word");
            succeed(gpu.run({.work_groups = 501, .work_items_per_group = 64}, token{},
                            word.global(), 0, b, 20));
            CHECK(word.host()[0] == 40);
          },
          large);
    }
  }

  TEST_CASE("500 groups wait for the last one: that ends when all are resident") {
    with_every_agent(
        [](agent& gpu) {
          auto word = gpu.allocate<int>(2, "word");
          succeed(gpu.run({.work_groups = 501, .work_items_per_group = 64}, wait_for_last{},
                          word.global(), word.global() + 1));
          CHECK(word.host()[1] == 501);
        },
        large);
  }

  TEST_CASE("500 groups wait for one that is not resident: the report says so, and how many") {
    with_every_agent(
        [](agent& gpu) {
          auto word = gpu.allocate<int>(2, "word");
          launch_config const site{.work_groups = 501, .work_items_per_group = 64};
          auto const report =
              fail_with(gpu.run(site, wait_for_last{}, word.global(), word.global() + 1),
                        fault::kind::not_resident);
          unsigned const per_unit = gpu.core().shape().wavefront_size == 64 ? 40 : 20;
          CHECK_SAYS(report,
                     std::to_string(501 - 2 * per_unit) + " of 501 groups are not resident");
          CHECK_SAYS(report, "2 compute units, 40 wavefront slots");
          CHECK_SAYS(report, "wait_until");
          CHECK_SAYS(report, "compute_unit_test.cpp:" + std::to_string(site.where.line()));
          CHECK(word.host()[1] == 0);
          succeed(gpu.run({.work_groups = 100}, idle{})); // everything was cleaned up
        },
        small, impatience);
  }

  TEST_CASE("LDS limits who is resident, and a group that does not fit is reported") {
    machine const m{.compute_units = 2, .lds_bytes = 4096};
    with_every_agent(
        [](agent& gpu) {
          auto word = gpu.allocate<int>(2, "word");
          auto const report =
              fail_with(gpu.run({.work_groups = 7, .work_items_per_group = 64, .lds_bytes = 1500},
                                wait_for_last{}, word.global(), word.global() + 1),
                        fault::kind::not_resident);
          CHECK_SAYS(report, "3 of 7 groups are not resident");
          succeed(gpu.run({.work_groups = 4, .work_items_per_group = 64, .lds_bytes = 2048},
                          wait_for_last{}, word.global(), word.global() + 1));
        },
        m, impatience);
  }

  TEST_CASE("no more groups are inside at once than slots and LDS allow") {
    machine const m{.compute_units = 2, .wavefront_slots = 8, .lds_bytes = 4096};
    with_every_agent(
        [](agent& gpu) {
          auto words = gpu.allocate<int>(2, "words");
          succeed(gpu.run({.work_groups = 50, .work_items_per_group = 128, .lds_bytes = 1024},
                          count_inside{}, words.global(), words.global() + 1));
          CHECK(words.host()[0] == 0);
          CHECK(words.host()[1] >= 1);
          CHECK(words.host()[1] <= (gpu.core().shape().wavefront_size == 64 ? 8 : 4));
          if (!is_native(gpu))
            CHECK(words.host()[1] > 1);
        },
        m);
  }

  TEST_CASE("groups that keep each other busy do not keep out the one that they wait for") {
    machine const m{.compute_units = 1};
    with_every_agent(
        [](agent& gpu) {
          auto words = gpu.allocate<int>(3, "words");
          succeed(gpu.run({.work_groups = 3, .work_items_per_group = 32}, busy_until_last{},
                          words.global()));
        },
        m);
  }

  TEST_CASE("resident groups that wait for each other are a deadlock, or in `native` a stall") {
    with_every_agent(
        [](agent& gpu) {
          auto words = gpu.allocate<int>(2, "words");
          auto const report = fail_with(
              gpu.run({.work_groups = 2, .work_items_per_group = 32}, cross_wait{}, words.global()),
              is_native(gpu) ? fault::kind::stall : fault::kind::deadlock);
          CHECK_SAYS(report, "wavefront 0 of group 0");
          CHECK_SAYS(report, "wavefront 0 of group 1");
          CHECK_SAYS(report, " on words, byte 4");
          CHECK_SAYS(report, "compute_unit_test.cpp:");
          CHECK_SAYS(report, "launch of cross_wait");
          succeed(gpu.run({.work_groups = 100}, idle{}));
        },
        {}, impatience);
  }

  TEST_CASE("a stalled item kernel's report says where its work-item waits") {
    with_every_agent(
        [](agent& gpu) {
          auto word = gpu.allocate<int>(1, "word");
          auto const report =
              fail_with(gpu.run({.work_groups = 1, .work_items_per_group = 32},
                                item_waits_for_ever{}, word.global()),
                        is_native(gpu) ? fault::kind::stall : fault::kind::deadlock);
          CHECK_SAYS(report, "wait_until");
          CHECK_SAYS(report, "compute_unit_test.cpp:");
        },
        {}, impatience);
  }
}
