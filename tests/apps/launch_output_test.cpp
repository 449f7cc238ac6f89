// SPDX-License-Identifier: Apache-2.0
// What the processes of `quarry launch` print, and who reads it or does not.
#include "graph_files.hpp"
#include "launch_line.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace {

/// A named pipe in which there is no room, and which nobody reads until empty() is called.
class full_fifo {
public:
  full_fifo() {
    REQUIRE(::mkfifo(name().c_str(), 0600) == 0);
    fd_ = ::open(name().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
    std::string const page(4096, 'x');
    while (::write(fd_, page.data(), page.size()) > 0)
      ;
  }
  full_fifo(full_fifo const&) = delete;
  full_fifo& operator=(full_fifo const&) = delete;
  ~full_fifo() { ::close(fd_); }

  /// The command line of `quarry <line>` with its standard output here.
  [[nodiscard]] std::vector<std::string> as_output_of(std::vector<std::string> line) const {
    line = with_command(std::move(line));
    line.insert(line.begin(), {"sh", "-c", R"(exec "$0" "$@" >)" + name()});
    return line;
  }

  /// What is in it now.
  [[nodiscard]] std::string empty() const {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd_, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    return text;
  }

private:
  [[nodiscard]] std::string name() const { return (folder_.path() / "fifo").string(); }

  temporary_folder folder_;
  int fd_ = -1;
};

} // namespace

TEST_SUITE("apps.launch_output") {
  TEST_CASE("processes are told as the launcher of a file that may not grow: by a signal") {
    // A shell may not trap what it was started to ignore.
    auto const script = "trap 'echo told' XFSZ; kill -XFSZ $$";
    CHECK(launch({"-n", "1"}, script).out == "told\n");
    auto line = with_command(launch_line({"-n", "1"}, script));
    line.insert(line.begin(), {"sh", "-c", R"(trap '' XFSZ; exec "$0" "$@")"});
    running_command ignoring(line);
    CHECK(ignoring.status() == 0);
    CHECK(ignoring.out() == "");
  }

  TEST_CASE("lines of several processes stay whole, also a last one without an end") {
    auto const outcome = launch({"-n", "4"}, "seq 2000; seq 2000 >&2; printf end; printf end >&2");
    CHECK(outcome.status == 0);
    std::string expected;
    for (int rank = 0; rank < 4; ++rank) {
      for (int number = 1; number <= 2000; ++number)
        expected += "[node " + std::to_string(rank) + "] " + std::to_string(number) + "\n";
      expected += "[node " + std::to_string(rank) + "] end\n";
    }
    CHECK(sorted_lines(outcome.out) == sorted_lines(expected));
    CHECK(sorted_lines(outcome.err) == sorted_lines(expected));
  }

  TEST_CASE(
      "a job whose last words are more than its reader takes at once ends when they are read") {
    for (int i = 0; i < 20; ++i) { // how much is left at the end is a matter of luck
      auto const outcome =
          launch({"-n", "4", "--no-prefix"}, "yes | head -c 1500000 | tr -d '\\n'; echo");
      CHECK(outcome.status == 0);
      CHECK(outcome.out.size() == 4 * 750'001);
    }
  }

  TEST_CASE("one process alone, or --no-prefix, leaves the output as it is") {
    CHECK(launch({"-n", "1"}, "printf x").out == "x");
    CHECK(launch({"-n", "2", "--no-prefix"}, "printf x").out == "xx");
  }

  TEST_CASE("a job whose output nobody reads any more ends, with all that it has started") {
    running_command command(with_command(
        launch_line({"-n", "2"}, "tail -f /dev/null >/dev/null 2>/dev/null & exec yes")));
    command.await_output("[node 0] y", 1);
    command.await_output("[node 1] y", 1);
    command.stop_reading_output();
    CHECK(command.status() == 128 + SIGPIPE);
    CHECK(command.err() == "quarry launch: nobody reads the output any more; "
                           "stopping the 2 nodes that run\n");
    CHECK_FALSE(command.has_survivors());
  }

  TEST_CASE("a job whose output cannot be written ends, with all that it has started") {
    auto line = with_command(
        launch_line({"-n", "2"}, "tail -f /dev/null >/dev/null 2>/dev/null & exec yes"));
    line.insert(line.begin(), {"sh", "-c", R"(exec "$0" "$@" >/dev/full)"});
    running_command command(line);
    CHECK(command.status() == 3);
    CHECK(command.err() ==
          "quarry launch: output of the nodes: cannot write: No space left on device; "
          "stopping the 2 nodes that run\n");
    CHECK_FALSE(command.has_survivors());
  }

  TEST_CASE("output that nobody reads does not keep a request to end from its effect") {
    full_fifo const output;
    running_command command(output.as_output_of(
        launch_line({"-n", "2", "--grace", "0.05"}, "echo out; echo up >&2; exec yes")));
    command.await_error("up", 2); // the launcher has read the line before, too
    ::kill(command.pid(), SIGTERM);
    CHECK(command.status() == 128 + SIGTERM);
    CHECK(running_command::occurrences(command.err(), "stopping the 2 nodes that run") == 1);
    CHECK_FALSE(command.has_survivors());
  }

  TEST_CASE("a process that is asked to end can say more than anybody reads") {
    full_fifo const output;
    running_command command(output.as_output_of(
        launch_line({"-n", "2", "--grace", "60"},
                    "trap 'seq 100000; echo bye >&2; exit' TERM; tail -f /dev/null >/dev/null & "
                    "echo up >&2; wait")));
    command.await_error("up", 2);
    ::kill(command.pid(), SIGTERM);
    command.await_error("bye", 2);
    ::kill(command.pid(), SIGTERM); // somebody may still read it: but not if we ask twice
    CHECK(command.status() == 128 + SIGTERM);
  }

  TEST_CASE("deadlines are kept while nobody reads, and what was said can be read later") {
    temporary_folder const folder;
    auto const ready = (folder.path() / "ready").string();
    REQUIRE(::mkfifo(ready.c_str(), 0600) == 0);
    full_fifo const output;
    // Node 0 fails when the other ignores SIGTERM.
    running_command command(output.as_output_of(launch_line(
        {"-n", "2", "--grace", "0.05"}, "echo out; if [ $QUARRY_RANK = 0 ]; then read it <" +
                                            ready + "; exit 3; fi; trap '' TERM; echo ready >" +
                                            ready + "; " + wait_for_ever)));
    command.await_error(") did not end; killing it", 1);
    auto said = output.empty();
    CHECK(command.status() == 3);
    said += output.empty();
    for (char const* line : {"[node 0] out\n", "[node 1] out\n"})
      CHECK(running_command::occurrences(said, line) == 1);
  }
}
