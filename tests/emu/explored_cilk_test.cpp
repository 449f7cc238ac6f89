// SPDX-License-Identifier: Apache-2.0
// Cilk, explored where its target does not go: several parents of a level at the same time.
#include "explored_passes.hpp"

#include <quarry/emu.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fibonacci/kernel.hpp>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

TEST_SUITE("emu.explored_cilk") {
  TEST_CASE("each of several parents goes on with what its own children have returned") {
    constexpr std::uint32_t number = 8, its_value = 21;
    for (auto const order : {traversal::help_first, traversal::hybrid})
      passes(100, [order](world& w) {
        explored_agent gpu(w.scheduler(), {.compute_units = 2,
                                           .wavefront_slots = 2,
                                           .wavefront_size = 32,
                                           .command_processor_cores = 1});
        cilk<fibonacci::call, explored_targets> program(gpu,
                                                        {.depth = fibonacci::call::depth(number),
                                                         .width = 4,
                                                         .elements_per_done_count = 1,
                                                         .order = order});
        program.run(fibonacci::call{number}).or_throw();
        w.check(program.root_result() == its_value, "the eighth Fibonacci number is 21");
        w.check(program.totals().channels.most <= 4, "more elements than a channel is wide");
      });
  }
}
