// SPDX-License-Identifier: Apache-2.0
// What a Gravel node does to its heap, as kernels and host code find it in explored executions.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;

namespace {

constexpr machine small{.compute_units = 1, .wavefront_size = 32};
constexpr launch_config one_wavefront{.work_items = 32, .work_items_per_group = 32};

/// Three operations on one word of node 0, the middle one a message to handler 0.
struct add_around_a_message {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const first = wf.where(wf.local_id() == 0);
    lanes<std::uint64_t, w::size> const node(0), five(5), seven(7);
    auto const at = words + lanes<std::uint64_t, w::size>(0);
    task<> before = net.add(wf, at, five, node, {});
    co_await std::move(before);
    task<> message = net.active_message(wf, 0, at, seven, node, {});
    co_await std::move(message);
    task<> after = net.add(wf, at, five, node, {});
    co_await std::move(after);
  }
};

struct send_message {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const first = wf.where(wf.local_id() == 0);
    lanes<std::uint64_t, w::size> const node(0), seven(7);
    task<> message =
        net.active_message(wf, 0, words + lanes<std::uint64_t, w::size>(0), seven, node, {});
    co_await std::move(message);
  }
};

/// A node alone, with a handler that adds.
struct lone_node {
  explicit lone_node(world& of)
      : gpu(of.scheduler(), small),
        net(gpu.core(), std::move(make_in_process(1)[0]), heap,
            {.buffer_bytes = 64, .queue_slots = 2, .package_columns = 32}) {
    net.add_handler([this](std::uint64_t& word, std::uint64_t v) {
      of_heap = of_heap && &word == heap.data();
      word += v;
    });
  }
  global<std::uint64_t> words() { return global<std::uint64_t>(heap.data()); }

  std::vector<std::uint64_t> heap = std::vector<std::uint64_t>(2);
  bool of_heap = true; ///< what the handler has been given
  explored_agent gpu;
  gravel::gravel_node net;
};

} // namespace

TEST_SUITE("net.gravel_explored") {
  TEST_CASE("a handler finds what was done to its word before, and the next one what it has done") {
    verdict const v = explore({.executions = 50, .most_decisions = 50'000}, [](world& w) {
      lone_node n(w);
      n.gpu.run(one_wavefront, add_around_a_message{}, n.words(), std::ref(n.net.device()))
          .or_throw();
      w.check(n.net.barrier().has_value(), "barrier");
      w.check(n.heap[0] == 17, "host code finds all three");
      w.check(n.of_heap, "the handler's word is the heap's");
      w.check(n.net.finish().has_value(), "finish");
      w.check(w.host().load(n.words()) == 17, "so does the host");
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }

  TEST_CASE("a plain load that nothing orders with a message races with its handler") {
    verdict const v =
        explore({.executions = 300, .most_decisions = 50'000, .diagnoses = false}, [](world& w) {
          lone_node n(w);
          auto sent =
              n.gpu.launch(one_wavefront, send_message{}, n.words(), std::ref(n.net.device()));
          static_cast<void>(w.host().load(n.words()));
          sent.wait().or_throw();
          w.check(n.net.finish().has_value(), "finish");
        });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "race");
  }
}
