// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"

#include <quarry/litmus/expected.hpp>

#include <doctest/doctest.h>

using namespace quarry::litmus;

namespace {

constexpr char const* head = "test,verdict,class\n";

/// What is wrong with such a list; empty if nothing is.
std::string problem(std::string const& text) {
  temporary_folder const folder;
  auto const read = read_expectations(folder.write("e.csv", text));
  return read ? "" : read.error().what.substr(folder.path().string().size() + 1);
}

} // namespace

TEST_SUITE("apps.litmus_expected") {
  TEST_CASE("rows are read with their classes, whatever ends their lines") {
    temporary_folder const folder;
    auto const list =
        folder.write("e.csv", std::string(head) + "a.litmus,allowed,exact-allowed\r\n\n"
                                                  "b.litmus,forbidden,exact-forbidden\n"
                                                  "c.litmus,forbidden,forbidden\n"
                                                  "d/d.litmus,allowed,model-stronger");
    auto const rows = read_expectations(list).value();
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].test == folder.path() / "a.litmus");
    CHECK(rows[0].what == expected_class::exact_allowed);
    CHECK(rows[1].what == expected_class::exact_forbidden);
    CHECK(rows[2].what == expected_class::forbidden);
    CHECK(rows[3].what == expected_class::model_stronger);
    CHECK(rows[3].test == folder.path() / "d" / "d.litmus");
  }

  TEST_CASE("what is wrong is named with its line") {
    CHECK(problem("") == "e.csv: there is no row in it");
    CHECK(problem(head) == "e.csv: there is no row in it");
    CHECK(problem("a,b\n") == "e.csv:1: read 'a,b', expected test,verdict,class");
    CHECK(problem(std::string(head) + "a,allowed,exact\n") ==
          "e.csv:2: read class 'exact', expected exact-allowed, exact-forbidden, forbidden or "
          "model-stronger");
    CHECK(problem(std::string(head) + "\na,allowed,exact-forbidden\n") ==
          "e.csv:3: read verdict 'allowed', expected forbidden for class exact-forbidden");
    CHECK(problem(std::string(head) + ",allowed,exact-allowed\n") ==
          "e.csv:2: the name of a test is missing");
    CHECK(problem(std::string(head) + "a,allowed,exact-allowed\nb,allowed,exact-allowed\n"
                                      "./a,forbidden,forbidden\n") ==
          "e.csv:4: an earlier row expects something else of a");
    CHECK(problem(std::string(head) + "a,allowed,exact-allowed\na,allowed,exact-allowed\n") == "");
    temporary_folder const folder;
    CHECK(read_expectations(folder.path() / "none").error().code ==
          std::errc::no_such_file_or_directory);
  }

  TEST_CASE("a class says which verdicts meet it") {
    struct row {
      expected_class what;
      bool allowed;
      bool forbidden;
      bool inconclusive;
    };
    for (auto const& [what, allowed, forbidden, inconclusive] :
         {row{expected_class::exact_allowed, true, false, false},
          row{expected_class::exact_forbidden, false, true, false},
          row{expected_class::forbidden, false, true, true},
          row{expected_class::model_stronger, true, true, true}}) {
      CAPTURE(to_string(what));
      expectation const one{"a", what};
      CHECK(one.is_met_by(verdict::allowed) == allowed);
      CHECK(one.is_met_by(verdict::forbidden) == forbidden);
      CHECK(one.is_met_by(verdict::inconclusive) == inconclusive);
      CHECK(one.is_met_by(verdict::no_end) == forbidden);
    }
  }

  TEST_CASE("a row is found for its own file, or for one of its name when that is not there") {
    temporary_folder const folder;
    std::filesystem::create_directory(folder.path() / "there");
    auto const mine = folder.write("a.litmus", "");
    auto const other = folder.write("there/a.litmus", "");
    auto const rows =
        read_expectations(folder.write("e.csv", std::string(head) +
                                                    "a.litmus,allowed,exact-allowed\n"
                                                    "gone/b.litmus,allowed,model-stronger\n"))
            .value();
    CHECK(find_expectation(rows, mine).value() == &rows[0]);
    CHECK(find_expectation(rows, folder.path() / "there" / ".." / "a.litmus").value() == &rows[0]);
    CHECK(find_expectation(rows, other).value() == nullptr);
    CHECK(find_expectation(rows, folder.path() / "there" / "b.litmus").value() == &rows[1]);
    CHECK(find_expectation(rows, "c.litmus").value() == nullptr);
  }

  TEST_CASE("where two files of a name are expected to differ, and are not there, none is taken") {
    temporary_folder const folder;
    auto const mine = folder.write("a.litmus", "");
    std::string const gone = "gone/a.litmus,forbidden,exact-forbidden\n";
    std::string const other = "other/a.litmus,allowed,exact-allowed\n";
    for (std::string const& text : {gone + other, other + gone}) {
      auto const rows = read_expectations(folder.write("e.csv", std::string(head) + text)).value();
      auto const found = find_expectation(rows, mine);
      REQUIRE(found.has_error());
      CHECK(found.error().what.find("a.litmus is expected to be ") != std::string::npos);
      CHECK(found.error().what.find("neither of these is there") != std::string::npos);
    }
    // The file's own row counts, whatever others say.
    auto const rows =
        read_expectations(folder.write("e.csv", std::string(head) + gone + other +
                                                    "a.litmus,allowed,exact-allowed\n"))
            .value();
    CHECK(find_expectation(rows, mine).value() == &rows[2]);
  }

  TEST_CASE("a list may have many rows; what is wrong in one is quoted") {
    temporary_folder const folder;
    std::string text(head);
    for (int i = 0; i < 100'000; ++i)
      text += "t" + std::to_string(i) + ".litmus,allowed,exact-allowed\n";
    CHECK(read_expectations(folder.write("many.csv", text)).value().size() == 100'000);
    auto const odd = read_expectations(
        folder.write("odd.csv", std::string(head) + "a.litmus,\x1b[31mallowed,exact-allowed\n"));
    REQUIRE(odd.has_error());
    CHECK(odd.error().what.find("read verdict '\\x1b[31mallowed', expected allowed") !=
          std::string::npos);
  }
}
