// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "kernel.hpp"
#include "reference.hpp"

#include <quarry/graph/generate.hpp>
#include <quarry/graph/matrix_market.hpp>
#include <quarry/graph/names.hpp>
#include <quarry/graph/partition.hpp>

#include <cluster.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <memory_need.hpp>
#include <numeric>
#include <vector>

namespace quarry::pagerank {
namespace {

using clock = std::chrono::steady_clock;
using command::cluster_node;

enum class kernel_kind { wave, item };
constexpr std::array kernel_choices{command::choice{"wave", kernel_kind::wave},
                                    command::choice{"item", kernel_kind::item}};
enum class generator { rmat, hexagonal_mesh };
constexpr std::array generator_choices{
    command::choice{"rmat", generator::rmat},
    command::choice{"hexagonal-mesh", generator::hexagonal_mesh}};

struct settings {
  std::string graph_file; ///< empty: generate
  generator made_by = generator::rmat;
  std::uint32_t scale = 14; ///< log2 of a generated graph's vertices
  std::uint32_t iterations = 20;
  std::uint32_t top = 10;
  kernel_kind kernel = kernel_kind::wave;
};

/// The input, the same on every node, and the serial answers.
struct input {
  graph::named_graph named;
  std::string source;
  graph::csr_graph const& graph() const { return named.graph; }
};

struct node_outcome {
  double seconds = 0;
  std::uint64_t wrong = 0;
  net::gravel::statistics counts;
};

constexpr std::uint32_t group_size = 256;
constexpr std::uint32_t least_mesh_scale = 8; ///< a smaller one is too small for one hole

result<input> read_input(settings const& s, std::uint64_t seed) {
  input in;
  if (s.graph_file.empty()) {
    std::uint32_t const side = 1U << (s.scale / 2);
    auto made = s.made_by == generator::rmat ? graph::rmat({.scale = s.scale, .seed = seed})
                                             : graph::hexagonal_mesh({.rows = std::max(2U, side),
                                                                      .columns = std::max(3U, side),
                                                                      .hole_fraction = 0.1,
                                                                      .seed = seed});
    if (!made)
      return made.error();
    in.named.graph = std::move(*made);
    in.source = fmt::format("generated {}", command::name_of(generator_choices, s.made_by));
    return in;
  }
  auto read = graph::read_matrix_market(s.graph_file);
  if (!read)
    return read.error();
  in.named.graph = std::move(*read);
  in.source = s.graph_file;
  auto const names_file = graph::names_beside(s.graph_file);
  if (!std::filesystem::exists(names_file))
    return in;
  auto names = graph::read_names(names_file);
  if (!names)
    return names.error();
  if (names->size() != in.graph().vertex_count)
    return error{std::make_error_code(std::errc::invalid_argument),
                 fmt::format("{}: {} names for {} vertices", names_file.string(), names->size(),
                             in.graph().vertex_count)};
  in.named.names = std::move(*names);
  return in;
}

/// One node's rows as device memory.
struct node_graph {
  node_graph(cluster_node& node, graph::graph_slice const& rows,
             graph::block_partition const& partition)
      : offsets(node.gpu.allocate<std::uint32_t>(rows.offsets.size(), "offsets")),
        targets(node.gpu.allocate<std::uint32_t>(rows.targets.size(), "targets")),
        view{offsets.global(), targets.global(), rows.row_count, partition.block_size()} {
    std::copy(rows.offsets.begin(), rows.offsets.end(), offsets.host().begin());
    std::copy(rows.targets.begin(), rows.targets.end(), targets.host().begin());
  }
  emu::buffer<std::uint32_t> offsets;
  emu::buffer<std::uint32_t> targets;
  slice_view view;
};

/// The rounds of one node. `next` is symmetric: everybody adds to it.
class node_run {
public:
  node_run(cluster_node& node, settings const& s, input const& in, graph::block_partition const& p,
           graph::graph_slice const& rows, std::span<fixed> next)
      : node_(node), settings_(s), vertex_count_(in.graph().vertex_count), graph_(node, rows, p),
        rank_(node.gpu.allocate<fixed>(rows.row_count, "rank")),
        dangling_(node.gpu.allocate<fixed>(1, "dangling")), next_(next),
        progress_(node.id == 0 ? command::progress_line::place::terminal
                               : command::progress_line::place::nowhere,
                  "pagerank", s.iterations, "rounds") {
    std::fill(rank_.host().begin(), rank_.host().end(), one / vertex_count_);
    for (std::uint32_t v = 0; v < rows.row_count; ++v)
      if (rows.out_edges(v).empty())
        dangling_.host()[0] += one / vertex_count_;
  }

