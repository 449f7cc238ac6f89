// SPDX-License-Identifier: Apache-2.0
#include "flow_graph_command.hpp"

#include "command_line/checked_option.hpp"
#include "exit_status.hpp"
#include "output/progress_line.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"
#include "programs/memory_need.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/emu/cilk.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sigquit.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <fibonacci/flow_graph.hpp>
#include <fibonacci/kernel.hpp>
#include <fibonacci/reference.hpp>
#include <memory>
#include <string>

namespace quarry::command {
namespace {

constexpr char const* examples =
    "Examples:\n"
    "  quarry graph fibonacci --dot | dot -Tsvg > fibonacci.svg\n"
    "  quarry graph fibonacci --cilk --number 5 --dot\n"
    "  quarry graph fibonacci --number 30 --width 1048576\n"
    "Without --dot the graph runs, with a progress line on a terminal.\n";

struct request {
  std::uint32_t number = 24;
  std::uint32_t width = 32'768;
  bool is_cilk = false;
  bool is_drawn = false;
  std::string file;
};

using gpu = emu::basic_agent<emu::native_targets>;

/// Draws a graph, or runs it; `run` gives what it computes.
template<class Graph, class Run>
result<void> draw_or_run(request const& r, Graph& graph, Run const& run) {
  if (r.is_drawn) {
    auto const dot = graph.drawing().to_dot();
    if (!r.file.empty())
      return write_text(r.file, dot);
    print(dot);
    return {};
  }
  std::uint64_t number = 0;
  {
    progress_line line(progress_line::place::terminal, "fibonacci", fibonacci::calls(r.number),
                       "elements");
    graph.watch([&](emu::flow_counts const& c) { line.update(c.elements); });
    number = run();
  }
  auto const total = graph.totals();
  fmt::print("fibonacci({}) = {}: {} elements in {} wavefronts of {} dispatches, {} yields\n",
             r.number, number, total.elements, total.wavefronts, total.dispatches, total.yields);
  if (number == fibonacci::number(r.number))
    return {};
  return error{std::make_error_code(std::errc::result_out_of_range), "that is a wrong answer"};
}

using cilk_program = emu::cilk<fibonacci::call, emu::native_targets>;

emu::cilk_options cilk_options_of(request const& r) {
  return {.depth = fibonacci::call::depth(r.number), .width = r.width};
}

result<void> in_cilk(request const& r, gpu& agent) {
  cilk_program program(agent, cilk_options_of(r));
  return draw_or_run(r, program, [&] {
    program.run({r.number}).or_throw();
    return program.root_result();
  });
}

result<void> naively(request const& r, gpu& agent) {
  fibonacci::naive_graph<emu::native_targets> naive(agent, {.width = r.width, .name = "numbers"});
  return draw_or_run(r, naive.graph(), [&] {
    naive.run(r.number).or_throw();
    return std::uint64_t{naive.result()};
  });
}

void check(CLI::App const& command, request const& r) {
  if (!std::has_single_bit(r.width))
    refuse("--width", fmt::format("read {}, allowed are powers of two", r.width));
  if (command.count("--output") > 0 && !r.is_drawn)
    refuse("--output", "needs --dot");
  if (r.is_cilk)
    need_memory("--width", cilk_program::channel_bytes(cilk_options_of(r)));
}

int complain(std::string const& what, int status) {
  fmt::print(stderr, "quarry graph fibonacci: {}\n", what);
  return status;
}

result<void> go(request const& r) {
  if (auto can = check_writable(r.file); !can)
    return can;
  native_scheduler scheduler;
  sigquit_report const on_sigquit(scheduler);
  gpu agent(scheduler);
  return r.is_cilk ? in_cilk(r, agent) : naively(r, agent);
}

} // namespace

void add_flow_graph(CLI::App& group, int& exit_status) {
  auto* command = group.add_subcommand("fibonacci", "a channel-flow graph: draw it, or see it run");
  command->footer(examples);
  auto r = std::make_shared<request>();
  add_number(*command, "--number", r->number, 1, 46, "which Fibonacci number");
  add_number(*command, "--width", r->width, 128, 1U << 24,
             "elements of each channel, a power of two");
  command->add_flag("--cilk", r->is_cilk, "stacks of channels (Figure 4-10), not Figure 4-4");
  command->add_flag("--dot", r->is_drawn, "only print the graph in Graphviz's language");
  add_output_file(*command, "-o,--output", r->file, "file for it; standard output without it");
  check_when_read(*command, [command, r] { check(*command, *r); });
  command->callback([r, &exit_status] {
    try {
      if (auto const done = go(*r); !done)
        exit_status = complain(done.error().what,
                               done.error().code == std::errc::result_out_of_range ? wrong_answer
                                                                                   : world_fault);
    } catch (std::exception const& e) {
      exit_status = complain(message_of(e), world_fault);
    }
  });
}

} // namespace quarry::command
