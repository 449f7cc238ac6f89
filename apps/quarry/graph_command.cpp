// SPDX-License-Identifier: Apache-2.0
#include "graph_command.hpp"

#include "command_line/checked_option.hpp"
#include "command_line/named_file.hpp"
#include "command_line/subcommand.hpp"
#include "exit_status.hpp"
#include "flow_graph_command.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"

#include <quarry/graph/debian.hpp>
#include <quarry/graph/generate.hpp>
#include <quarry/graph/matrix_market.hpp>
#include <quarry/graph/names.hpp>
#include <quarry/graph/summary.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

using graph::csr_graph;
using std::filesystem::path;

void say(std::string const& line) {
  fmt::print(stderr, "quarry graph: {}\n", line);
}

/// Runs `act` when `command` is on the command line.
void on_call(CLI::App& command, int& exit_status, std::function<result<void>()> act) {
  command.callback([&exit_status, act = std::move(act)] {
    auto const done = act();
    if (done)
      return;
    say(done.error().what);
    exit_status = world_fault;
  });
}

/// What a generator cannot do with its options is bad usage.
error check_options(error const& failed) {
  if (failed.code == std::errc::invalid_argument || failed.code == std::errc::value_too_large)
    throw CLI::ValidationError("graph: " + failed.what);
  return failed;
}

void add_output_option(CLI::App& command, std::string& file) {
  add_output_file(command, "-o,--output", file,
                  "file to write, compressed if it ends in .gz; standard output without it");
}

/// Writes the graph to `file`, or to standard output if that is empty.
result<void> write_graph(csr_graph const& made, std::string const& file,
                         std::string const& comments) {
  auto const written = file.empty()
                           ? graph::write_matrix_market(stdout, "standard output", made, comments)
                           : graph::write_matrix_market(path(file), made, comments);
  if (written)
    say(fmt::format("wrote {} vertices and {} edges to {}", made.vertex_count, made.edge_count(),
                    file.empty() ? "standard output" : file));
  return written;
}

/// The file X.mtx that the shell has put behind standard output, if it is one.
std::optional<path> redirected_output() {
  std::error_code none;
  auto file = std::filesystem::read_symlink("/proc/self/fd/1", none);
  struct stat open_file{};
  struct stat named_file{};
  if (none || ::fstat(STDOUT_FILENO, &open_file) != 0 || !S_ISREG(open_file.st_mode))
    return std::nullopt;
  // The name is history if the file was removed or replaced since the shell opened it.
  if (::stat(file.c_str(), &named_file) != 0 || named_file.st_dev != open_file.st_dev ||
      named_file.st_ino != open_file.st_ino || file.extension() != ".mtx")
    return std::nullopt;
  return file;
}

struct debian_request {
  std::string packages;
  std::string names;
  std::string output;
};

std::optional<path> names_file(debian_request const& request) {
  if (!request.names.empty())
    return path(request.names);
  auto const graph_file =
      request.output.empty() ? redirected_output() : std::optional<path>(request.output);
  if (!graph_file)
    return std::nullopt;
  return graph::names_beside(*graph_file);
}

void say_counts(graph::debian_counts const& counts) {
  say(fmt::format("{} dependencies: {} through a virtual package; without an edge: {} missing, {} "
                  "on the package itself, {} said before",
                  counts.clause_count, counts.provided_count, counts.missing_count,
                  counts.own_count, counts.merged_count));
  if (counts.repeated_package_count > 0)
    say(fmt::format("{} further versions of packages left out", counts.repeated_package_count));
}

/// One file cannot be two things.
void check(debian_request const& request) {
  auto const graph =
      request.output.empty() ? standard_output_file() : named_file{"--output", request.output};
  named_file const packages{"--packages", request.packages};
  auto const names = names_file(request);
  keep_apart({"--names", names ? names->string() : ""}, {graph, packages});
  keep_apart(packages, {graph});
}

result<void> write_debian(debian_request const& request) {
  auto const names = names_file(request);
  for (auto const& file : {request.output, names ? names->string() : ""})
    if (auto can = check_writable(file); !can)
      return can;
  auto const made = request.packages.empty() ? graph::read_apt_packages()
                                             : graph::read_debian_packages(path(request.packages));
  if (!made)
    return made.error();
  if (auto written = write_graph(made->graph, request.output,
                                 "Debian packages: i j says that package i depends on package j\n"
                                 "The names of the packages are in the .names file, line i for i");
      !written)
    return written;
  say_counts(made->counts);
  if (!names) {
    say("no names written: standard output is no file *.mtx; --names FILE says where they go");
    return {};
  }
  auto const written = graph::write_names(*names, made->names);
  if (written)
    say(fmt::format("wrote {} names to {}", made->names.size(), names->string()));
  return written;
}

void add_debian(CLI::App& group, int& exit_status) {
  auto* command = group.add_subcommand(
      "debian", "write the dependency graph of the packages that apt-cache knows");
  command->footer(
      "Examples:\n"
      "  quarry graph debian > debian.mtx\n"
      "  quarry graph debian --packages Packages.gz -o debian.mtx --names debian.names\n");
  auto request = std::make_shared<debian_request>();
  add_output_file(*command, "--names", request->names,
                  "file for the package names; X.names beside X.mtx without it");
  add_input_file(*command, "--packages", request->packages,
                 "read this Packages file (may be gzip) instead of asking apt-cache");
  add_output_option(*command, request->output);
  check_when_read(*command, [request] { check(*request); });
  on_call(*command, exit_status, [request] { return write_debian(*request); });
}

