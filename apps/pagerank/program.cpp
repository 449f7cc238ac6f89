// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "ranking.hpp"
#include "reference.hpp"

#include <quarry/graph/generate.hpp>
#include <quarry/graph/matrix_market.hpp>
#include <quarry/graph/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <command_line/named_file.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <programs/cluster.hpp>
#include <programs/memory_need.hpp>
#include <string>
#include <system_error>
#include <vector>

namespace quarry::pagerank {
namespace {

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

/// The graph, the same on every node.
struct input {
  graph::named_graph named;
  std::string source;
  graph::csr_graph const& graph() const { return named.graph; }
};

constexpr std::uint32_t least_mesh_scale = 8; ///< a smaller one is too small for one hole

result<input> generate(settings const& s, std::uint64_t seed) {
  std::uint32_t const side = 1U << (s.scale / 2);
  auto made = s.made_by == generator::rmat ? graph::rmat({.scale = s.scale, .seed = seed})
                                           : graph::hexagonal_mesh({.rows = std::max(2U, side),
                                                                    .columns = std::max(3U, side),
                                                                    .hole_fraction = 0.1,
                                                                    .seed = seed});
  if (!made)
    return made.error();
  return input{{std::move(*made), {}},
               fmt::format("generated {}", command::name_of(generator_choices, s.made_by))};
}

result<input> read(std::string const& graph_file) {
  auto read = graph::read_matrix_market(graph_file);
  if (!read)
    return read.error();
  if (read->vertex_count == 0)
    return error{std::make_error_code(std::errc::invalid_argument),
                 fmt::format("{}: a graph without vertices has no ranks", graph_file)};
  input in{{std::move(*read), {}}, graph_file};
  auto const names_file = graph::names_beside(graph_file);
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

/// A pipe is read once, by who runs.
result<void> check_input(settings const& s) {
  if (!std::filesystem::is_regular_file(s.graph_file))
    return {};
  if (auto const in = read(s.graph_file); !in)
    return in.error();
  return {};
}

/// The vertices that the nodes found to have the highest ranks.
void add_best(command::program_result& r, input const& in, std::span<ranked_vertex const> best) {
  r.lines = {fmt::format("{:>4}  {:>12}  {}", "#", "rank", "vertex")};
  for (std::size_t i = 0; i < best.size(); ++i) {
    auto const rank = to_double(best[i].rank);
    auto const number = best[i].vertex;
    auto const name =
        in.named.names.empty() ? fmt::format("{}", number + 1) : in.named.names[number];
    r.lines.push_back(fmt::format("{:>4}  {:>12.9f}  {}", i + 1, rank, name));
    r.rows.push_back({{"rank", rank}, {"vertex", name}});
  }
}

/// How far the serial ranks are off those in floating point, all together.
double distance_of(std::span<fixed const> right, std::span<double const> exact) {
  double off = 0;
  for (std::size_t v = 0; v < exact.size(); ++v)
    off += std::abs(exact[v] - to_double(right[v]));
  return off;
}

command::program_result describe(settings const& s, input const& in, ranking const& all,
                                 double off) {
  command::program_result r;
  std::uint64_t const pushes = in.graph().edge_count() * s.iterations;
  r.is_checked = true;
  r.is_drawn = s.graph_file.empty();
  r.wrong_count = all.wrong;
  r.settings = {{"graph", in.source},
                {"vertices", in.graph().vertex_count},
                {"edges", in.graph().edge_count()},
                {"kernel", command::name_of(kernel_choices, s.kernel)},
                {"fixed point off floating point by", off}};
  r.figures = {{"rounds", std::uint64_t{s.iterations}, ""},
               {"time", all.seconds * 1e3, "ms"},
               {"updates/s", static_cast<double>(pushes) / all.seconds / 1e6, "M/s"}};
  command::add_traffic(r, all.counts);
  add_best(r, in, all.best);
  return r;
}

/// Nodes in one process share the graph.
std::uint64_t bytes_per_node(command::run_options const& o, std::uint64_t graph) {
  bool const is_shared = o.transport == command::transport_kind::in_process;
  return (is_shared ? graph / o.node_count : graph) + command::gravel_bytes(o);
}

/// A file has said how large the graph is only when it was read.
std::optional<error> lack_of_memory(command::run_options const& o, input const& in) {
  // Measured of one node, its part and both references.
  constexpr std::uint64_t per_vertex = 64, per_edge = 8;
  std::uint64_t const need =
      bytes_per_node(o, in.graph().vertex_count * per_vertex + in.graph().edge_count() * per_edge);
  std::uint64_t const most = command::allowed_bytes_per_node(o);
  if (need <= most)
    return std::nullopt;
  return error{std::make_error_code(std::errc::not_enough_memory),
               fmt::format("{} has {} vertices and {} edges, for which each of {} nodes needs "
                           "{:.3g} GB of memory; allowed are {:.3g} GB",
                           in.source, in.graph().vertex_count, in.graph().edge_count(),
                           o.node_count, static_cast<double>(need) / 1e9,
                           static_cast<double>(most) / 1e9)};
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  auto const in = s.graph_file.empty() ? generate(s, o.seed) : read(s.graph_file);
  if (!in)
    return in.error();
  if (auto const lacking = s.graph_file.empty() ? std::nullopt : lack_of_memory(o, *in))
    return *lacking;
  auto const right = reference(in->graph(), s.iterations);
  auto const all = rank_vertices(o, {.graph = in->graph(),
                                     .iterations = s.iterations,
                                     .top = s.top,
                                     .kernel = s.kernel,
                                     .right = right});
  if (!all)
    return all.error();
  return describe(s, *in, *all, distance_of(right, floating_reference(in->graph(), s.iterations)));
}

void check(settings const& s) {
  if (s.made_by == generator::hexagonal_mesh && s.scale < least_mesh_scale)
    command::refuse("--scale", fmt::format("read {}, allowed for a mesh with holes is {} or more",
                                           s.scale, least_mesh_scale));
}

/// Each process has the whole graph, of a mesh's edges at least one for each vertex.
void check_memory(command::run_options const& o, settings const& s) {
  std::uint64_t const edges = s.made_by == generator::rmat ? 16 : 1;
  std::uint64_t const graph =
      s.graph_file.empty() ? (1 + edges) * sizeof(std::uint32_t) << s.scale : 0;
  command::need_memory(o, s.graph_file.empty() ? "--nodes, --scale" : "--nodes",
                       bytes_per_node(o, graph));
}

/// A pipe is read once, and standard input is node 0's.
void check_shared(command::run_options const& o, std::string const& file) {
  constexpr std::array own{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
  bool const is_own = std::find(own.begin(), own.end(), file) != own.end();
  if (o.node_count > 1 && o.transport != command::transport_kind::in_process &&
      (is_own || !std::filesystem::is_regular_file(file)))
    command::refuse("--graph",
                    fmt::format("{} cannot be read by each of {} processes: allowed with "
                                "--transport {} is a file",
                                file, o.node_count,
                                command::name_of(command::transport_choices, o.transport)));
}

void check(command::run_options const& o, settings const& s) {
  if (!s.graph_file.empty()) {
    command::keep_apart({"--json", o.json_file},
                        {{"--graph", s.graph_file},
                         {"--graph's names", graph::names_beside(s.graph_file).string()}});
    check_shared(o, s.graph_file);
  }
  check_memory(o, s);
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  auto* const file = command::add_input_file(
      app, "--graph", s->graph_file, "a Matrix Market file, .gz too; names beside it in X.names");
  auto* const made = command::add_choice(app, "--generate", s->made_by, generator_choices,
                                         "a graph without a file");
  command::exclude(made, file);
  auto* const scale = command::add_number(
      app, "--scale", s->scale, 2, 26,
      "log2 of a generated graph's vertices; a mesh's, of which holes are taken out, 8 at least");
  command::exclude(scale, file);
  command::add_number(app, "--iterations", s->iterations, 1, 10'000, "rounds");
  command::add_number(app, "--top", s->top, 0, 1'000'000, "vertices to print");
  command::add_choice(app, "--kernel", s->kernel, kernel_choices, "how the kernel is written");
  command::check_when_read(app, [s, &app] {
    check(*s);
    if (!s->graph_file.empty() && command::is_given(app, "--seed"))
      command::refuse("--seed", "has nothing to draw where --graph names a file");
  });
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .check_input = [s](command::run_options const&) { return check_input(*s); },
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
