// SPDX-License-Identifier: Apache-2.0
// What quiet() promises, in many executions.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;

namespace {

/// Adds 1 to a word of node 0.
struct add_one {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint64_t which,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const first = wf.where(wf.local_id() == 0);
    lanes<std::uint64_t, w::size> const one(1), at(which), nodes(0);
    task<> sent = net.add(wf, words + at, one, nodes);
    co_await std::move(sent);
  }
};

/// One kernel sends and ends while another one is about to.
void finish_one_of_two(world& w, std::string_view style, std::uint32_t aggregators) {
  std::vector<std::uint64_t> heap(2);
  auto ends = make_in_process(1);
  explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
  gravel::gravel_node net(gpu.core(), std::move(ends[0]), heap,
                          {.style = style,
                           .buffer_bytes = 64,
                           .buffers_per_node = 2,
                           .aggregators = aggregators,
                           .queue_slots = 2,
                           .package_columns = 32});
  launch_config const one_wavefront{.work_items = 32, .work_items_per_group = 32};
  global<std::uint64_t> const words(heap.data());
  auto other =
      gpu.launch(one_wavefront, add_one{}, words, std::uint64_t{1}, std::ref(net.device()));
  static_cast<void>(
      gpu.run(one_wavefront, add_one{}, words, std::uint64_t{0}, std::ref(net.device())));
  auto const quiet = net.quiet();
  w.check(static_cast<bool>(quiet), quiet ? "" : quiet.error().what);
  w.check(w.host().load(words) == 1, "quiet() came before what a finished kernel had sent");
  static_cast<void>(other.wait());
  auto const done = net.finish();
  w.check(static_cast<bool>(done), done ? "" : done.error().what);
  w.check(w.host().load(words) == 1 && w.host().load(words + 1) == 1,
          "a message was lost, or came twice");
}

} // namespace

TEST_SUITE("net.gravel_quiet") {
  TEST_CASE("quiet() waits for all that finished kernels have sent, whoever is still sending") {
    struct pipeline {
      char const* style;
      std::uint32_t aggregators;
    };
    for (pipeline const p :
         {pipeline{"gravel", 1}, pipeline{"gravel", 2}, pipeline{"no_aggregation", 1},
          pipeline{"no_aggregation", 2}, pipeline{"simt_direct", 1}}) {
      CAPTURE(p.style);
      CAPTURE(p.aggregators);
      verdict const v = explore({.executions = 1000, .most_decisions = 50'000, .name = p.style},
                                [p](world& w) { finish_one_of_two(w, p.style, p.aggregators); });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }
}
