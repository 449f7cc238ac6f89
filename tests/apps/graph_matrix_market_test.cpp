// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"

#include <quarry/graph/generate.hpp>
#include <quarry/graph/matrix_market.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace quarry::graph;

constexpr char const* pattern_banner = "%%MatrixMarket matrix coordinate pattern general\n";
constexpr char const* real_banner = "%%MatrixMarket matrix coordinate real general\n";
constexpr char const* integer_banner = "%%MatrixMarket matrix coordinate integer general\n";

csr_graph graph_of(std::string const& text, matrix_market_options const& options = {}) {
  temporary_folder const folder;
  return read_matrix_market(folder.write("g.mtx", text), options).value();
}

/// The error without the folder: "g.mtx:3: …".
std::string problem(std::string const& text, matrix_market_options const& options = {}) {
  temporary_folder const folder;
  auto const read = read_matrix_market(folder.write("g.mtx", text), options);
  return read ? "" : read.error().what.substr(folder.path().string().size() + 1);
}

csr_graph from(std::uint32_t vertices, std::vector<edge> const& edges) {
  return make_csr(vertices, edges).value();
}

/// The error for one wrong entry, in line 4 of a file that is otherwise right.
std::string entry_problem(std::string const& banner, std::string const& entry) {
  return problem(banner + "% a comment\n3 3 1\n" + entry + "\n");
}

/// One seeded edit: a byte changed, removed or put in, a piece cut off, doubled or replaced.
std::string mutated(std::string text, std::mt19937_64& random) {
  static constexpr std::array<char const*, 12> pieces{
      "-1",  "0",         "4294967296", "18446744073709551616", "%", "\n", "\r", " ", "1e999",
      "nan", "symmetric", "99999999"};
  auto const at = [&] { return random() % (text.size() + 1); };
  for (auto edits = 1 + random() % 4; edits > 0; --edits) {
    auto const place = at();
    switch (random() % 6) {
    case 0:
      text.insert(place, 1, static_cast<char>(random()));
      break;
    case 1:
      text.erase(place, 1 + random() % 4);
      break;
    case 2:
      text.resize(place);
      break;
    case 3:
      text.insert(place, text.substr(at(), random() % 30));
      break;
    case 4:
      text.insert(place, pieces[random() % pieces.size()]);
      break;
    default:
      if (place < text.size())
        text[place] = static_cast<char>(text[place] ^ (1 << random() % 8));
    }
  }
  return text;
}

} // namespace

