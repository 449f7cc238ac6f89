// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"
#include "running_command.hpp"

#include <nlohmann/json.hpp>

#include <regex>

namespace {

command_outcome probe(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  return run_command("QUARRY_RUN_PROBE", std::move(arguments));
}

/// An environment variable, for as long as this lives.
class variable {
public:
  variable(char const* name, std::string const& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  variable(variable const&) = delete;
  variable& operator=(variable const&) = delete;
  ~variable() { ::unsetenv(name_); }

private:
  char const* name_;
};

} // namespace

TEST_SUITE("apps.run") {
  TEST_CASE(
      "the table has a column for each figure and the wrong answers, and ends in the verdict") {
    auto const outcome = probe({"good", "--nodes", "2", "--seed", "9"});
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    std::regex const table("# quarry [0-9.]+ run good\n"
                           "#  transport in-process  scheduler native  style gravel  "
                           "aggregators 1  wavefront size 64  threads per node [0-9]+  "
                           "compute units [0-9]+  seed 9\n"
                           "#  answers two\n"
                           "#\n"
                           "#  nodes +updates +time +messages +#wrong\n"
                           "# +\\(ms\\) +\n"
                           " +2 +1152921504606846976 +1\\.500 +4 +0\n"
                           "1\\. libc6\n"
                           "2\\. perl\n"
                           "# 0 wrong: OK\n");
    CHECK_MESSAGE(std::regex_match(outcome.out, table), outcome.out);
  }

  TEST_CASE("JSON holds what the table holds, exactly") {
    temporary_folder const folder;
    auto const file = folder.path() / "result.json";
    CHECK(probe({"good", "--style", "no_aggregation", "--compute-units", "3", "--check-bounds",
                 "--json", file.string()})
              .status == 0);
    auto const json = nlohmann::json::parse(temporary_folder::read(file));
    CHECK(json["program"] == "good");
    CHECK(json["verified"] == true);
    CHECK(json["wrong"] == 0);
    CHECK(json["options"]["style"] == "no_aggregation");
    CHECK(json["options"]["answers"] == "two");
    CHECK(json["options"]["compute units"] == 3);
    CHECK(json["options"]["bounds"] == "checked");
    CHECK(json["figures"].size() == 3);
    CHECK(json["figures"][0]["value"] == std::uint64_t{1} << 60);
    CHECK(json["figures"][1]["unit"] == "ms");
    CHECK(json["lines"][1] == "2. perl");
  }

  TEST_CASE("the exit status is 0 only for an answer that was checked and right") {
    auto const wrong = probe({"wrong"});
    CHECK(wrong.status == 1);
    CHECK(wrong.says("# 2 wrong: FAILED: libc6 and perl\n"));
    auto const unchecked = probe({"unchecked"});
    CHECK(unchecked.status == 1);
    CHECK(unchecked.says("# not checked: FAILED"));
  }

  TEST_CASE("a fault of the world is told from a wrong answer") {
    auto const fault = probe({"fault"});
    CHECK(fault.status == 3);
    CHECK(fault.out == "");
    CHECK(fault.err == "quarry run fault: peer 3 is lost\n");
    auto const throwing = probe({"throwing"});
    CHECK(throwing.status == 3);
    CHECK(throwing.err == "quarry run throwing: no more sockets\n");
    CHECK(probe({"good", "--json", "/no/such/folder/x"}).status == 3);
  }

  TEST_CASE("loopback starts a process for each node, and one of them prints") {
    temporary_folder const folder;
    auto const file = folder.path() / "ranks";
    auto const outcome =
        probe({"ranks", "--nodes", "3", "--transport", "loopback", "--file", file.string()});
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    CHECK(running_command::occurrences(outcome.out, "# 0 wrong: OK\n") == 1);
    CHECK(sorted_lines(temporary_folder::read(file)) ==
          std::vector<std::string>{"0 of 3", "1 of 3", "2 of 3"});
  }

  TEST_CASE("one node on loopback is a job as well, and in-process none is") {
    temporary_folder const folder;
    auto const one = folder.path() / "one";
    CHECK(probe({"ranks", "--transport", "loopback", "--file", one.string()}).status == 0);
    CHECK(temporary_folder::read(one) == "0 of 1\n");
    auto const all = folder.path() / "all";
    CHECK(probe({"ranks", "--nodes", "5", "--file", all.string()}).status == 0);
    CHECK(temporary_folder::read(all) == "all of 5\n");
  }

  TEST_CASE("a node that is killed ends the run, with its name, even if the others are stopped") {
    auto const outcome = probe({"mortal", "--nodes", "3", "--transport", "loopback"});
    CHECK(outcome.status == 128 + SIGKILL);
    std::regex const message("quarry run: node 1 \\(pid [0-9]+\\) died of signal 9 \\(Killed\\); "
                             "stopping the other 2\n[^]*");
    CHECK_MESSAGE(std::regex_match(outcome.err, message), outcome.err);
  }

  TEST_CASE("half a launcher's environment is refused with what is missing, not run alone") {
    variable const size("QUARRY_SIZE", "2");
    auto const outcome = probe({"good"});
    CHECK(outcome.status == 3);
    CHECK(outcome.says("QUARRY_RANK is not set"));
  }

  TEST_CASE("under a launcher the job decides the transport and the number of nodes") {
    temporary_folder const folder;
    auto const file = folder.path() / "ranks";
    variable const rank("QUARRY_RANK", "1");
    variable const size("QUARRY_SIZE", "2");
    variable const token("QUARRY_TOKEN", std::string(32, 'a'));
    variable const addresses("QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1:5002");
    auto const outcome = probe({"ranks", "--file", file.string()});
    CHECK(outcome.status == 0);
    CHECK(outcome.out == ""); // node 0 prints
    CHECK(temporary_folder::read(file) == "1 of 2\n");
    auto const other = probe({"good", "--nodes", "3"});
    CHECK(other.status == 2);
    CHECK(other.says("--nodes: read 3, but this process is one of 2 nodes (QUARRY_SIZE)"));
    CHECK(probe({"good", "--transport", "in-process"}).status == 2);
    variable const broken("QUARRY_TOKEN", "secret");
    auto const fault = probe({"good"});
    CHECK(fault.status == 3);
    CHECK(fault.says("QUARRY_TOKEN"));
  }

  TEST_CASE("a value that is not allowed is refused with what is, before anything runs") {
    struct refusal {
      std::vector<std::string> line;
      std::string message;
    };
    for (auto const& [line, message] : std::vector<refusal>{
             {{}, "run: no program given; there are: good, wrong,"},
             {{"nonsense"}, "run: no program 'nonsense'; there are: good, wrong,"},
             {{"--nodes", "2", "good"}, "'--nodes' was not expected; options come after"},
             {{"good", "better"}, "not expected: better"},
             {{"good", "--nodes", "0"}, "--nodes: read '0', allowed is a whole number from 1 to"},
             {{"good", "--nodes", "-1"}, "--nodes: read '-1', allowed is a whole number"},
             {{"good", "--nodes", "1.5"}, "--nodes: read '1.5', allowed is a whole number"},
             {{"good", "--transport", "tcp"},
              "--transport: read 'tcp', allowed is one of: in-process, loopback, mpi"},
             {{"good", "--scheduler", "fast"},
              "--scheduler: read 'fast', allowed is one of: native"},
             {{"good", "--style", "x"}, "--style: read 'x', allowed is one of: gravel, no_agg"},
             {{"wrong", "--style", "gravel"}, "not expected: gravel --style"},
             {{"good", "--wavefront-size", "48"}, "read '48', allowed is one of: 32, 64"},
             {{"good", "--compute-units", "9999"}, "read '9999', allowed is a whole number from 0"},
             {{"good", "--threads", "many"}, "--threads: read 'many', allowed is a whole number"},
             {{"good", "--seed", "18446744073709551616"}, "read '18446744073709551616', allowed"},
             {{"good", "--timeout", "-3"}, "--timeout: read '-3', allowed is a number of seconds"},
             {{"ranks", "--nodes", "2", "--transport", "loopback"}, "--file is needed here"}}) {
      auto const outcome = probe(line);
      CAPTURE(message);
      CHECK(outcome.status == 2);
      CHECK(outcome.out == "");
      CHECK_MESSAGE(outcome.says(message), outcome.err);
    }
  }

  TEST_CASE("mpi without mpirun, or in a build that has none, is refused with what would help") {
    auto const outcome = probe({"good", "--transport", "mpi"});
    CHECK(outcome.status == 3);
    CHECK_MESSAGE((outcome.says("mpirun -n 4 --bind-to none --oversubscribe PROGRAM") ||
                   outcome.says("-Dmpi=enabled")),
                  outcome.err);
  }

  TEST_CASE("one of mpirun's processes is no job of its own") {
    variable const rank("PMI_RANK", "0");
    for (char const* other : {"loopback", "in-process"}) {
      auto const outcome = probe({"good", "--transport", other});
      CHECK(outcome.status == 2);
      CHECK_MESSAGE(outcome.says("(mpirun has started it): allowed is mpi"), outcome.err);
    }
  }

  TEST_CASE("help of a program lists its own options and the common ones") {
    auto const outcome = probe({"ranks", "--help"});
    CHECK(outcome.status == 0);
    CHECK(outcome.says("--file"));
    CHECK(outcome.says("--wavefront-size"));
    CHECK(outcome.says("Examples:"));
  }

  TEST_CASE("no progress is written where nobody watches it") {
    auto const outcome = probe({"progress"});
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
  }

  TEST_CASE("a terminal sees at most ten progress lines a second, and none at the end") {
    int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(terminal >= 0);
    REQUIRE(::grantpt(terminal) == 0);
    REQUIRE(::unlockpt(terminal) == 0);
    auto const begin = std::chrono::steady_clock::now();
    auto const line =
        std::string("exec \"$QUARRY_RUN_PROBE\" run progress 2>") + ::ptsname(terminal);
    running_command command({"sh", "-c", line});
    CHECK(command.status() == 0);
    auto const passed = std::chrono::steady_clock::now() - begin;
    std::string seen;
    char buffer[4096];
    for (ssize_t got = 0;
         (got = ::read(terminal, buffer, sizeof buffer)) > 0;) // until EIO: all gone
      seen.append(buffer, static_cast<std::size_t>(got));
    ::close(terminal);
    auto const clear = std::string("\r\033[K");
    CHECK(seen.starts_with(clear + "counting    0 %"));
    CHECK(seen.ends_with(clear));
    auto const most = static_cast<std::size_t>(passed / std::chrono::milliseconds(100)) + 1;
    CHECK(running_command::occurrences(seen, "counting") <= most);
  }
}
