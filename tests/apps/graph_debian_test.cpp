// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"

#include <quarry/graph/debian.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace quarry::graph;
using quarry::result;

result<debian_graph> parse(std::string const& text) {
  std::istringstream in(text);
  return read_debian_packages(in, "list");
}

/// "a->b a->c …", in the order of the graph.
std::string edges_of(debian_graph const& made) {
  std::string text;
  for (std::uint32_t v = 0; v < made.graph.vertex_count; ++v)
    for (auto const target : made.graph.out_edges(v))
      text += (text.empty() ? "" : " ") + made.names[v] + "->" + made.names[target];
  return text;
}

std::string edges_of(std::string const& text) {
  return edges_of(parse(text).value());
}

std::string problem(std::string const& text) {
  auto const made = parse(text);
  return made ? "" : made.error().what;
}

constexpr char const* small_list = R"(Package: editor
Version: 1.0-1
Depends: libc6 (>= 2.36), libx11-6:any | libwayland0,
 fonts [amd64] <!nocheck>
Description: edits
 Depends: nothing
Pre-Depends: dpkg (>= 1.15.6~)

Package: libc6
Depends: libgcc-s1

Package: libgcc-s1
Depends: libc6 (>= 2.35)


Package: libwayland0
Package-Type: deb
depends: libc6

Package: dpkg

Package: fonts-one
Provides: fonts, fonts-free (= 1.0)

Package: fonts-two
Provides: fonts
)";

} // namespace