TEST_SUITE("apps.graph_matrix_market") {
  TEST_CASE("the entry (i, j) is the edge from i to j, counted from 1") {
    CHECK(graph_of(std::string(pattern_banner) + "3 3 2\n1 2\n3 1\n") == from(3, {{0, 1}, {2, 0}}));
  }

  TEST_CASE("fields, capitals, comments, blank lines, line ends and blanks are read as they come") {
    auto const expected = from(3, {{0, 1}, {1, 1}, {2, 0}});
    CHECK(graph_of("%%MatrixMarket MATRIX Coordinate Real GENERAL\n3 3 3\n1 2 0.5\n2 2 1e-3\n"
                   "3 1 -2.5E+10\n") == expected);
    CHECK(graph_of(std::string(integer_banner) +
                   "3 3 3\n1 2 7\n2 2 -9223372036854775808\n3 1 +0") == expected);
    CHECK(graph_of("%%MatrixMarket matrix\tcoordinate pattern general \r\n%\r\n\r\n% text\r\n"
                   "\t3 3   3 \r\n 1\t2\r\n\r\n% between\r\n2 2  \r\n3 1\r\n\r\n") == expected);
    CHECK(graph_of(std::string(real_banner) + "3 3 3\n1 2 1e-400\n2 2 +.5\n3 1 5.\n") == expected);
  }

  TEST_CASE("an entry whose value is 0 is an edge") {
    CHECK(graph_of(std::string(real_banner) + "2 2 1\n1 2 0\n") == from(2, {{0, 1}}));
  }

  TEST_CASE("an entry of a symmetric matrix stands for both directions, but for the diagonal") {
    auto const symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n";
    CHECK(graph_of(std::string(symmetric) + "2 1\n2 2\n3 2\n") ==
          from(3, {{0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}}));
  }

  TEST_CASE("entries listed twice are kept, or merged if asked") {
    auto const text = std::string(pattern_banner) + "2 2 3\n1 2\n2 1\n1 2\n";
    CHECK(graph_of(text) == from(2, {{0, 1}, {0, 1}, {1, 0}}));
    CHECK(graph_of(text, {.repeated = duplicates::merge}) == from(2, {{0, 1}, {1, 0}}));
  }

  TEST_CASE("a matrix of no rows and one of no entries are graphs") {
    CHECK(graph_of(std::string(pattern_banner) + "0 0 0\n") == csr_graph{});
    CHECK(graph_of(std::string(pattern_banner) + "5 5 0\n") == from(5, {}));
  }

  TEST_CASE("a file that cannot be opened is an error of the system") {
    temporary_folder const folder;
    auto const missing = read_matrix_market(folder.path() / "none.mtx");
    REQUIRE(missing.has_error());
    CHECK(missing.error().code == std::errc::no_such_file_or_directory);
    CHECK(missing.error().what ==
          "cannot open " + (folder.path() / "none.mtx").string() + ": No such file or directory");
    CHECK(read_matrix_market(folder.path()).error().code == std::errc::is_a_directory);
  }

  TEST_CASE("a wrong banner is named, and what the library does not support is refused by name") {
    CHECK(problem("") == "g.mtx:1: the file is empty; it must begin with %%MatrixMarket");
    CHECK(problem("\n") == "g.mtx:1: read '', the file must begin with %%MatrixMarket");
    CHECK(problem("hello world\n") == "g.mtx:1: read 'hello', the file must begin with "
                                      "%%MatrixMarket");
    CHECK(problem("\x01\xff\n") == "g.mtx:1: read '\\x01\\xff', the file must begin with "
                                   "%%MatrixMarket");
    auto const banner = [](std::string const& words) {
      return problem("%%MatrixMarket " + words + "\n1 1 0\n");
    };
    CHECK(banner("matrix coordinate pattern") ==
          "g.mtx:1: read symmetry '' in the banner, allowed is one of: general symmetric");
    CHECK(banner("matrix coordinate pattern general more") ==
          "g.mtx:1: read 'more' after the banner's five words");
    CHECK(banner("matrix array real general") ==
          "g.mtx:1: format 'array' is not supported, allowed is one of: coordinate");
    CHECK(banner("vector coordinate real general") ==
          "g.mtx:1: object 'vector' is not supported, allowed is one of: matrix");
    CHECK(banner("matrix coordinate Complex general") ==
          "g.mtx:1: field 'complex' is not supported, allowed is one of: pattern real integer");
    CHECK(banner("matrix coordinate real skew-symmetric") ==
          "g.mtx:1: symmetry 'skew-symmetric' is not supported, allowed is one of: general "
          "symmetric");
    CHECK(banner("matrix coordinate real hermitian").find("hermitian") != std::string::npos);
    CHECK(banner("matrix coordinate float general") ==
          "g.mtx:1: read field 'float' in the banner, allowed is one of: pattern real integer");
    std::string tar(512, '\0');
    tar.replace(257, 5, "ustar");
    CHECK(problem(tar + pattern_banner) ==
          "g.mtx:1: this is a tar archive; unpack it and read the .mtx file in it");
  }

  TEST_CASE("a wrong size line is named with its line") {
    auto const size = [](std::string const& line) { return problem(pattern_banner + line); };
    CHECK(size("% only\n%comments\n") == "g.mtx:3: the file ends before the size line");
    CHECK(size("\n3 3\n") == "g.mtx:3: read '' in the size line '3 3', which must be three whole "
                             "numbers: rows, columns, entries");
    CHECK(size("3 x 1\n") ==
          "g.mtx:2: read 'x' in the size line '3 x 1', which must be three whole "
          "numbers: rows, columns, entries");
    CHECK(size("3 3 -1\n").starts_with("g.mtx:2: read '-1' in the size line"));
    CHECK(size("3 3 1.5\n").starts_with("g.mtx:2: read '1.5' in the size line"));
    CHECK(size("3 3 1 4\n") == "g.mtx:2: read '4' after the three numbers of the size line");
    CHECK(size("3 3 18446744073709551616\n") ==
          "g.mtx:2: read '18446744073709551616' in the size line, a number of more than 64 bits");
    CHECK(size("3 4 1\n") == "g.mtx:2: a matrix of 3 x 4 is no adjacency matrix; rows and columns "
                             "must be equal in number");
    CHECK(size("4294967296 4294967296 1\n") ==
          "g.mtx:2: 4294967296 vertices, at most 4294967295 are allowed");
  }

  TEST_CASE("a wrong entry is named with its line") {
    CHECK(entry_problem(pattern_banner, "1 2") == "");
    CHECK(entry_problem(pattern_banner, "0 1") == "g.mtx:4: read row '0', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "1 0") == "g.mtx:4: read column '0', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "4 1") == "g.mtx:4: read row '4', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "1 4") == "g.mtx:4: read column '4', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "x 1") == "g.mtx:4: read row 'x', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "1 2x") == "g.mtx:4: read column '2x', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "-1 2") == "g.mtx:4: read row '-1', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "1.0 2") == "g.mtx:4: read row '1.0', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "4294967297 2") ==
          "g.mtx:4: read row '4294967297', allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "1") ==
          "g.mtx:4: the column is missing, allowed is 1 to 3");
    CHECK(entry_problem(pattern_banner, "1 2 3") ==
          "g.mtx:4: read '3' after the entry; a pattern entry has a row and a column");
    CHECK(entry_problem(real_banner, "1 2 3 4") ==
          "g.mtx:4: read '4' after the entry; a real entry has a row, a column and a value");
    CHECK(entry_problem(pattern_banner, std::string("1 2\0", 4)) ==
          "g.mtx:4: read column '2\\x00', allowed is 1 to 3");
  }

  TEST_CASE("a wrong value is named with its line") {
    CHECK(entry_problem(real_banner, "1 2") ==
          "g.mtx:4: the value is missing, allowed is a finite decimal number");
    for (std::string const bad : {"x", "1.5.2", "1e999", "-1e999", "nan", "inf", "0x10", "1e", "+",
                                  "+-1", "++1", "--1", "1,5"})
      CHECK(entry_problem(real_banner, "1 2 " + bad) ==
            "g.mtx:4: read value '" + bad + "', allowed is a finite decimal number");
    for (std::string const bad : {"1.5", "x", "9223372036854775808", "1e3", "+-1"})
      CHECK(entry_problem(integer_banner, "1 2 " + bad) ==
            "g.mtx:4: read value '" + bad + "', allowed is a whole number of 64 bits");
  }

  TEST_CASE("fewer and more entries than promised are errors") {
    CHECK(problem(std::string(pattern_banner) + "3 3 2\n1 2\n\n") ==
          "g.mtx:4: the file ends after 1 entries, the size line promises 2");
    CHECK(problem(std::string(pattern_banner) + "3 3 1\n1 2\n% end\n2 1\n") ==
          "g.mtx:5: read '2 1' after the last of the 1 entries that the size line promises");
  }

  TEST_CASE("a size line that promises absurd numbers costs no memory before they are seen") {
    CHECK(problem(std::string(pattern_banner) + "3 3 18446744073709551615\n1 2\n") ==
          "g.mtx:3: the file ends after 1 entries, the size line promises 18446744073709551615");
    CHECK(problem(std::string(pattern_banner) + "4294967295 4294967295 1\n1 2\n",
                  {.memory_limit_bytes = 1 << 30}) ==
          "g.mtx:2: 4294967295 vertices need 68719476736 bytes, the limit is 1073741824");
    std::string many = std::string(pattern_banner) + "2 2 100000\n";
    for (int i = 0; i < 100'000; ++i)
      many += "1 2\n";
    CHECK(problem(many, {.memory_limit_bytes = 1 << 19}) ==
          "g.mtx:65538: 65536 edges need 786480 bytes, the limit is 524288");
    CHECK(problem(many) == "");
  }

  TEST_CASE("a line longer than the buffer is an error, one of half a megabyte is not") {
    auto const with_comment = [](std::size_t length) {
      return std::string(pattern_banner) + "%" + std::string(length, 'x') + "\n1 1 0\n";
    };
    CHECK(problem(with_comment(500'000)) == "");
    CHECK(problem(with_comment(1 << 21)) == "g.mtx:2: the line is longer than 1048576 bytes");
  }

  TEST_CASE("a compressed file is read like a plain one") {
    temporary_folder const folder;
    auto const text = std::string(pattern_banner) + "3 3 2\n1 2\n3 1\n";
    auto const file = folder.write_gzip("g.mtx.gz", text);
    REQUIRE(folder.read(file).substr(0, 2) == "\x1f\x8b");
    CHECK(read_matrix_market(file).value() == from(3, {{0, 1}, {2, 0}}));
  }

  TEST_CASE("a truncated and a damaged gzip file are errors") {
    temporary_folder const folder;
    auto const graph = rmat({.scale = 8, .edge_factor = 8}).value();
    auto const file = folder.path() / "g.mtx.gz";
    REQUIRE(write_matrix_market(file, graph).has_value());
    auto const whole = folder.read(file);
    for (std::size_t const length : {std::size_t{12}, whole.size() / 2, whole.size() - 1}) {
      CAPTURE(length);
      auto const cut = read_matrix_market(folder.write("cut.gz", whole.substr(0, length)));
      REQUIRE(cut.has_error());
      CHECK(cut.error().code == std::errc::bad_message);
      CHECK(cut.error().what.ends_with("the gzip stream is truncated"));
    }
    REQUIRE(write_matrix_market(folder.path() / "g.mtx", graph).has_value());
    auto const text = folder.read(folder.path() / "g.mtx");
    auto const lines = std::count(text.begin(), text.end(), '\n');
    auto const last =
        read_matrix_market(folder.write("last.gz", whole.substr(0, whole.size() - 1)));
    CHECK(last.error().what.find("last.gz:" + std::to_string(lines + 1) + ": ") !=
          std::string::npos);
    auto damaged = whole;
    damaged[whole.size() - 6] ^= 1; // in the check sum: the data are right to their end
    auto const read = read_matrix_market(folder.write("damaged.gz", damaged));
    REQUIRE(read.has_error());
    CHECK(read.error().what.find("the gzip stream is corrupt: ") != std::string::npos);
  }

  TEST_CASE(
      "a graph comes back as it was written, plain and compressed, through a file or a stream") {
    temporary_folder const folder;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      CAPTURE(seed);
      auto const graph =
          rmat({.scale = static_cast<std::uint32_t>(seed), .edge_factor = 9, .seed = seed}).value();
      for (auto const& name : {"g.mtx", "g.mtx.gz"}) {
        REQUIRE(write_matrix_market(folder.path() / name, graph, "made by a test").has_value());
        CHECK(read_matrix_market(folder.path() / name).value() == graph);
      }
      auto const stream = std::fopen((folder.path() / "s.mtx").c_str(), "wb");
      REQUIRE(write_matrix_market(stream, "s.mtx", graph).has_value());
      std::fclose(stream);
      CHECK(read_matrix_market(folder.path() / "s.mtx").value() == graph);
    }
  }

  TEST_CASE("the written text is what the format asks for") {
    temporary_folder const folder;
    auto const file = folder.path() / "g.mtx";
    REQUIRE(write_matrix_market(file, from(3, {{0, 2}, {2, 1}}), "one\n\ntwo\n").has_value());
    CHECK(folder.read(file) ==
          "%%MatrixMarket matrix coordinate pattern general\n% one\n% \n% two\n"
          "3 3 2\n1 3\n3 2\n");
  }

  TEST_CASE("what cannot be written is an error of the system") {
    temporary_folder const folder;
    auto const graph = from(2, {{0, 1}});
    CHECK(write_matrix_market(folder.path() / "no" / "g.mtx", graph).error().code ==
          std::errc::no_such_file_or_directory);
    auto const full = write_matrix_market("/dev/full", graph);
    REQUIRE(full.has_error());
    CHECK(full.error().code == std::errc::no_space_on_device);
    CHECK(full.error().what == "/dev/full: cannot write: No space left on device");
    auto const stream = std::fopen("/dev/full", "wb");
    CHECK(write_matrix_market(stream, "stream", graph).error().code ==
          std::errc::no_space_on_device);
    std::fclose(stream);
  }

  TEST_CASE("a file edited at random gives a graph or an error, and a graph is valid") {
    temporary_folder const folder;
    std::string const text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n5 5 6\n"
                             "1 1 1.5\n2 1 -1e-3\n3 2 4\n4 4 0\n5 1 +2.25\n5 4 1e10\n";
    auto const compressed = folder.read(folder.write_gzip("whole.gz", text));
    int graphs = 0;
    int errors = 0;
    for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
      CAPTURE(seed);
      std::mt19937_64 random(seed);
      auto const file = folder.write("m.mtx", mutated(seed % 4 == 0 ? compressed : text, random));
      auto const read = read_matrix_market(file, {.memory_limit_bytes = 1 << 20});
      graphs += read.has_value();
      errors += !read.has_value();
      if (read)
        REQUIRE(validate(*read).has_value());
      else
        REQUIRE(read.error().what.starts_with(file.string() + ":"));
    }
    CHECK(graphs > 100); // edits of a comment or a value
    CHECK(errors > 1'000);
  }
}
