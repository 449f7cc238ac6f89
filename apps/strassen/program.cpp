// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "matrix.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <programs/cilk_program.hpp>
#include <programs/memory_need.hpp>

namespace quarry::strassen {
namespace {

struct settings {
  command::cilk_settings channels{.width = 8192}; // thesis Table 4-3, the size as well
  std::uint32_t size = 512;
};

using in_cilk = emu::cilk<call, command::program_targets>;

emu::cilk_options channels_of(settings const& s) {
  return command::options_of(s.channels, call::depth(s.size));
}

command::program_result run(command::run_options const& o, settings const& s) {
  command::cilk_machine machine(o);
  std::size_t const cells = std::size_t{s.size} * s.size;
  auto a = machine.gpu().allocate<float>(cells, "a");
  auto b = machine.gpu().allocate<float>(cells, "b");
  auto c = machine.gpu().allocate<float>(cells, "c");
  std::ranges::copy(matrix(s.size, o.seed), a.host().begin());
  std::ranges::copy(matrix(s.size, o.seed + 1), b.host().begin());
  in_cilk program(machine.gpu(), channels_of(s));
  double const seconds = machine.run(
      program, call{{a.global(), s.size}, {b.global(), s.size}, {c.global(), s.size}, s.size});
  auto const right = reference(a.host(), b.host(), s.size);
  command::program_result r;
  r.is_checked = true;
  for (std::size_t i = 0; i < cells; ++i)
    r.wrong_count += c.host()[i] != right[i] ? 1 : 0;
  r.settings = {{"matrices", fmt::format("{0} x {0}", s.size)}};
  command::add_flow(r, o, s.channels, seconds, program.totals());
  r.figures.push_back(
      {"products", 2e-9 * static_cast<double>(cells) * s.size / seconds, "GFlop/s"});
  return r;
}

void check(command::run_options const& o, settings const& s) {
  if (!std::has_single_bit(s.size))
    command::refuse("--size", fmt::format("read {}, allowed are powers of two", s.size));
  command::need_one_node(o, "strassen");
  command::need_memory(o, "--size, --channel-width",
                       std::uint64_t{s.size} * s.size * 4 * sizeof(float) +
                           in_cilk::channel_bytes(channels_of(s)));
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(app, "--size", s->size, base_size, 8192, "rows of the matrices");
  command::add_cilk_options(app, s->channels, call::most_spawned);
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "strassen",
          .summary = "a matrix product by division into quadrants in Cilk, on channels of one node",
          .examples = "Examples:\n"
                      "  quarry run strassen\n"
                      "  quarry run strassen --size 1024 --compute-units 8\n"
                      "  quarry run strassen --size 128 --channel-width 64 --done-count 32\n",
          .add_options = &add_options};
}

} // namespace quarry::strassen