TEST_SUITE("apps.graph_debian") {
  TEST_CASE("a package list becomes its dependency graph") {
    auto const made = parse(small_list).value();
    CHECK(made.names == std::vector<std::string>{"editor", "libc6", "libgcc-s1", "libwayland0",
                                                 "dpkg", "fonts-one", "fonts-two"});
    CHECK(edges_of(made) == "editor->libc6 editor->libwayland0 editor->dpkg editor->fonts-one "
                            "libc6->libgcc-s1 libgcc-s1->libc6 libwayland0->libc6");
    CHECK(made.counts == debian_counts{.stanza_count = 7, .clause_count = 7, .provided_count = 1});
    CHECK(validate(made.graph).has_value());
  }

  TEST_CASE("the first alternative that exists is taken, real or provided") {
    CHECK(edges_of("Package: p\nDepends: x | b | a\n\nPackage: a\n\nPackage: b\n") == "p->b");
    CHECK(edges_of("Package: p\nDepends: v | a\n\nPackage: a\n\nPackage: b\nProvides: v\n") ==
          "p->b");
  }

  TEST_CASE("what follows a name, with a blank or without one, does not matter") {
    for (std::string const relation : {"q:any", "q:any (>= 1)", "q(>= 1)", "q (>= 1)", "q[amd64]",
                                       "q [amd64]", "q<!nocheck>", "q\t<!nocheck>"}) {
      CAPTURE(relation);
      CHECK(edges_of("Package: p\nDepends: " + relation + "\n\nPackage: q\n") == "p->q");
    }
  }

  TEST_CASE("a real package is taken before one that provides its name") {
    CHECK(edges_of("Package: p\nDepends: a\n\nPackage: b\nProvides: a\n\nPackage: a\n") == "p->a");
  }

  TEST_CASE("of several providers the first in the list is taken") {
    CHECK(edges_of(
              "Package: b\nProvides: v\n\nPackage: p\nDepends: v\n\nPackage: a\nProvides: v\n") ==
          "p->b");
  }

  TEST_CASE("what does not exist is counted and makes no edge") {
    auto const made = parse("Package: p\nDepends: gone, lost | missing, q\n\nPackage: q\n").value();
    CHECK(edges_of(made) == "p->q");
    CHECK(made.counts.clause_count == 3);
    CHECK(made.counts.missing_count == 2);
  }

  TEST_CASE("a package that satisfies itself has no edge to itself") {
    auto const made = parse("Package: p\nProvides: v\nDepends: v, p\n").value();
    CHECK(made.graph.edge_count() == 0);
    CHECK(made.counts.own_count == 2);
  }

  TEST_CASE("a dependency said twice is one edge") {
    auto const made =
        parse("Package: p\nPre-Depends: q\nDepends: q (>= 1), q (<< 2)\n\nPackage: q\n").value();
    CHECK(edges_of(made) == "p->q");
    CHECK(made.counts.merged_count == 2);
  }

  TEST_CASE("of several versions of a package the first counts") {
    auto const made =
        parse("Package: p\nDepends: a\n\nPackage: p\nDepends: b\n\nPackage: a\n\nPackage: b\n")
            .value();
    CHECK(edges_of(made) == "p->a");
    CHECK(made.counts.stanza_count == 4);
    CHECK(made.counts.repeated_package_count == 1);
  }

  TEST_CASE("line ends of CR LF, blank lines and a missing last line end change nothing") {
    CHECK(edges_of("\r\n\r\nPackage: p\r\nDepends:\r\n q\r\n \t\r\nPackage: q\r\n\r\n\r\n") ==
          "p->q");
    CHECK(edges_of("Package: q\n\nPackage: p\nDepends: q") == "p->q");
  }

  TEST_CASE("what is malformed is named with its line") {
    CHECK(problem("") == "list: there is no package in it");
    CHECK(problem("\n\n") == "list: there is no package in it");
    CHECK(problem("Package: p\nnonsense\n") ==
          "list:2: read 'nonsense', a line must be 'Field: value', or begin with a blank");
    CHECK(problem("Package: p\n\n: x\n") ==
          "list:3: read ': x', a line must be 'Field: value', or begin with a blank");
    CHECK(problem("Package: p\n\nVersion: 1\nDepends: p\n\nPackage: q\n") ==
          "list:3: the stanza that begins here has no Package field");
    CHECK(problem("Package: p\nPackage: q\n") ==
          "list:2: a second Package field, 'q', in the stanza of p; stanzas are separated by an "
          "empty line");
    CHECK(problem("Package: p q\n") ==
          "list:1: read package name 'p q', allowed are letters, digits and + - . _");
    CHECK(problem("Package:\n") ==
          "list:1: read package name '', allowed are letters, digits and + - . _");
    CHECK(problem("\n more\n") == "list:2: read ' more', a line that goes on with a field, but no "
                                  "field came before it");
  }

  TEST_CASE("a file is read like a stream, compressed or not") {
    temporary_folder const folder;
    auto const expected = parse(small_list).value();
    for (auto const& file :
         {folder.write("Packages", small_list), folder.write_gzip("Packages.gz", small_list)}) {
      auto const made = read_debian_packages(file).value();
      CHECK(made.graph == expected.graph);
      CHECK(made.names == expected.names);
    }
    auto const missing = read_debian_packages(folder.path() / "none");
    REQUIRE(missing.has_error());
    CHECK(missing.error().code == std::errc::no_such_file_or_directory);
  }

  TEST_CASE("the output of the program is read, and each way in which it fails is told apart") {
    temporary_folder const folder;
    auto const program = [&folder](std::string const& name, std::string const& body) {
      auto const file = folder.write(name, "#!/bin/sh\n" + body + "\n");
      std::filesystem::permissions(file, std::filesystem::perms::owner_all);
      return file.string();
    };
    auto const good = read_apt_packages(program(
        "good", R"([ "$1" = dumpavail ] && printf 'Package: p\nDepends: p, q\n\nPackage: q')"));
    CHECK(edges_of(good.value()) == "p->q");
    auto const failure = [](std::string const& name) {
      auto const made = read_apt_packages(name);
      REQUIRE(made.has_error());
      return made.error();
    };
    auto const missing = failure((folder.path() / "missing").string());
    CHECK(missing.code == std::errc::no_such_file_or_directory);
    CHECK(missing.what.starts_with("cannot run "));
    auto const silent = program("silent", "exit 0");
    CHECK(failure(silent).code == std::errc::no_message);
    auto const failing = program("failing", "printf 'Package: p\\n'; exit 3");
    CHECK(failure(failing).what == failing + " dumpavail ended with status 3");
    auto const killed = program("killed", "printf 'Package: p\\n'; kill -9 $$");
    CHECK(failure(killed).what == killed + " dumpavail was ended by signal 9");
    auto const babbling = program("babbling", "printf 'hello\\n'; yes 'Package: p'");
    CHECK(failure(babbling).what.starts_with(babbling + " dumpavail:1: read 'hello'"));
  }

  TEST_CASE("the name of each package stands beside its vertex when written and read again") {
    temporary_folder const folder;
    std::vector<std::string> const names{"libc6", "g++", "zoë"};
    auto const file = folder.path() / "debian.names";
    REQUIRE(write_names(file, names).has_value());
    CHECK(folder.read(file) == "libc6\ng++\nzoë\n");
    CHECK(read_names(file).value() == names);
    CHECK(read_names(folder.write("crlf", "a\r\nb")).value() == std::vector<std::string>{"a", "b"});
    CHECK(names_beside("x/debian.mtx") == "x/debian.names");
    CHECK(names_beside("debian.mtx.gz") == "debian.names");
    CHECK(names_beside("debian.v2") == "debian.v2.names");
  }

  TEST_CASE("names that are no lines, and files that cannot be written or read, are refused") {
    temporary_folder const folder;
    auto const file = folder.path() / "names";
    for (auto const& bad : {"", "two\nlines", "a\r"}) {
      std::vector<std::string> const names{"ok", bad};
      auto const written = write_names(file, names);
      REQUIRE(written.has_error());
      CHECK(written.error().code == std::errc::invalid_argument);
      CHECK(!std::filesystem::exists(file));
    }
    auto const gap = folder.write("gap", "a\n\nb\n");
    CHECK(read_names(gap).error().what ==
          gap.string() + ":2: the line is empty; each line must be the name of a vertex");
    CHECK(read_names(file).error().code == std::errc::no_such_file_or_directory);
    std::vector<std::string> const names{"a"};
    CHECK(write_names(folder.path() / "no" / "names", names).error().code ==
          std::errc::no_such_file_or_directory);
    CHECK(write_names("/dev/full", names).error().code == std::errc::no_space_on_device);
  }
}
