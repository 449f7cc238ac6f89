// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"
#include "running_command.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

namespace {

/// Message passing within a work-group; P1 looks in the same way in all of them.
std::string message_passing(std::string const& publish) {
  return "PTX MP\n{x=0; y=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
         " st.weak x, 1 | ld.acquire.cta r0, y ;\n " +
         publish + " y, 1 | ld.weak r1, x ;\n~exists (P1:r0 == 1 /\\ P1:r1 == 0)\n";
}

/// A folder with one test of each verdict, and a list that is right about them.
struct corpus : temporary_folder {
  corpus() {
    add("right.litmus", message_passing("st.release.cta"));
    add("wrong.litmus", message_passing("st.weak"));
    list = write("expected.csv", "test,verdict,class\nright.litmus,forbidden,exact-forbidden\n"
                                 "wrong.litmus,allowed,exact-allowed\n");
  }
  void add(std::string const& name, std::string const& text) const {
    static_cast<void>(write(name, text));
  }
  std::string list;
};

command_outcome litmus(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "litmus");
  return run_command("QUARRY_COMMAND", arguments);
}

} // namespace

TEST_SUITE("apps.litmus_command") {
  TEST_CASE("a folder's tests give a row each, and status 0 when all expectations are met") {
    corpus const here;
    auto const done = litmus({here.path(), "--expected", here.list});
    CAPTURE(done.out);
    CAPTURE(done.err);
    CHECK(done.status == 0);
    CHECK(done.says("   forbidden "));
    CHECK(done.says("exact-forbidden  yes   " + (here.path() / "right.litmus").string()));
    CHECK(done.says("exact-allowed    yes   " + (here.path() / "wrong.litmus").string()));
    CHECK(done.says("# 2 tests: 1 allowed, 1 forbidden, 0 inconclusive, 0 unsupported\n"
                    "# expected: 1 of 1 exact-allowed, 1 of 1 exact-forbidden: OK\n"));
  }

  TEST_CASE("a list is one file: tests may come after it, and other lists") {
    corpus const here;
    auto const right = (here.path() / "right.litmus").string();
    auto const wrong = (here.path() / "wrong.litmus").string();
    auto const done = litmus({"--expected", here.list, right, wrong});
    CAPTURE(done.out);
    CAPTURE(done.err);
    CHECK(done.status == 0);
    CHECK(done.says("# expected: 1 of 1 exact-allowed, 1 of 1 exact-forbidden: OK\n"));
    auto const of_right = here.write("r.csv", "test,verdict,class\n"
                                              "right.litmus,forbidden,exact-forbidden\n");
    auto const of_wrong = here.write("w.csv", "test,verdict,class\n"
                                              "wrong.litmus,allowed,exact-allowed\n");
    auto const both = litmus({"--expected", of_right, "--expected", of_wrong, right, wrong});
    CHECK(both.status == 0);
    CHECK(both.says("# expected: 1 of 1 exact-allowed, 1 of 1 exact-forbidden: OK\n"));
  }

  TEST_CASE("two lists may agree on a test; that they do not is status 2, before anything runs") {
    corpus const here;
    auto const agrees = here.write("a.csv", "test,verdict,class\n"
                                            "right.litmus,forbidden,exact-forbidden\n");
    auto const differs = here.write("d.csv", "test,verdict,class\n"
                                             "right.litmus,allowed,model-stronger\n");
    CHECK(litmus({here.path(), "--expected", here.list, "--expected", agrees}).status == 0);
    auto const done = litmus({here.path(), "--expected", here.list, "--expected", differs});
    CHECK(done.status == 2);
    CHECK(done.says("d.csv: an earlier list expects something else of " +
                    (here.path() / "right.litmus").string() +
                    ": exact-forbidden, and not model-stronger\n"));
    CHECK(done.out.empty());
  }

  TEST_CASE("an expectation that is not met is status 1, and so is one that cannot be looked at") {
    corpus const here;
    auto const wrong = here.write("e.csv", "test,verdict,class\n"
                                           "wrong.litmus,forbidden,forbidden\n");
    auto const done = litmus({here.path() / "wrong.litmus", "--expected", wrong});
    CHECK(done.status == 1);
    CHECK(done.says("forbidden        NO "));
    CHECK(done.says("# expected: 0 of 1 forbidden: FAILED\n"));
    here.add("new.litmus", "PTX new\n{x=0;}\n P0@cta 0,gpu 0 ;\n tld.weak r0, x ;\n"
                           "exists (x == 0)\n");
    auto const list = here.write("n.csv", "test,verdict,class\n"
                                          "new.litmus,forbidden,exact-forbidden\n");
    auto const unsupported = litmus({here.path() / "new.litmus", "--expected", list});
    CHECK(unsupported.status == 1);
    CHECK(unsupported.says("unsupported "));
    CHECK(unsupported.says("line 4: tld.weak\n"));
    CHECK(litmus({here.path() / "new.litmus"}).status == 0);
  }

  TEST_CASE("too few states make a test inconclusive, and an exact expectation unmet") {
    corpus const here;
    auto const done =
        litmus({here.path() / "right.litmus", "--max-states", "3", "--expected", here.list});
    CHECK(done.status == 1);
    CHECK(done.says("   inconclusive          3 "));
    CHECK(done.says("\n                 it has more states than the limit (--max-states)\n"));
    CHECK(done.says("1 of 2 rows are for tests that were not asked for"));
  }

  TEST_CASE(
      "a file that is asked for by several paths is one test, a row that stands twice is one") {
    corpus const here;
    auto const list = here.write("twice.csv", "test,verdict,class\n"
                                              "right.litmus,forbidden,exact-forbidden\n"
                                              "right.litmus,forbidden,exact-forbidden\n"
                                              "none.litmus,allowed,exact-allowed\n");
    auto const right = here.path() / "right.litmus";
    auto const done =
        litmus({here.path(), right, here.path() / "." / "right.litmus", "--expected", list});
    CHECK(done.status == 0);
    CHECK(done.says("# 2 tests: "));
    CHECK(done.says("twice.csv: 1 of 3 rows are for tests that were not asked for"));
  }

  TEST_CASE("what is no file is refused where a folder has it, and not waited for") {
    corpus const here;
    REQUIRE(::mkfifo((here.path() / "pipe.litmus").c_str(), 0600) == 0);
    auto const done = litmus({here.path()});
    CHECK(done.status == 2);
    CHECK(done.says("cannot read " + (here.path() / "pipe.litmus").string() + ": it is no file"));
    CHECK(done.says("# 3 tests: 1 allowed, 1 forbidden"));
  }

  TEST_CASE("a test of which nothing comes to an end says so") {
    corpus const here;
    auto const stuck = here.write("stuck.litmus", "PTX stuck\n{x=0;}\n"
                                                  " P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
                                                  " bar.cta.sync 0 | bar.cta.sync 1 ;\n"
                                                  " bar.cta.sync 1 | bar.cta.sync 0 ;\n"
                                                  "exists (x == 1)\n");
    auto const list = here.write("s.csv", "test,verdict,class\n"
                                          "stuck.litmus,forbidden,exact-forbidden\n");
    auto const done = litmus({stuck, "--expected", list});
    CHECK(done.status == 0);
    CHECK(done.says("   no end "));
    CHECK(done.says("no execution comes to an end: in 2 somebody waits for ever"));
    CHECK(done.says("0 inconclusive, 1 without an end, 0 unsupported"));
  }

  TEST_CASE("tests that no list says anything about are counted") {
    corpus const here;
    auto const list = here.write("n.csv", "test,verdict,class\n"
                                          "right.litmus,forbidden,exact-forbidden\n");
    auto const done =
        litmus({here.path() / "right.litmus", here.path() / "wrong.litmus", "--expected", list});
    CHECK(done.status == 0);
    CHECK(done.says("1 of 2 tests are in no list: whatever they come to is taken"));
  }

  TEST_CASE("outcomes are counted, and the one that is asked about is marked") {
    corpus const here;
    auto const done = litmus({here.path() / "wrong.litmus", "--outcomes"});
    CHECK(done.status == 0);
    CHECK(done.says(" *  P1:r0=1  P1:r1=0\n"));
    CHECK(done.says("    P1:r0=1  P1:r1=1\n"));
    CHECK_FALSE(litmus({here.path() / "right.litmus", "--outcomes"}).says(" *  "));
  }

  TEST_CASE("the JSON has all that is printed") {
    corpus const here;
    auto const file = here.path() / "out.json";
    CHECK(litmus({here.path(), "--expected", here.list, "--json", file}).status == 0);
    auto const json = nlohmann::json::parse(temporary_folder::read(file));
    REQUIRE(json.at("tests").size() == 2);
    auto const& wrong = json["tests"][1];
    CHECK(json.at("met") == true);
    CHECK(wrong.at("file") == (here.path() / "wrong.litmus").string());
    CHECK(wrong.at("name") == "MP");
    CHECK(wrong.at("verdict") == "allowed");
    CHECK(wrong.at("expected") == "exact-allowed");
    CHECK(wrong.at("bounded") == false);
    CHECK(wrong.at("bounded_by").empty());
    CHECK(json.at("interrupted") == false);
    CHECK(wrong.at("states") > 3);
    int targets = 0;
    for (auto const& outcome : wrong.at("outcomes"))
      if (outcome.at("target")) {
        ++targets;
        CHECK(outcome.at("values").at("P1:r0") == 1);
        CHECK(outcome.at("values").at("P1:r1") == 0);
        CHECK(outcome.at("count") > 0);
      }
    CHECK(targets == 1);
    auto const full = litmus({here.path(), "--json", "/dev/full"});
    CHECK(full.status == 3);
    CHECK(full.says("/dev/full: cannot write"));
  }

  TEST_CASE("bad usage and files that are no tests are status 2, and all of them are named") {
    corpus const here;
    CHECK(litmus({}).status == 2);
    CHECK(litmus({here.path() / "none"}).status == 2);
    CHECK(litmus({here.path(), "--max-states", "0"}).status == 2);
    auto const bad_list = litmus({here.path(), "--expected", here.path() / "right.litmus"});
    CHECK(bad_list.status == 2);
    CHECK(bad_list.says("right.litmus:1: read 'PTX MP', expected test,verdict,class"));
    auto const other =
        here.write("o.csv", "test,verdict,class\nother.litmus,allowed,exact-allowed\n");
    auto const unverified = litmus({here.path(), "--expected", other});
    CHECK(unverified.status == 2);
    CHECK(unverified.says("o.csv: no row is for a test that was asked for"));
    temporary_folder const empty;
    CHECK(litmus({empty.path()}).says("no file in " + empty.path().string() + " ends in .litmus"));
  }

  TEST_CASE("a file that is no test is refused by name, with status 2, and the others are run") {
    corpus const here;
    here.add("bad1.litmus", "PTX t\n{x=0\n");
    here.add("bad2.litmus", "AArch64 t\n");
    auto const file = here.path() / "out.json";
    auto const done = litmus({here.path(), "--expected", here.list, "--json", file});
    CHECK(done.status == 2);
    CHECK(done.says("   refused               -           -  -                -     " +
                    (here.path() / "bad1.litmus").string()));
    CHECK(done.says("bad1.litmus:3: the file ends, expected ';' or '}' after a declaration"));
    CHECK(done.says("bad2.litmus:1: read 'AArch64', expected PTX or VULKAN"));
    CHECK(done.says("exact-allowed    yes   " + (here.path() / "wrong.litmus").string()));
    CHECK(done.says("# 4 tests: 1 allowed, 1 forbidden, 0 inconclusive, 0 unsupported, 2 refused"));
    auto const json = nlohmann::json::parse(temporary_folder::read(file));
    CHECK(json.at("tests")[0].at("verdict") == "refused");
    CHECK(json["tests"][0].at("refused").get<std::string>().ends_with("after a declaration"));
    CHECK(litmus({here.path() / "bad1.litmus"}).status == 2);
    auto const endless = litmus({"/dev/zero"});
    CHECK(endless.status == 2);
    CHECK(endless.says("cannot read /dev/zero: a litmus test has 64 KiB at most"));
    auto const list =
        here.write("e.csv", "test,verdict,class\nbad1.litmus,allowed,exact-allowed\n");
    auto const unmet = litmus({here.path(), "--expected", list});
    CHECK(unmet.status == 1);
    CHECK(unmet.says("exact-allowed    NO    " + (here.path() / "bad1.litmus").string()));
  }
}
