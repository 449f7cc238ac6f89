// SPDX-License-Identifier: Apache-2.0
#include "graph_command.hpp"
#include "graph_files.hpp"

#include <quarry/graph/generate.hpp>
#include <quarry/graph/matrix_market.hpp>
#include <quarry/graph/names.hpp>

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace quarry::graph;

/// Puts a file behind a standard stream for as long as it lives, as a shell does with > and 2>.
class redirection {
public:
  redirection(std::FILE* stream, std::filesystem::path const& file)
      : stream_(stream), saved_(::dup(::fileno(stream))) {
    std::fflush(stream_);
    int const target = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(target, ::fileno(stream_));
    ::close(target);
  }
  redirection(redirection const&) = delete;
  redirection& operator=(redirection const&) = delete;
  ~redirection() {
    std::fflush(stream_);
    std::clearerr(stream_); // /dev/full leaves its mark
    ::dup2(saved_, ::fileno(stream_));
    ::close(saved_);
  }

private:
  std::FILE* stream_;
  int saved_;
};

/// What `quarry <arguments> > out 2> err` leaves behind.
struct outcome {
  int status = 0;
  std::string said; ///< standard error, with the folder's name replaced by DIR
};

outcome run(temporary_folder const& folder, std::vector<std::string> arguments,
            std::filesystem::path const& out) {
  auto const err = folder.path() / "stderr";
  outcome result;
  {
    redirection const output(stdout, out);
    redirection const errors(stderr, err);
    CLI::App app{"quarry"};
    quarry::command::add_graph_command(app, result.status);
    std::vector<std::string> const reversed(arguments.rbegin(), arguments.rend());
    try {
      app.parse(std::vector<std::string>(reversed)); // CLI11 takes them last first
    } catch (CLI::ParseError const& e) {
      result.status = e.get_exit_code();
      std::fputs(e.what(), stderr);
    }
  }
  result.said = temporary_folder::read(err);
  auto const name = folder.path().string();
  for (auto at = result.said.find(name); at != std::string::npos; at = result.said.find(name))
    result.said.replace(at, name.size(), "DIR");
  return result;
}

constexpr char const* packages = "Package: p\nDepends: q, v\n\nPackage: q\n\nPackage: r\n"
                                 "Provides: v\nDepends: gone\n";

} // namespace

