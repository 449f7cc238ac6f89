// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/emu/collectives.hpp>

#include <cstdint>
#include <functional>

namespace quarry::fibonacci {

/// A number that is to be taken apart.
struct term {
  std::uint32_t value;
};

/// Replaces each number by the two before it, down to the ones, and counts those.
///
/// Source   thesis Figure 4-5
struct naive_kernel {
  template<emu::any_wavefront W>
  task<> operator()(W& wf, auto& src, emu::channel<term>& dest,
                    emu::global<std::uint32_t> result) const {
    auto const value = src.load(&term::value);
    src.tfree();
    if (auto const leaves = wf.where(value <= 2U))
      wf.fetch_add(result, static_cast<std::uint32_t>(wf.active().count()), emu::order::relaxed,
                   emu::scope::agent);
    auto const inner = wf.where(value > 2U);
    auto const fill = [&](emu::wave_elements<W::size> const& two) {
      wf.store(dest.at(two, 0, &term::value), value - 1U);
      wf.store(dest.at(two, 1, &term::value), value - 2U);
    };
    task<> sent = dest.send(wf, typename W::template lanes<std::uint32_t>(2), fill);
    co_await std::move(sent);
  }
};

/// Figure 4-4: a kernel node that feeds itself through one channel. A breadth-first traversal: the
/// channel must hold the widest level, or the graph ends in a reported deadlock.
template<class Targets>
class naive_graph {
public:
  naive_graph(emu::basic_agent<Targets>& gpu, emu::channel_options const& o)
      : result_(gpu.template allocate<std::uint32_t>(1, "result")), graph_(gpu),
        numbers_(graph_.template add_channel<term>(o)) {
    graph_.connect(numbers_, naive_kernel{}, std::ref(numbers_), result_.global());
  }

  /// Fibonacci of `n`, which fits in 32 bits up to 47.
  emu::outcome run(std::uint32_t n) {
    result_.host()[0] = 0;
    graph_.put(numbers_, {n});
    graph_.execute();
    return graph_.wait_for_done();
  }
  [[nodiscard]] std::uint32_t result() { return result_.host()[0]; }
  [[nodiscard]] emu::channel_graph<Targets>& graph() { return graph_; }
  [[nodiscard]] emu::channel_graph<Targets> const& graph() const { return graph_; }
  [[nodiscard]] emu::channel<term> const& channel() const { return numbers_; }

private:
  emu::buffer<std::uint32_t> result_;
  emu::channel_graph<Targets> graph_;
  emu::channel<term>& numbers_;
};

} // namespace quarry::fibonacci
