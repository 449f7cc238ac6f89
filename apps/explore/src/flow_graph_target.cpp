// SPDX-License-Identifier: Apache-2.0
// The naive Fibonacci of thesis Figure 4-5, in a channel that is as narrow as it can be.
#include "targets.hpp"

#include <quarry/emu.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

struct fib {
  std::uint32_t value;
};

struct fib_kernel {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<fib>& dest, global<std::uint32_t> result) const {
    auto const value = src.load(&fib::value);
    src.tfree();
    if (auto const leaves = wf.where(value <= 2U))
      wf.fetch_add(result, static_cast<std::uint32_t>(wf.active().count()), order::relaxed,
                   scope::agent);
    auto const inner = wf.where(value > 2U);
    auto const fill = [&](wave_elements<W::size> const& two) {
      wf.store(dest.at(two, 0, &fib::value), value - 1U);
      wf.store(dest.at(two, 1, &fib::value), value - 2U);
    };
    task<> sent = dest.send(wf, typename W::template lanes<std::uint32_t>(2), fill);
    co_await std::move(sent);
  }
};

/// All are one agent's, but for the host, whose element is there before the others begin.
struct agent_channel_orders : channel_orders {
  constexpr agent_channel_orders() : channel_orders(at(scope::agent)) {}
};

void run_flow_graph(world& w, weakening const* weak) {
  agent gpu(w.scheduler(),
            {.compute_units = 2, .wavefront_size = 32, .command_processor_cores = 1});
  auto result = gpu.allocate<std::uint32_t>(1, "result");
  // At once, whatever there is: wavefronts meet, and the indices go round.
  auto const eager = [](std::span<channel_state const> channels, bool) {
    return channels[0].ready != 0 ? std::optional<std::size_t>(0) : std::nullopt;
  };
  channel_graph g(gpu, eager);
  auto& numbers = g.add_channel<fib>({.width = 4,
                                      .elements_per_done_count = 1,
                                      .orders = weakened<agent_channel_orders>(weak),
                                      .name = "numbers"});
  g.connect(numbers, fib_kernel{}, std::ref(numbers), result.global());
  g.put(numbers, {6});
  g.execute();
  outcome const end = g.wait_for_done();
  w.check(static_cast<bool>(end), end ? "" : end.get_fault()->report);
  w.check(result.host()[0] == 8, "the sixth Fibonacci number is 8");
}

} // namespace

target flow_graph_target() {
  return {"flow-graph",
          "the naive Fibonacci on a channel four elements wide: a host, the aggregator on the "
          "command processor, kernels that produce for themselves",
          weakenings_of<agent_channel_orders>(), run_flow_graph, 5'000};
}

} // namespace quarry::exploration
