// SPDX-License-Identifier: Apache-2.0
// What one call sees and does; how calls are run is in the suites cilk, cilk_kernel and
// cilk_work_first.
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/cilk_call.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <tuple>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

struct adds {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 3;
  std::uint32_t n;
};
struct marks {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 2;
  static constexpr std::uint32_t syncs = 2;
  std::uint32_t n;
};
struct spawns_many {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 1000;
};
struct says_what_is_a_leaf : marks {
  [[nodiscard]] bool is_leaf() const { return n == 0; }
};

struct says_no_number {
  using result = no_result;
};
struct owns_memory {
  using result = no_result;
  [[maybe_unused]] static constexpr std::uint32_t most_spawned = 1;
  std::string name;
};
struct returns_memory {
  using result = std::string;
  [[maybe_unused]] static constexpr std::uint32_t most_spawned = 1;
};

/// Calls the test with a wavefront of one work-item.
struct with_wavefront {
  template<any_wavefront W, class Test>
  task<> operator()(W& wf, Test& test) const {
    test(wf);
    co_return;
  }
};

outcome on_wavefront(auto& gpu, auto test) {
  return gpu.run({.work_items = 1, .work_items_per_group = 64}, with_wavefront{}, std::ref(test));
}

/// Natively, and by a schedule.
void with_both(auto const& test) {
  with_schedulers(
      [&](executor& s) {
        wide_agent gpu(s, {.compute_units = 1, .wavefront_size = 64});
        test(gpu);
      },
      1, 1);
}

template<class Piece, class W, class Place>
auto call_of(W& wf, Piece& to, Place into, std::uint32_t children, Place results) {
  return cilk_call<Piece, W, Place>(wf, to, into, children, results);
}

} // namespace