template<class Options>
struct generator_request {
  Options options;
  std::string output;
};

result<void> write_rmat(generator_request<graph::rmat_options> const& request) {
  auto const& [options, output] = request;
  if (auto can = check_writable(output); !can)
    return can;
  auto const made = graph::rmat(options);
  if (!made)
    return check_options(made.error());
  return write_graph(*made, output,
                     fmt::format("R-MAT: scale {}, edge factor {}, seed {}, a {}, b {}, c {}",
                                 options.scale, options.edge_factor, options.seed, options.a,
                                 options.b, options.c));
}

void add_rmat(CLI::App& group, int& exit_status) {
  auto* command = group.add_subcommand("rmat", "write a random graph with very uneven degrees");
  command->footer("Examples:\n"
                  "  quarry graph rmat --scale 16 -o rmat.mtx\n"
                  "  quarry graph rmat --scale 20 --edge-factor 8 --seed 7 --merge > sparse.mtx\n");
  auto request = std::make_shared<generator_request<graph::rmat_options>>();
  auto& options = request->options;
  add_number(*command, "--scale", options.scale, 0, 31, "2^scale vertices");
  add_number(*command, "--edge-factor", options.edge_factor, 0, UINT64_MAX, "edges per vertex");
  add_number(*command, "--seed", options.seed, 0, UINT64_MAX, "same seed, same graph");
  add_fraction(*command, "--a", options.a, 1, "probability of low source, low target");
  add_fraction(*command, "--b", options.b, 1, "probability of low source, high target");
  add_fraction(*command, "--c", options.c, 1, "probability of high source, low target");
  command->add_flag_callback(
      "--merge", [request] { request->options.repeated = graph::duplicates::merge; },
      "keep only one of equal edges");
  add_output_option(*command, request->output);
  on_call(*command, exit_status, [request] { return write_rmat(*request); });
}

result<void> write_mesh(generator_request<graph::hexagonal_mesh_options> const& request) {
  auto const& [options, output] = request;
  if (auto can = check_writable(output); !can)
    return can;
  auto const made = graph::hexagonal_mesh(options);
  if (!made)
    return check_options(made.error());
  return write_graph(
      *made, output,
      fmt::format("hexagonal mesh with holes: rows {}, columns {}, hole fraction {}, seed {}",
                  options.rows, options.columns, options.hole_fraction, options.seed));
}

void add_hexagonal_mesh(CLI::App& group, int& exit_status) {
  auto* command =
      group.add_subcommand("hexagonal-mesh", "write a honeycomb mesh with round holes in it");
  command->footer("Example:\n"
                  "  quarry graph hexagonal-mesh --rows 500 --columns 500 --hole-fraction 0.1 "
                  "-o mesh.mtx\n");
  auto request = std::make_shared<generator_request<graph::hexagonal_mesh_options>>();
  auto& options = request->options;
  add_number(*command, "--rows", options.rows, 2, UINT32_MAX,
             "lines of vertices; what dangles is cut off");
  add_number(*command, "--columns", options.columns, 3, UINT32_MAX, "vertices of a line");
  add_fraction(*command, "--hole-fraction", options.hole_fraction, 0.9,
               "of the vertices, at least: what hangs on by one edge goes, too");
  add_number(*command, "--seed", options.seed, 0, UINT64_MAX, "same seed, same graph");
  add_output_option(*command, request->output);
  on_call(*command, exit_status, [request] { return write_mesh(*request); });
}

void add_info(CLI::App& group, int& exit_status) {
  auto* command = group.add_subcommand("info", "print a summary of a Matrix Market file");
  command->footer("Example:\n  quarry graph info debian.mtx\n");
  auto file = std::make_shared<std::string>();
  auto options = std::make_shared<graph::matrix_market_options>();
  command->add_option("file", *file, "the graph, X.mtx or X.mtx.gz")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_flag_callback(
      "--merge", [options] { options->repeated = graph::duplicates::merge; },
      "count equal edges once");
  on_call(*command, exit_status, [file, options]() -> result<void> {
    auto const read = graph::read_matrix_market(*file, *options);
    if (!read)
      return read.error();
    print(fmt::format("{}checksum            {:016x}\n", graph::to_string(graph::summarize(*read)),
                      graph::checksum(*read)));
    return all_printed();
  });
}

} // namespace

void add_graph_command(CLI::App& quarry, int& exit_status) {
  auto* group = quarry.add_subcommand(
      "graph", "make graphs and look at them (Matrix Market), and at channel-flow graphs");
  group->footer("Examples:\n"
                "  quarry graph debian > debian.mtx\n"
                "  quarry graph info debian.mtx\n"
                "  quarry graph fibonacci --cilk --number 5 --dot\n");
  add_debian(*group, exit_status);
  add_rmat(*group, exit_status);
  add_hexagonal_mesh(*group, exit_status);
  add_info(*group, exit_status);
  add_flow_graph(*group, exit_status);
  need_subcommand(*group, "command");
}

} // namespace quarry::command
