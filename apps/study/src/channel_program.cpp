// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/agent.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/emu/cilk.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/study/channel_program.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <exception>
#include <fibonacci/flow_graph.hpp>
#include <fibonacci/kernel.hpp>
#include <fibonacci/reference.hpp>
#include <limits>
#include <queens/kernel.hpp>
#include <queens/reference.hpp>
#include <sort/kernel.hpp>
#include <sort/reference.hpp>
#include <stdexcept>
#include <strassen/kernel.hpp>
#include <strassen/reference.hpp>

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
  r.flow = program.flow();
  r.lanes = program.lanes();
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
  [[nodiscard]] emu::flow_counts flow() const { return graph_.graph().totals(); }
  [[nodiscard]] static std::optional<emu::cilk_counts> lanes() { return {}; }

private:
  std::uint32_t size_;
  fibonacci::naive_graph<studied_targets> graph_;
};

/// A function in Cilk. `Input` has what it works on: root(), and is_right(what it returned).
template<class Input>
class in_cilk {
  using call = typename Input::call;

public:
  in_cilk(gpu& agent, channel_setting const& s)
      : input_(agent, s.size),
        program_(agent, {.depth = call::depth(s.size),
                         .width = s.channel.width,
                         .elements_per_done_count = s.channel.elements_per_done_count,
                         .reservation = s.channel.reservation,
                         .is_padded = s.channel.is_padded}) {}
  emu::outcome run() { return program_.run(input_.root()); }
  [[nodiscard]] bool is_right() { return input_.is_right(program_.root_result()); }
  [[nodiscard]] emu::flow_counts flow() const { return program_.totals(); }
  [[nodiscard]] std::optional<emu::cilk_counts> lanes() const { return program_.counts(); }

private:
  Input input_;
  emu::cilk<call, studied_targets> program_;
};

struct fibonacci_input {
  using call = fibonacci::call;
  std::uint32_t n;
  fibonacci_input(gpu&, std::uint32_t size) : n(size) {}
  [[nodiscard]] call root() const { return {n}; }
  [[nodiscard]] bool is_right(std::uint64_t found) const { return found == fibonacci::number(n); }
};

struct queens_input {
  using call = queens::call;
  std::uint32_t rows;
  queens_input(gpu&, std::uint32_t size) : rows(size) {}
  [[nodiscard]] call root() const { return {{}, rows, queens::full_row(rows)}; }
  [[nodiscard]] bool is_right(std::uint64_t found) const {
    return found == queens::reference(rows);
  }
};

struct sort_input {
  using call = sort::call;
  emu::buffer<std::uint32_t> values, spare;
  sort_input(gpu& agent, std::uint32_t size)
      : values(agent.allocate<std::uint32_t>(size, "values")),
        spare(agent.allocate<std::uint32_t>(size, "spare")) {
    std::ranges::copy(sort::values(size, 1), values.host().begin());
  }
  [[nodiscard]] call root() {
    return call::sorting(values.global(), spare.global(),
                         static_cast<std::uint32_t>(values.size()));
  }
  [[nodiscard]] bool is_right(emu::no_result) {
    return std::ranges::equal(values.host(), sort::reference(sort::values(values.size(), 1)));
  }
};

struct strassen_input {
  using call = strassen::call;
  std::uint32_t n;
  emu::buffer<float> a, b, c;
  strassen_input(gpu& agent, std::uint32_t size)
      : n(size), a(agent.allocate<float>(std::size_t{n} * n, "a")),
        b(agent.allocate<float>(std::size_t{n} * n, "b")),
        c(agent.allocate<float>(std::size_t{n} * n, "c")) {
    if (!std::has_single_bit(n) || n < strassen::base_size)
      throw std::invalid_argument(
          fmt::format("strassen: {} rows; allowed are powers of two from 16", n));
    std::ranges::copy(strassen::matrix(n, 1), a.host().begin());
    std::ranges::copy(strassen::matrix(n, 2), b.host().begin());
  }
  [[nodiscard]] call root() { return {{a.global(), n}, {b.global(), n}, {c.global(), n}, n}; }
  [[nodiscard]] bool is_right(emu::no_result) {
    return std::ranges::equal(c.host(), strassen::reference(a.host(), b.host(), n));
  }
};

template<class Program>
constexpr channel_program with_runs(channel_program p) {
  p.timed = &timed<Program>;
  p.counted = &counted<Program>;
  return p;
}

} // namespace

std::span<channel_program const> channel_programs() {
  static constexpr std::array all{
      with_runs<fibonacci_flow>({.name = "fibonacci_flow",
                                 .size_name = "which number; Figure 4-5",
                                 .size = 24,
                                 .least = 3,
                                 .most = 30,
                                 .width = 32'768,
                                 .source = "fibonacci/flow_graph.hpp"}),
      with_runs<in_cilk<fibonacci_input>>({.name = "fibonacci",
                                           .size_name = "which number",
                                           .size = 20,
                                           .thesis_size = 24,
                                           .least = 3,
                                           .most = 30,
                                           .width = 32'768,
                                           .wavefronts = 2'192,
                                           .source = "fibonacci/kernel.hpp"}),
      with_runs<in_cilk<queens_input>>({.name = "queens",
                                        .size_name = "rows of the board",
                                        .size = 9,
                                        .thesis_size = 13,
                                        .least = 1,
                                        .most = 15,
                                        .width = 16'384,
                                        .wavefronts = 1'114,
                                        .source = "queens/kernel.hpp",
                                        .rival = "queens/flattened.hpp"}),
      with_runs<in_cilk<sort_input>>({.name = "sort",
                                      .size_name = "values",
                                      .size = 20'000,
                                      .thesis_size = 1'000'000,
                                      .least = 1,
                                      .most = 1'000'000,
                                      .width = 32'768,
                                      .wavefronts = 4'238,
                                      .source = "sort/kernel.hpp",
                                      .rival = "sort/bitonic.hpp"}),
      with_runs<in_cilk<strassen_input>>({.name = "strassen",
                                          .size_name = "rows, a power of two",
                                          .size = 128,
                                          .thesis_size = 512,
                                          .least = 16,
                                          .most = 1024,
                                          .has_power_of_two = true,
                                          .width = 8'192,
                                          .wavefronts = 587,
                                          .source = "strassen/kernel.hpp",
                                          .rival = "strassen/tiled.hpp"}),
  };
  return all;
}

} // namespace quarry::study
