// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "reference.hpp"
#include "values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <programs/cilk_program.hpp>
#include <programs/memory_need.hpp>

namespace quarry::sort {
namespace {

struct settings {
  command::cilk_settings channels; // thesis Table 4-3, the count as well
  std::uint32_t count = 1'000'000;
};

using in_cilk = emu::cilk<call, command::program_targets>;

emu::cilk_options channels_of(settings const& s) {
  return command::options_of(s.channels, call::depth(s.count));
}

command::program_result run(command::run_options const& o, settings const& s) {
  command::cilk_machine machine(o);
  auto values = machine.gpu().allocate<std::uint32_t>(s.count, "values");
  auto spare = machine.gpu().allocate<std::uint32_t>(s.count, "spare");
  auto const given = sort::values(s.count, o.seed);
  std::ranges::copy(given, values.host().begin());
  in_cilk program(machine.gpu(), channels_of(s));
  double const seconds =
      machine.run(program, call::sorting(values.global(), spare.global(), s.count));
  auto const right = reference(given);
  command::program_result r;
  r.is_checked = true;
  for (std::size_t i = 0; i < right.size(); ++i)
    r.wrong_count += values.host()[i] != right[i] ? 1 : 0;
  r.settings = {{"values", s.count}};
  command::add_flow(r, o, s.channels, seconds, program.totals());
  r.figures.push_back({"values/s", s.count / seconds / 1e6, "M/s"});
  return r;
}

void check(command::run_options const& o, settings const& s) {
  command::need_one_node(o, "sort");
  command::need_memory(o, "--count, --channel-width",
                       std::uint64_t{s.count} * 4 * sizeof(std::uint32_t) +
                           in_cilk::channel_bytes(channels_of(s)));
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(app, "--count", s->count, 1, 1U << 30, "values");
  command::add_cilk_options(app, s->channels, call::most_spawned);
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "sort",
          .summary = "a merge sort of four parts in Cilk, on channels of one node",
          .examples = "Examples:\n"
                      "  quarry run sort\n"
                      "  quarry run sort --count 10000000 --compute-units 8\n"
                      "  quarry run sort --count 100000 --channel-width 64 --done-count 32\n",
          .add_options = &add_options};
}

} // namespace quarry::sort
