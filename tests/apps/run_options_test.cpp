// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <command_line/run_options.hpp>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace quarry;
using namespace std::chrono_literals;

namespace {

/// A launcher's variables for node 1 of two, for as long as this lives.
class launched {
public:
  explicit launched(std::chrono::milliseconds timeout) {
    auto jobs = net::make_local_jobs(2, timeout).value();
    for (net::job& j : jobs)
      ::close(std::exchange(j.listen_fd, -1));
    variables_ = net::environment_of(jobs[1]);
    for (std::string const& line : variables_)
      ::setenv(name_of(line).c_str(), line.substr(name_of(line).size() + 1).c_str(), 1);
  }
  launched(launched const&) = delete;
  launched& operator=(launched const&) = delete;
  ~launched() {
    for (std::string const& line : variables_)
      ::unsetenv(name_of(line).c_str());
  }

private:
  static std::string name_of(std::string const& line) { return line.substr(0, line.find('=')); }

  std::vector<std::string> variables_;
};

/// What a command line comes to there.
command::run_options found(std::string const& line) {
  command::run_options options;
  CLI::App app;
  command::add_run_options(app, options);
  app.parse(line);
  REQUIRE(command::find_job(app, options));
  return options;
}

} // namespace

TEST_SUITE("apps.run_options") {
  TEST_CASE("a job has one time limit: the command line's, or else the launcher's") {
    launched const job(1500ms);
    auto const launchers = found("");
    CHECK(launchers.timeout == 1500ms);
    CHECK(launchers.job->timeout == 1500ms);
    auto const own = found("--timeout 3");
    CHECK(own.timeout == 3000ms);
    CHECK(own.job->timeout == 3000ms);
  }
}
