// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <memory>
#include <programs/cilk_program.hpp>
#include <programs/memory_need.hpp>

namespace quarry::queens {
namespace {

struct settings {
  command::cilk_settings channels{.width = 16384}; // thesis Table 4-3, the size as well
  std::uint32_t size = 13;
};

using in_cilk = emu::cilk<call, command::program_targets>;

emu::cilk_options channels_of(settings const& s) {
  return command::options_of(s.channels, call::depth(s.size));
}

command::program_result run(command::run_options const& o, settings const& s) {
  command::cilk_machine machine(o);
  in_cilk program(machine.gpu(), channels_of(s));
  double const seconds = machine.run(program, call{{}, s.size, full_row(s.size)});
  command::program_result r;
  r.is_checked = true;
  r.wrong_count = program.root_result() == reference(s.size) ? 0 : 1;
  r.settings = {{"board", fmt::format("{0} x {0}", s.size)}};
  r.figures = {{"solutions", program.root_result(), ""}};
  command::add_flow(r, o, s.channels, seconds, program.totals());
  return r;
}

void check(command::run_options const& o, settings const& s) {
  command::need_one_node(o, "queens");
  command::need_memory(o, "--channel-width", in_cilk::channel_bytes(channels_of(s)));
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(app, "--size", s->size, 1, most_divided, "rows of the board");
  command::add_cilk_options(app, s->channels, call::most_spawned);
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "queens",
          .summary = "counts the solutions of the n queens puzzle in Cilk, on channels of one node",
          .examples = "Examples:\n"
                      "  quarry run queens\n"
                      "  quarry run queens --size 13 --compute-units 8 --channel-width 16384\n"
                      "  quarry run queens --channel-width 64 --done-count 32 --full yield\n",
          .add_options = &add_options,
          .draws = false};
}

} // namespace quarry::queens
