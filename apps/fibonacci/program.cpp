// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <memory>
#include <programs/cilk_program.hpp>
#include <programs/memory_need.hpp>

namespace quarry::fibonacci {
namespace {

struct settings {
  command::cilk_settings channels;
  std::uint32_t n = 24; // thesis Table 4-3
};

using in_cilk = emu::cilk<call, command::program_targets>;

emu::cilk_options channels_of(settings const& s) {
  return command::options_of(s.channels, call::depth(s.n));
}

command::program_result run(command::run_options const& o, settings const& s) {
  command::cilk_machine machine(o);
  in_cilk program(machine.gpu(), channels_of(s));
  double const seconds = machine.run(program, call{s.n});
  command::program_result r;
  r.is_checked = true;
  r.wrong_count = program.root_result() == number(s.n) ? 0 : 1;
  r.settings = {{"n", s.n}};
  r.figures = {{"fibonacci", program.root_result(), ""}, {"calls", calls(s.n), ""}};
  command::add_flow(r, o, s.channels, seconds, program.totals());
  r.figures.push_back({"time/call", seconds * 1e9 / static_cast<double>(calls(s.n)), "ns"});
  return r;
}

void check(command::run_options const& o, settings const& s) {
  command::need_one_node(o, "fibonacci");
  command::need_memory(o, "--channel-width", in_cilk::channel_bytes(channels_of(s)));
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(app, "--n", s->n, 1, 46, "which Fibonacci number");
  command::add_cilk_options(app, s->channels, call::most_spawned);
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "fibonacci",
          .summary = "the naive recursion in Cilk, on channels of one node",
          .examples =
              "Examples:\n"
              "  quarry run fibonacci\n"
              "  quarry run fibonacci --n 30 --compute-units 8 --channel-width 65536\n"
              "  quarry run fibonacci --channel-width 64 --done-count 32 --traversal hybrid\n",
          .add_options = &add_options,
          .draws = false};
}

} // namespace quarry::fibonacci
