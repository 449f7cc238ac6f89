// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/agent.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/study/channel_program.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <fibonacci/flow_graph.hpp>
#include <fibonacci/reference.hpp>
#include <limits>

namespace quarry::study {
namespace {

using gpu = emu::basic_agent<studied_targets>;
using clock = std::chrono::steady_clock;

std::string first_line(std::string const& text) {
  return text.substr(0, text.find('\n'));
}

/// What every program does around its own part, `run`: outcome run(), which is the part that is
/// timed; is_right(); and what was counted.
template<class Program>
channel_run run_on(executor& scheduler, channel_setting const& s) try {
  gpu agent(scheduler, s.machine);
  Program program(agent, s);
  auto const start = clock::now();
  emu::outcome const end = program.run();
  channel_run r;
  r.seconds = std::chrono::duration<double>(clock::now() - start).count();
  if (auto const& fault = end.get_fault())
    r.failure = first_line(fault->report);
  else if (!program.is_right())
    r.failure = "a wrong answer";
  r.channels = program.counts();
  r.dispatched = program.dispatched();
  return r;
} catch (std::exception const& e) {
  return {.failure = first_line(e.what())};
}

template<class Program>
channel_run timed(channel_setting const& s) {
  native_scheduler scheduler;
  return run_on<Program>(scheduler, s);
}
template<class Program>
channel_run counted(channel_setting const& s, exec_masks& masks) {
  sequential_scheduler scheduler({.most_decisions = std::numeric_limits<std::uint64_t>::max()});
  scheduler.attach(&masks);
  return run_on<Program>(scheduler, s);
}

/// Figure 4-5: what channels cost, because it does nothing else.
class fibonacci_flow {
public:
  fibonacci_flow(gpu& agent, channel_setting const& s) : size_(s.size), graph_(agent, s.channel) {}
  emu::outcome run() { return graph_.run(size_); }
  [[nodiscard]] bool is_right() { return graph_.result() == fibonacci::number(size_); }
  [[nodiscard]] emu::channel_counts counts() const { return graph_.channel().counts(); }
  [[nodiscard]] emu::channel_aggregator::counts dispatched() const {
    return graph_.graph().totals();
  }

private:
  std::uint32_t size_;
  fibonacci::naive_graph<studied_targets> graph_;
};

} // namespace

std::span<channel_program const> channel_programs() {
  static constexpr std::array all{
      channel_program{"fibonacci", "the number", 24, 3, 30, 32'768, 2'192,
                      "fibonacci/flow_graph.hpp", "", timed<fibonacci_flow>,
                      counted<fibonacci_flow>},
  };
  return all;
}

} // namespace quarry::study