TEST_SUITE("apps.graph_command") {
  TEST_CASE("the names go beside the file X.mtx that standard output is redirected to") {
    temporary_folder const folder;
    auto const list = folder.write("Packages", packages).string();
    auto const ran = run(folder, {"graph", "debian", "--packages", list}, folder.path() / "x.mtx");
    CHECK(ran.status == 0);
    CHECK(ran.said == "quarry graph: wrote 3 vertices and 2 edges to standard output\n"
                      "quarry graph: 3 dependencies: 1 through a virtual package; without an edge: "
                      "1 missing, 0 on the package itself, 0 said before\n"
                      "quarry graph: wrote 3 names to DIR/x.names\n");
    CHECK(read_names(folder.path() / "x.names").value() == std::vector<std::string>{"p", "q", "r"});
    std::vector<edge> const edges{{0, 1}, {0, 2}};
    CHECK(read_matrix_market(folder.path() / "x.mtx").value() == make_csr(3, edges).value());
  }

  TEST_CASE("behind another file name no names are written, and that is said") {
    temporary_folder const folder;
    auto const list = folder.write("Packages", packages).string();
    auto const ran = run(folder, {"graph", "debian", "--packages", list}, folder.path() / "x.txt");
    CHECK(ran.status == 0);
    CHECK(ran.said.ends_with("quarry graph: no names written: standard output is no file *.mtx; "
                             "--names FILE says where they go\n"));
    CHECK(!std::filesystem::exists(folder.path() / "x.names"));
    CHECK(!std::filesystem::exists(folder.path() / "x.txt.names"));
  }

  TEST_CASE("--names and -o say where the names and the graph go") {
    temporary_folder const folder;
    auto const list = folder.write("Packages", packages).string();
    auto const in = [&folder](char const* name) { return (folder.path() / name).string(); };
    auto const named = run(folder, {"graph", "debian", "--packages", list, "--names", in("n")},
                           folder.path() / "x.mtx");
    CHECK(named.status == 0);
    CHECK(read_names(in("n")).value().size() == 3);
    CHECK(!std::filesystem::exists(in("x.names")));
    auto const output = run(folder, {"graph", "debian", "--packages", list, "-o", in("y.mtx.gz")},
                            folder.path() / "out");
    CHECK(output.status == 0);
    CHECK(read_names(in("y.names")).value().size() == 3);
    CHECK(read_matrix_market(in("y.mtx.gz")).value().vertex_count == 3);
    CHECK(folder.read(in("out")).empty());
  }

  TEST_CASE("the generators write the graph of their options") {
    temporary_folder const folder;
    auto const out = folder.path() / "out.mtx";
    CHECK(run(folder, {"graph", "rmat", "--scale", "5", "--edge-factor", "3", "--seed", "9"}, out)
              .status == 0);
    CHECK(read_matrix_market(out).value() ==
          rmat({.scale = 5, .edge_factor = 3, .seed = 9}).value());
    CHECK(run(folder, {"graph", "rmat", "--scale", "5", "--merge"}, out).status == 0);
    CHECK(read_matrix_market(out).value() ==
          rmat({.scale = 5, .repeated = duplicates::merge}).value());
    CHECK(run(folder,
              {"graph", "hexagonal-mesh", "--rows", "30", "--columns", "40", "--hole-fraction",
               "0.2", "--seed", "9"},
              out)
              .status == 0);
    CHECK(read_matrix_market(out).value() ==
          hexagonal_mesh({.rows = 30, .columns = 40, .hole_fraction = 0.2, .seed = 9}).value());
  }

  TEST_CASE("info prints the summary of a file") {
    temporary_folder const folder;
    auto const file = folder.write(
        "g.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 2\n");
    auto const out = folder.path() / "out";
    CHECK(run(folder, {"graph", "info", file.string()}, out).status == 0);
    CHECK(folder.read(out).starts_with("vertices            3\nedges               2\n"));
    CHECK(run(folder, {"graph", "info", file.string(), "--merge"}, out).status == 0);
    CHECK(folder.read(out).starts_with("vertices            3\nedges               1\n"));
  }

  TEST_CASE("a failure is said on standard error and makes the exit status 3") {
    temporary_folder const folder;
    auto const out = folder.path() / "out";
    auto const file = folder.write("bad.mtx", "hello\n").string();
    auto const bad = run(folder, {"graph", "info", file}, out);
    CHECK(bad.status == 3);
    CHECK(bad.said == "quarry graph: DIR/bad.mtx:1: read 'hello', the file must begin with "
                      "%%MatrixMarket\n");
    auto const large = run(folder, {"graph", "rmat", "--scale", "40"}, out);
    CHECK(large.status != 0);
    CHECK(large.said == "--scale: read '40', allowed is a whole number from 0 to 31");
    auto const good =
        folder.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n").string();
    for (auto const& arguments : {std::vector<std::string>{"graph", "rmat", "--scale", "2"},
                                  std::vector<std::string>{"graph", "info", good}})
      CHECK(run(folder, arguments, "/dev/full").status == 3);
    CHECK(folder.read(out).empty());
  }

  TEST_CASE("numbers that are none are refused while the command line is parsed") {
    temporary_folder const folder;
    for (std::string const number : {"-1", "1.5", "x", "18446744073709551616"}) {
      auto const ran = run(folder, {"graph", "rmat", "--seed", number}, folder.path() / "out");
      CHECK(ran.status != 0);
      CHECK(ran.said == "--seed: read '" + number +
                            "', allowed is a whole number from 0 to 18446744073709551615");
    }
    CHECK(run(folder, {"graph"}, folder.path() / "out").status != 0);
  }

  TEST_CASE("numbers are decimal, or hexadecimal as reports write seeds") {
    temporary_folder const folder;
    auto const graph_of = [&folder](std::string const& seed) {
      auto const out = folder.path() / seed;
      CHECK(run(folder, {"graph", "rmat", "--scale", "4", "--seed", seed}, out).status == 0);
      return folder.read(out);
    };
    CHECK(graph_of("0x1f") == graph_of("31"));
    CHECK(graph_of("0X1F") == graph_of("31"));
    CHECK(graph_of("010") == graph_of("10"));
    for (std::string const number : {"0x", "0x-1", "0X", "0x1g", "0x10000000000000000"})
      CHECK(run(folder, {"graph", "rmat", "--seed", number}, folder.path() / "out").status != 0);
  }
}
