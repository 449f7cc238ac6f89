// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "matrix.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cilk_program.hpp>
#include <memory>

namespace quarry::strassen {
namespace {

struct settings {
  command::cilk_settings channels{.width = 8192}; // thesis Table 4-3, the size as well
  std::uint32_t size = 512;
};

command::program_result run(command::run_options const& o, settings const& s) {
  command::cilk_machine machine(o);
  std::size_t const cells = std::size_t{s.size} * s.size;
  auto a = machine.gpu().allocate<float>(cells, "a");
  auto b = machine.gpu().allocate<float>(cells, "b");
  auto c = machine.gpu().allocate<float>(cells, "c");
  std::ranges::copy(matrix(s.size, o.seed), a.host().begin());
  std::ranges::copy(matrix(s.size, o.seed + 1), b.host().begin());
  emu::cilk<call, command::program_targets> program(
      machine.gpu(), command::options_of(s.channels, call::depth(s.size)));
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

void check(settings const& s) {
  if (!std::has_single_bit(s.size))
    command::refuse("--size", fmt::format("read {}, allowed are powers of two", s.size));
}

command::program_run add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(app, "--size", s->size, base_size, 8192, "rows of the matrices");
  command::add_cilk_options(app, s->channels, call::most_spawned);
  return [s](command::run_options const& o) -> result<command::program_result> {
    check(*s);
    command::need_one_node(o, "strassen");
    return run(o, *s);
  };
}

} // namespace

command::program program() {
  return {.name = "strassen",
          .summary = "a matrix product by division into quadrants in Cilk, on channels",
          .examples = "Examples:\n"
                      "  quarry run strassen\n"
                      "  quarry run strassen --size 1024 --compute-units 8\n"
                      "  quarry run strassen --size 128 --channel-width 64 --done-count 32\n",
          .add_options = &add_options};
}

} // namespace quarry::strassen