  result<void> round(std::uint32_t number) {
    auto const dangling = node_.net.all_sum(dangling_.host()[0]);
    if (!dangling)
      return dangling.error();
    push();
    if (auto const applied = node_.net.barrier(); !applied)
      return applied;
    finish(base_rank(*dangling, vertex_count_));
    progress_.update(number + 1);
    return {};
  }
  [[nodiscard]] std::span<fixed const> ranks() { return rank_.host(); }

private:
  emu::launch_config config() const {
    return {.work_items = std::max(1U, graph_.view.vertex_count),
            .work_items_per_group = group_size};
  }
  emu::global<fixed> next() const { return emu::global<fixed>(next_.data()); }

  void push() {
    if (graph_.view.vertex_count == 0)
      return;
    emu::global<fixed const> const rank = rank_.global();
    if (settings_.kernel == kernel_kind::item)
      node_.gpu.run(config(), push_item{}, graph_.view, rank, next(), std::ref(node_.net.device()))
          .or_throw();
    else
      node_.gpu.run(config(), push_wave{}, graph_.view, rank, next(), std::ref(node_.net.device()))
          .or_throw();
  }
  void finish(fixed base) {
    dangling_.host()[0] = 0;
    if (graph_.view.vertex_count == 0)
      return;
    node_.gpu
        .run(config(), finish_round{}, graph_.view, rank_.global(), next(), base,
             dangling_.global())
        .or_throw();
  }

