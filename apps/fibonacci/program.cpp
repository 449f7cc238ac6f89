// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <cilk_program.hpp>
#include <memory>

namespace quarry::fibonacci {
namespace {

struct settings {
  command::cilk_settings channels;
  std::uint32_t n = 24; // thesis Table 4-3
};

command::program_result run(command::run_options const& o, settings const& s) {
  command::cilk_machine machine(o);
  emu::cilk<call, command::program_targets> program(
      machine.gpu(), command::options_of(s.channels, call::depth(s.n)));
  double const seconds = machine.run(program, call{s.n});
  command::program_result r;
  r.is_checked = true;
  r.wrong_count = program.root_result() == number(s.n) ? 0 : 1;
  r.settings = {{"n", fmt::format("{}", s.n)}};
  r.figures = {{"fibonacci", program.root_result(), ""}, {"calls", calls(s.n), ""}};
  command::add_flow(r, o, s.channels, seconds, program.totals());
  r.figures.push_back({"time/call", seconds * 1e9 / static_cast<double>(calls(s.n)), "ns"});
  return r;
}

command::program_run add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(app, "--n", s->n, 1, 46, "which Fibonacci number");
  command::add_cilk_options(app, s->channels, call::most_spawned);
  return [s](command::run_options const& o) -> result<command::program_result> {
    command::need_one_node(o, "fibonacci");
    return run(o, *s);
  };
}

} // namespace

command::program program() {
  return {.name = "fibonacci",
          .summary = "the naive recursion in Cilk, on channels",
          .examples =
              "Examples:\n"
              "  quarry run fibonacci\n"
              "  quarry run fibonacci --n 30 --compute-units 8 --channel-width 65536\n"
              "  quarry run fibonacci --channel-width 64 --done-count 32 --traversal hybrid\n",
          .add_options = &add_options};
}

} // namespace quarry::fibonacci
