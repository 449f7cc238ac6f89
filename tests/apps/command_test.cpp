// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"
#include "running_command.hpp"

#include <algorithm>
#include <sched.h>
#include <sstream>

namespace {

command_outcome quarry(std::vector<std::string> arguments) {
  return run_command("QUARRY_COMMAND", std::move(arguments));
}

/// The calling thread, and what it starts meanwhile, run on one processor.
class one_processor {
public:
  one_processor() {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    int first = 0;
    while (!CPU_ISSET(first, &before_))
      ++first;
    CPU_SET(first, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  one_processor(one_processor const&) = delete;
  one_processor& operator=(one_processor const&) = delete;
  ~one_processor() { static_cast<void>(sched_setaffinity(0, sizeof before_, &before_)); }

private:
  cpu_set_t before_{};
};

/// The names below "Subcommands:" in the text of a help.
std::vector<std::string> subcommands_of(std::string const& help) {
  std::istringstream stream(help);
  std::vector<std::string> names;
  std::string line;
  while (std::getline(stream, line) && line != "Subcommands:")
    ;
  while (std::getline(stream, line) && !line.empty()) {
    std::string name;
    std::istringstream(line) >> name;
    names.push_back(name);
  }
  return names;
}

} // namespace

TEST_SUITE("apps.command") {
  TEST_CASE("gups says how many nodes it runs on, and that each makes the same number of updates") {
    auto const help = quarry({"run", "gups", "--help"});
    CHECK(help.says("a power of two of nodes"));
    CHECK(help.says("updates of all nodes; each has the same number"));
  }

  TEST_CASE("every command has help with examples, and help is no failure") {
    std::vector<std::vector<std::string>> commands{{}}; // grows by what each one's help lists
    for (std::size_t at = 0; at < commands.size(); ++at) {
      auto line = commands[at];
      line.emplace_back("--help");
      auto const outcome = quarry(line);
      CAPTURE(outcome.out);
      CHECK(outcome.status == 0);
      CHECK(outcome.err == "");
      bool const has_examples =
          outcome.says("\nExamples:\n  quarry ") || outcome.says("\nExample:\n  quarry ");
      CHECK(has_examples);
      for (auto const& name : subcommands_of(outcome.out)) {
        line.back() = name;
        commands.push_back(line);
      }
    }
    for (auto const& known : std::vector<std::vector<std::string>>{
             {"info"}, {"run"}, {"run", "gups"}, {"graph", "debian"}, {"study", "channels"}})
      CHECK(std::ranges::count(commands, known) == 1);
  }

  TEST_CASE("no command, an unknown one and an unknown program are refused with what there is") {
    CHECK(quarry({}).status == 2);
    CHECK(quarry({}).says("no command given; there are: run, launch, explore, replay, gdb, graph, "
                          "litmus, study, info"));
    CHECK(quarry({"nonsense"}).status == 2);
    CHECK(quarry({"nonsense"})
              .says("no command 'nonsense'; there are: run, launch, explore, replay, gdb, graph, "
                    "litmus, study, info"));
    CHECK(quarry({"run", "nonsense"}).status == 2);
    CHECK(quarry({"run", "nonsense"}).says("run: no program 'nonsense'; "));
  }

  TEST_CASE("threads are those that the process may use, and not all of the machine") {
    one_processor const narrow;
    auto const outcome = quarry({"info"});
    auto const gups = quarry({"run", "gups", "--updates", "1000"});
    CHECK_MESSAGE(outcome.says("hardware threads  1\n"), outcome.out);
    CHECK(gups.status == 0);
    CHECK_MESSAGE(!gups.says("TBB Warning"), gups.err);
  }

  TEST_CASE("info says what the build has, and writes the same as JSON") {
    temporary_folder const folder;
    auto const file = folder.path() / "info.json";
    auto const outcome = quarry({"info", "--json", file.string()});
    CHECK(outcome.status == 0);
    for (char const* fact : {"version ", "compiler ", "march ", "sanitizers ", "oneTBB ", "MPI ",
                             "in-process, loopback", "gravel, no_aggregation", "32, 64"})
      CHECK_MESSAGE(outcome.says(fact), outcome.out);
    CHECK(temporary_folder::read(file).find("\"transports\": [\n    \"in-process\"") !=
          std::string::npos);
    CHECK(quarry({"info", "--json", "/no/such/folder/x"}).status == 3);
  }
}