  cluster_node& node_;
  settings const& settings_;
  std::uint64_t vertex_count_;
  node_graph graph_;
  emu::buffer<fixed> rank_;
  emu::buffer<fixed> dangling_;
  std::span<fixed> next_;
  command::progress_line progress_;
};

/// Runs the node's part; its ranks go into `ranks` at the places of its vertices.
result<node_outcome> run_one(cluster_node& node, settings const& s, input const& in,
                             std::span<fixed const> right, std::vector<fixed>& ranks) {
  graph::block_partition const partition(in.graph().vertex_count, node.count);
  auto const rows = graph::slice(in.graph(), partition, node.id);
  if (!rows)
    return rows.error();
  auto const next = node.heap.allocate<fixed>(partition.block_size());
  if (!next)
    return next.error();
  node_run run(node, s, in, partition, *rows, *next);
  if (auto const all_here = node.net.barrier(); !all_here)
    return all_here.error();
  auto const before = node.net.counts();
  auto const start = clock::now();
  for (std::uint32_t i = 0; i < s.iterations; ++i)
    if (auto const round = run.round(i); !round)
      return round.error();
  node_outcome out;
  out.seconds = std::chrono::duration<double>(clock::now() - start).count();
  out.counts = node.net.counts() - before;
  for (std::uint32_t v = 0; v < rows->row_count; ++v) {
    out.wrong += run.ranks()[v] != right[rows->first_vertex + v] ? 1 : 0;
    ranks[rows->first_vertex + v] = run.ranks()[v];
  }
  return out;
}

/// All nodes' outcomes as one.
node_outcome total(std::vector<node_outcome> const& all) {
  node_outcome sum;
  for (node_outcome const& one : all) {
    sum.seconds = std::max(sum.seconds, one.seconds);
    sum.wrong += one.wrong;
    sum.counts = sum.counts + one.counts;
  }
  return sum;
}

/// The vertices with the highest ranks. They are the verified ones: every node has compared its own
/// with the serial ranks, so that these may be taken from there.
std::vector<std::string> top_lines(settings const& s, input const& in,
                                   std::span<fixed const> ranks) {
  std::vector<std::uint32_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  auto const count = std::min<std::size_t>(s.top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      return ranks[a] != ranks[b] ? ranks[a] > ranks[b] : a < b;
                    });
  std::vector<std::string> lines{fmt::format("{:>4}  {:>12}  {}", "#", "rank", "vertex")};
  for (std::size_t i = 0; i < count; ++i)
    lines.push_back(fmt::format("{:>4}  {:>12.9f}  {}", i + 1, to_double(ranks[order[i]]),
                                in.named.names.empty() ? fmt::format("{}", order[i] + 1)
                                                       : in.named.names[order[i]]));
  return lines;
}

command::program_result describe(settings const& s, input const& in, node_outcome const& sum,
                                 std::span<fixed const> right) {
  command::program_result r;
  std::uint64_t const pushes = in.graph().edge_count() * s.iterations;
  auto const exact = floating_reference(in.graph(), s.iterations);
  double off = 0;
  for (std::size_t v = 0; v < exact.size(); ++v)
    off += std::abs(exact[v] - to_double(right[v]));
  r.is_checked = true;
  r.wrong_count = sum.wrong;
  r.settings = {{"graph", in.source},
                {"vertices", fmt::format("{}", in.graph().vertex_count)},
                {"edges", fmt::format("{}", in.graph().edge_count())},
                {"kernel", command::name_of(kernel_choices, s.kernel)},
                {"fixed point off floating point by", fmt::format("{:.1e}", off)}};
  r.figures = {{"rounds", std::uint64_t{s.iterations}, ""},
               {"time", sum.seconds * 1e3, "ms"},
               {"updates/s", static_cast<double>(pushes) / sum.seconds / 1e6, "M/s"}};
  command::add_traffic(r, sum.counts);
  r.lines = top_lines(s, in, right);
  return r;
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  auto const in = read_input(s, o.seed);
  if (!in)
    return in.error();
  if (in->graph().vertex_count == 0)
    return error{std::make_error_code(std::errc::invalid_argument),
                 fmt::format("{}: a graph without vertices has no ranks", in->source)};
  auto const right = reference(in->graph(), s.iterations);
  std::vector<fixed> ranks(in->graph().vertex_count); // each node writes its own part
  graph::block_partition const partition(in->graph().vertex_count, o.node_count);
  std::size_t const heap = std::size_t{partition.block_size()} * sizeof(fixed) + 4096;
  auto const all = command::gather_outcomes<node_outcome>(
      o, heap, [&](cluster_node& node) { return run_one(node, s, *in, right, ranks); });
  if (!all)
    return all.error();
  return describe(s, *in, total(*all), right);
}

void check(settings const& s) {
  if (s.made_by == generator::hexagonal_mesh && s.scale < least_mesh_scale)
    command::refuse("--scale", fmt::format("read {}, allowed for a mesh with holes is {} or more",
                                           s.scale, least_mesh_scale));
}

/// Each process has the whole graph, of a mesh's edges at least one for each vertex.
void check(command::run_options const& o, settings const& s) {
  std::uint64_t const edges = s.made_by == generator::rmat ? 16 : 1;
  std::uint64_t const graph =
      s.graph_file.empty() ? (1 + edges) * sizeof(std::uint32_t) << s.scale : 0;
  bool const is_shared = o.transport == command::transport_kind::in_process;
  command::need_memory(o, "--nodes, --scale",
                       (is_shared ? graph / o.node_count : graph) + command::gravel_bytes(o));
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  auto* const file = command::add_input_file(
      app, "--graph", s->graph_file, "a Matrix Market file, .gz too; names beside it in X.names");
  auto* const made = command::add_choice(app, "--generate", s->made_by, generator_choices,
                                         "a graph without a file");
  command::exclude(made, file);
  auto* const scale =
      command::add_number(app, "--scale", s->scale, 2, 26, "log2 of a generated graph's vertices");
  command::exclude(scale, file);
  command::add_number(app, "--iterations", s->iterations, 1, 10'000, "rounds");
  command::add_number(app, "--top", s->top, 0, 1'000'000, "vertices to print");
  command::add_choice(app, "--kernel", s->kernel, kernel_choices, "how the kernel is written");
  command::check_when_read(app, [s] { check(*s); });
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "pagerank",
          .summary = "ranks the vertices of a graph, through Gravel",
          .examples = "Examples:\n"
                      "  quarry graph debian > debian.mtx\n"
                      "  quarry run pagerank --graph debian.mtx --nodes 4 --transport loopback\n"
                      "  quarry run pagerank --generate hexagonal-mesh --scale 16 --kernel item\n",
          .add_options = &add_options,
          .has_styles = true};
}

} // namespace quarry::pagerank