TEST_SUITE("emu.cilk_call") {
  TEST_CASE("a function is a small class that says how many it spawns; it syncs once, or says") {
    static_assert(cilk_function<adds> && cilk_function<marks> && cilk_function<spawns_many>);
    static_assert(!cilk_function<says_no_number>);
    static_assert(!cilk_function<owns_memory> && !cilk_function<returns_memory>);
    CHECK(syncs_of<adds> == 1);
    CHECK(syncs_of<marks> == 2);
    CHECK(has_leaves<says_what_is_a_leaf>);
    CHECK_FALSE(has_leaves<marks>);
  }

  TEST_CASE("room for results is for as many as there may be, and none where there are none") {
    CHECK(cilk_parts<adds>::has_result);
    CHECK(std::tuple_size_v<decltype(cilk_parts<adds>::synced::results)> == 3);
    CHECK_FALSE(cilk_parts<marks>::has_result);
    CHECK(std::tuple_size_v<decltype(cilk_parts<marks>::synced::results)> == 1);
  }

  TEST_CASE("a piece has room for two calls a lane, and for all that one call may spawn") {
    CHECK(cilk_piece<adds, 64>::most_calls == 128);
    CHECK(cilk_piece<adds, 2>::most_calls == 4);
    CHECK(cilk_piece<spawns_many, 64>::most_calls == 1000);
  }

  TEST_CASE("a wavefront's lanes are counted, and whether they went different ways") {
    cilk_counts counts;
    counts.add(lane_mask(0b1011), lane_mask(0b100));
    CHECK(counts.spawning == 3);
    CHECK(counts.leaves == 1);
    CHECK(counts.waves == 1);
    CHECK(counts.diverged == 1);
    counts.add(lane_mask(0b11), lane_mask{});
    counts.add(lane_mask{}, lane_mask(0b1));
    counts.add(lane_mask{}, lane_mask{});
    CHECK(counts.spawning == 5);
    CHECK(counts.leaves == 2);
    CHECK(counts.waves == 4);
    CHECK(counts.diverged == 1);
  }

  TEST_CASE("what calls spawn follows in the piece what those before them have spawned") {
    with_both([](wide_agent& gpu) {
      succeed(on_wavefront(gpu, [](auto& wf) {
        using place = cilk_parts<adds>::place;
        cilk_piece<adds, 64> piece;
        auto first = call_of(wf, piece, place{}, 0, place{});
        CHECK(first.spawned() == 0);
        first.spawn({1});
        first.spawn({2});
        auto second = call_of(wf, piece, place{}, 0, place{});
        CHECK(second.spawned() == 0);
        for (std::uint32_t const n : {3U, 4U, 5U})
          second.spawn({n});
        CHECK(second.spawned() == 3);
        CHECK(piece.calls == 5);
        for (std::uint32_t i = 0; i < 5; ++i)
          CHECK(piece.call[i].n == i + 1);
      }));
    });
  }

  TEST_CASE("one call more than a function may spawn is a fault at its line, and is not there") {
    with_both([](wide_agent& gpu) {
      std::uint32_t left = 0;
      std::source_location line;
      auto const report =
          fail_with(on_wavefront(gpu,
                                 [&](auto& wf) {
                                   using place = cilk_parts<adds>::place;
                                   cilk_piece<adds, 64> piece;
                                   auto call = call_of(wf, piece, place{}, 0, place{});
                                   for (std::uint32_t i = 0; i < adds::most_spawned; ++i)
                                     call.spawn({i});
                                   try {
                                     line = std::source_location::current();
                                     call.spawn({3}, line);
                                   } catch (kernel_stop const&) {
                                     left = piece.calls;
                                     throw;
                                   }
                                 }),
                    fault::kind::wrong_shape);
      CHECK_SAYS(report, "cilk: more than the 3 calls that F::most_spawned allows are spawned at "
                         "once");
      CHECK_SAYS(report, "cilk_call_test.cpp:" + std::to_string(line.line()));
      CHECK(left == adds::most_spawned);
    });
  }

  TEST_CASE("results go to memory, or to where a wavefront keeps them to itself") {
    with_both([](wide_agent& gpu) {
      auto words = gpu.allocate<std::uint32_t>(3, "words");
      words.host()[1] = 10;
      words.host()[2] = 20;
      std::array<std::uint32_t, 3> own{0, 30, 40};
      succeed(on_wavefront(gpu, [&](auto& wf) {
        cilk_piece<adds, 64> piece;
        auto in_memory = call_of(wf, piece, words.global(), 2, words.global() + 1);
        CHECK(in_memory.children() == 2);
        in_memory.returns(in_memory[0] + in_memory[1]);
        auto by_pointer = call_of(wf, piece, own.data(), 2, own.data() + 1);
        by_pointer.returns(by_pointer[0] + by_pointer[1]);
        CHECK(&by_pointer.memory() == &wf);
        CHECK(piece.calls == 0);
      }));
      CHECK(words.host()[0] == 30);
      CHECK(own[0] == 70);
    });
  }

  TEST_CASE("the result of a child that there is not is a fault, wherever results are") {
    with_both([](wide_agent& gpu) {
      auto words = gpu.allocate<std::uint32_t>(3, "words");
      std::array<std::uint32_t, 3> own{};
      for (std::uint32_t const children : {0U, 2U})
        for (bool const is_memory : {false, true}) {
          auto const ask = [&](auto& wf) {
            cilk_piece<adds, 64> piece;
            static_cast<void>(
                is_memory ? call_of(wf, piece, words.global(), children, words.global())[children]
                          : call_of(wf, piece, own.data(), children, own.data())[children]);
          };
          CHECK_SAYS(fail_with(on_wavefront(gpu, ask), fault::kind::wrong_shape),
                     "cilk: the result of child " + std::to_string(children) +
                         " of a call after whose sync there are " + std::to_string(children));
        }
    });
  }

  TEST_CASE("a call that finishes says so, and has spawned what it has spawned") {
    with_both([](wide_agent& gpu) {
      succeed(on_wavefront(gpu, [](auto& wf) {
        using place = cilk_parts<marks>::place;
        cilk_piece<marks, 64> piece;
        auto call = call_of(wf, piece, place{}, 0, place{});
        call.spawn({1});
        CHECK_FALSE(call.has_finished());
        call.finishes();
        CHECK(call.has_finished());
        CHECK(call.spawned() == 1);
      }));
    });
  }

  TEST_CASE("a recursion that is too deep is told with the levels that there are") {
    auto const where = std::source_location::current();
    kernel_stop const stop = cilk_too_deep(7, where);
    CHECK(stop.what == fault::kind::wrong_shape);
    CHECK(stop.message == "cilk: the recursion is deeper than its 7 levels");
    CHECK(stop.where.line() == where.line());
  }
}
