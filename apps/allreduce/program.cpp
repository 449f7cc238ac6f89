// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "all_reducer.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <programs/comp_net_cluster.hpp>
#include <programs/memory_need.hpp>
#include <vector>

namespace quarry::allreduce {
namespace {

using clock = std::chrono::steady_clock;
using command::comp_net_node;

struct settings {
  command::comp_net_settings common;
  std::uint32_t element_count = 1U << 16;
  std::uint32_t sum_count = 10;
};

struct node_outcome {
  double seconds = 0; ///< of all sums
  std::uint64_t wrong = 0;
};

/// Element `i` of `node`, in the `number`th sum: from -1 to 1.
float element(std::uint64_t seed, std::uint32_t node, std::uint32_t number, std::uint64_t i) {
  std::uint64_t x = ((seed + number) * 4099 + node) * 0xbf58476d1ce4e5b9 + i;
  x = (x ^ (x >> 31)) * 0x94d049bb133111eb;
  x ^= x >> 29;
  return static_cast<float>(static_cast<std::int64_t>(x >> 40) - (1 << 23)) * 0x1p-23F;
}

std::vector<float> elements(settings const& s, std::uint64_t seed, std::uint32_t node,
                            std::uint32_t number) {
  std::vector<float> all(s.element_count);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = element(seed, node, number, i);
  return all;
}

std::uint64_t count_wrong(settings const& s, std::uint64_t seed, std::uint32_t number,
                          all_reducer const& sums) {
  std::vector<std::vector<float>> parts;
  parts.reserve(sums.shape().node_count);
  for (std::uint32_t node = 0; node < sums.shape().node_count; ++node)
    parts.push_back(elements(s, seed, node, number));
  auto const right = reference(sums.shape(), parts);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    wrong += sums.data()[i] != right[i] ? 1 : 0;
  return wrong;
}

result<node_outcome> run_one(comp_net_node& node, settings const& s, std::uint64_t seed) {
  auto sums = all_reducer::make(node, s.element_count, s.common.work_group_count);
  if (!sums)
    return sums.error();
  node_outcome out;
  for (std::uint32_t number = 0; number < s.sum_count; ++number) {
    std::ranges::copy(elements(s, seed, node.id, number), sums->data().begin());
    if (auto const all_here = node.host().barrier_all(); !all_here)
      return all_here.error();
    auto const start = clock::now();
    if (auto const done = sums->sum(); !done)
      return done.error();
    out.seconds += std::chrono::duration<double>(clock::now() - start).count();
    out.wrong += count_wrong(s, seed, number, *sums);
  }
  return out;
}

command::program_result describe(settings const& s, node_outcome const& sum) {
  command::program_result r;
  r.is_checked = true;
  r.wrong_count = sum.wrong;
  command::add_settings(r, s.common);
  double const each = sum.seconds / s.sum_count;
  double const bytes = sizeof(float) * static_cast<double>(s.element_count);
  r.figures = {{"elements", std::uint64_t{s.element_count}, ""},
               {"sums", std::uint64_t{s.sum_count}, ""},
               {"time", sum.seconds * 1e3, "ms"},
               {"time/sum", each * 1e6, "us"},
               {"bytes/s", bytes / each / 1e6, "MB/s"}};
  return r;
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  auto const heap =
      all_reducer::heap_bytes(o.node_count, s.element_count, s.common.work_group_count);
  auto const all = command::gather_outcomes<node_outcome>(
      o, s.common, heap, [&](comp_net_node& node) { return run_one(node, s, o.seed); });
  if (!all)
    return all.error();
  node_outcome total;
  for (node_outcome const& one : *all) {
    total.seconds = std::max(total.seconds, one.seconds);
    total.wrong += one.wrong;
  }
  return describe(s, total);
}

void check(command::run_options const& o, settings const& s) {
  if (std::uint64_t const least = std::uint64_t{o.node_count} * s.common.work_group_count;
      s.element_count < least)
    command::refuse("--elements",
                    fmt::format("{} for {} rings of {} nodes; at least {}", s.element_count,
                                s.common.work_group_count, o.node_count, least));
  command::need_memory(
      o, "--nodes, --elements",
      all_reducer::heap_bytes(o.node_count, s.element_count, s.common.work_group_count));
  command::check_groups(o, s.common, all_reducer::group_size);
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_comp_net_options(app, s->common);
  command::add_number(app, "--elements", s->element_count, 1, 1U << 28, "of the vector, floats");
  command::add_number(app, "--sums", s->sum_count, 1, 1U << 20, "how often");
  command::check_when_read(app, [s, &app] { command::check(app, s->common); });
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "allreduce",
          .summary = "a vector summed over all nodes, by a ring of each work-group",
          .examples = "Examples:\n"
                      "  quarry run allreduce --nodes 4\n"
                      "  quarry run allreduce --nodes 4 --configuration cpu --elements 16777216\n"
                      "  quarry run allreduce --nodes 8 --transport loopback --work-groups 4\n",
          .add_options = &add_options};
}

} // namespace quarry::allreduce
