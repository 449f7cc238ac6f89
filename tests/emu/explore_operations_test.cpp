// SPDX-License-Identifier: Apache-2.0
// What single operations are under `explore`: whole, compared bit by bit, alone in a predicate.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

/// One access of eight bytes, two words to plain ones.
struct tagged {
  word value, tag;
  bool operator==(tagged const&) const = default;
};
static_assert(atomically_storable<tagged> && alignof(tagged) == 4);

/// Store buffering between LDS and global memory.
struct sees_the_other {
  task<> operator()(any_wavefront auto& wf, global<word> y, global<word> saw, order how) const {
    global<word> const x = wf.template lds<word, 1>() + 0;
    if (wf.index_in_group() == 0)
      wf.store(x, 0);
    co_await wf.barrier();
    global<word> const mine = wf.index_in_group() == 0 ? x : y;
    global<word> const others = wf.index_in_group() == 0 ? y : x;
    wf.store(mine, 1, how, scope::work_group);
    wf.store(saw + wf.index_in_group(), wf.load(others, how, scope::work_group));
  }
};

verdict store_in_lds_and_memory(order how) {
  return explore({.executions = 10'000, .diagnoses = false}, [=](world& w) {
    explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto y = gpu.allocate<word>(1, "y"), saw = gpu.allocate<word>(2, "saw");
    gpu.run({.work_groups = 1, .work_items_per_group = 64, .lds_bytes = 4}, sees_the_other{},
            y.global(), saw.global(), how)
        .or_throw();
    w.check(saw.host()[0] + saw.host()[1] != 0, "neither has seen the other");
  });
}

template<class Kernel>
verdict run_two_items(Kernel kernel) {
  return explore({.executions = 100}, [=](world& w) {
    explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto flag = gpu.allocate<word>(1, "flag");
    gpu.run({.work_items = 2, .work_items_per_group = 2}, kernel, flag.global()).or_throw();
  });
}

constexpr emu::access acquires{order::acquire, scope::agent};

struct spin_by_entry {
  void operator()(any_plain_work_item auto& wi, global<word> flag) const {
    if (wi.global_id() == 1)
      wi.store(flag, 1, order::release, scope::agent);
    else
      while (wi.load(flag, acquires) == 0) {
      }
  }
};
struct wait_by_entry {
  void operator()(any_plain_work_item auto& wi, global<word> flag) const {
    if (wi.global_id() == 1)
      wi.store(flag, 1, order::release, scope::agent);
    else
      static_cast<void>(wi.wait_until(flag, [](word v) { return v != 0; }, acquires));
  }
};

} // namespace

TEST_SUITE("emu.explore_operations") {
  TEST_CASE("an atomic access of a struct is whole, whatever its alignment") {
    auto const passes = [](bool is_atomic) {
      return explore({.executions = 2'000, .detects_races = is_atomic, .diagnoses = false},
                     [=](world& w) {
                       auto words = w.allocate<tagged>(1, "words");
                       tagged const ones{1, 1};
                       w.start("writer", [&, to = words.global()](world_core& self) {
                         if (is_atomic)
                           self.store(to, ones, order::release, scope::system);
                         else
                           self.store(to, ones);
                       });
                       w.start("reader", [&, from = words.global()](world_core& self) {
                         tagged const t = is_atomic ? self.load(from, order::acquire, scope::system)
                                                    : self.load(from);
                         w.check(t == tagged{} || t == ones, "torn");
                       });
                       w.join();
                     });
    };
    verdict const whole = passes(true);
    CHECK_MESSAGE(whole, whole.to_string());
    CHECK_FALSE(passes(false)); // two words
  }

  TEST_CASE("seq_cst orders LDS and other memory among each other") {
    verdict const strong = store_in_lds_and_memory(order::seq_cst);
    CHECK_MESSAGE(strong, strong.to_string());
    CHECK_FALSE(store_in_lds_and_memory(order::relaxed));
  }

  TEST_CASE("compare_exchange() compares bits") {
    verdict const v = explore({.executions = 10}, [](world& w) {
      auto words = w.allocate<float>(2, "words");
      float const values[] = {std::numeric_limits<float>::quiet_NaN(), -0.0F};
      for (int i = 0; i < 2; ++i) {
        w.host().store(words.global() + i, values[i]);
        float expected = i == 0 ? values[0] : 0.0F;
        w.check(w.host().compare_exchange(words.global() + i, expected, 1.0F, order::relaxed,
                                          scope::system) == (i == 0),
                std::to_string(i));
      }
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("plain work-items spin, and wait, by an entry of a table as by order and scope") {
    for (verdict const& v : {run_two_items(spin_by_entry{}), run_two_items(wait_by_entry{})})
      CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what host code has written before it starts somebody ends its own look at the word") {
    verdict const v = explore({.executions = 100}, [](world& w) {
      auto words = w.allocate<word>(1, "words");
      auto const expect = [&](word wanted) {
        w.check(w.host().load(words.global()) == wanted, "another value"); // in one line
      };
      expect(0);
      expect(0);
      words.host()[0] = 1;
      w.start("reader", [&w, at = words.global()](world_core& self) {
        w.check(self.load(at) == 1, "another value");
      });
      expect(1);
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }
}
