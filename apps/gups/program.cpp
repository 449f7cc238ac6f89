// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <memory>
#include <output/progress_watch.hpp>
#include <programs/cluster.hpp>
#include <programs/memory_need.hpp>
#include <vector>

namespace quarry::gups {
namespace {

using clock = std::chrono::steady_clock;
using command::cluster_node;

enum class kernel_kind { wave, item };
constexpr std::array kernel_choices{command::choice{"wave", kernel_kind::wave},
                                    command::choice{"item", kernel_kind::item}};

struct settings {
  std::uint64_t updates = std::uint64_t{1} << 24; ///< of all nodes
  std::uint32_t log2_entries = 22;                ///< of each node
  kernel_kind kernel = kernel_kind::wave;
};

/// What one node found out.
struct node_outcome {
  double seconds = 0;
  std::uint64_t wrong = 0;
  net::gravel::statistics counts;
  std::size_t memory_bytes = 0;
};

constexpr std::uint32_t group_size = 1024; // the larger a package, the less a message costs
constexpr std::uint64_t most_groups = 1024;

share share_of(settings const& s, std::uint32_t nodes) {
  std::uint64_t const updates = s.updates / nodes;
  std::uint64_t const groups = std::clamp<std::uint64_t>(updates / group_size, 1, most_groups);
  return {updates, groups * group_size};
}

emu::outcome launch(cluster_node& node, settings const& s, update_stream const& stream, share mine,
                    std::uint64_t* table) {
  emu::launch_config const config{.work_groups = mine.stride / group_size,
                                  .work_items_per_group = group_size};
  emu::global<std::uint64_t> const at(table);
  if (s.kernel == kernel_kind::item)
    return node.gpu.run(config, gups_item{}, stream, mine, at, std::ref(node.net.device()));
  return node.gpu.run(config, gups_wave{}, stream, mine, at, std::ref(node.net.device()));
}

result<node_outcome> run_one(cluster_node& node, settings const& s, std::uint64_t seed) {
  table_shape const shape{node.count, s.log2_entries};
  share const mine = share_of(s, node.count);
  update_stream const stream(shape, seed, node.id, mine.updates);
  auto const table = node.heap.allocate<std::uint64_t>(shape.entries_per_node());
  if (!table)
    return table.error();
  if (auto const all_here = node.net.barrier(); !all_here)
    return all_here.error();
  auto const before = node.net.counts();
  command::progress_watch const watch(
      node.id == 0 ? command::progress_line::place::terminal
                   : command::progress_line::place::nowhere,
      "gups, node 0", mine.updates, "updates",
      [&node, done = before.operations] { return node.net.operations() - done; });
  auto const start = clock::now();
  launch(node, s, stream, mine, table->data()).or_throw();
  if (auto const applied = node.net.barrier(); !applied)
    return applied.error();
  node_outcome out;
  out.seconds = std::chrono::duration<double>(clock::now() - start).count();
  out.counts = node.net.counts() - before;
  out.memory_bytes = node.net.memory_bytes() + node.heap.size();
  auto const right = reference(shape, seed, mine.updates, node.id);
  for (std::size_t i = 0; i < right.size(); ++i)
    out.wrong += (*table)[i] != right[i] ? 1 : 0;
  return out;
}

/// All nodes' outcomes as one.
node_outcome total(std::vector<node_outcome> const& all) {
  node_outcome sum;
  for (node_outcome const& one : all) {
    sum.seconds = std::max(sum.seconds, one.seconds);
    sum.wrong += one.wrong;
    sum.counts = sum.counts + one.counts;
    sum.memory_bytes = std::max(sum.memory_bytes, one.memory_bytes);
  }
  return sum;
}

command::program_result describe(settings const& s, command::run_options const& o,
                                 node_outcome const& sum) {
  command::program_result r;
  std::uint64_t const updates = share_of(s, o.node_count).updates * o.node_count;
  r.is_checked = true;
  r.wrong_count = sum.wrong;
  r.settings = {{"updates", updates},
                {"table entries per node", std::uint64_t{1} << s.log2_entries},
                {"kernel", command::name_of(kernel_choices, s.kernel)}};
  r.figures = {{"updates", updates, ""},
               {"time", sum.seconds * 1e3, "ms"},
               {"updates/s", static_cast<double>(updates) / sum.seconds / 1e6, "M/s"}};
  command::add_traffic(r, sum.counts);
  r.figures.push_back({"memory/node", static_cast<double>(sum.memory_bytes) / 1e6, "MB"});
  return r;
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  std::size_t const heap = sizeof(std::uint64_t) << s.log2_entries;
  auto const all = command::gather_outcomes<node_outcome>(
      o, heap, [&](cluster_node& node) { return run_one(node, s, o.seed); });
  if (!all)
    return all.error();
  return describe(s, o, total(*all));
}

void check(command::run_options const& o, settings const& s) {
  if (!std::has_single_bit(o.node_count))
    command::refuse("--nodes", fmt::format("gups needs a power of two; got {}", o.node_count));
  if (s.updates < o.node_count)
    command::refuse("--updates", fmt::format("{} updates for {} nodes; at least one each",
                                             s.updates, o.node_count));
  std::uint64_t const table = sizeof(std::uint64_t) << s.log2_entries;
  command::need_memory(o, "--nodes, --table-size", 2 * table + command::gravel_bytes(o));
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_number(
      app, "--updates", s->updates, 1, std::uint64_t{1} << 40,
      "updates of all nodes; each has the same number, what is left over is dropped");
  command::add_number(app, "--table-size", s->log2_entries, 1, 30,
                      "log2 of each node's table entries");
  command::add_choice(app, "--kernel", s->kernel, kernel_choices, "how the kernel is written");
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "gups",
          .summary = "random increments of a table on a power of two of nodes, through Gravel",
          .examples = "Examples:\n"
                      "  quarry run gups\n"
                      "  quarry run gups --nodes 4 --transport loopback --updates 100000000\n"
                      "  quarry run gups --nodes 2 --style no_aggregation --updates 100000\n"
                      "  quarry run gups --kernel item --wavefront-size 32 --check-bounds\n",
          .add_options = &add_options,
          .has_styles = true};
}

} // namespace quarry::gups
