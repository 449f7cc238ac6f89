// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"
#include "running_command.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <sys/stat.h>

namespace {

command_outcome quarry(std::vector<std::string> arguments) {
  return run_command("QUARRY_COMMAND", std::move(arguments));
}

/// The command line of `quarry launch <options> -- sh -c <script>`.
std::vector<std::string> launch_line(std::vector<std::string> options, std::string const& script) {
  std::vector<std::string> line{"launch"};
  line.insert(line.end(), options.begin(), options.end());
  for (std::string const& word : {std::string("--"), std::string("sh"), std::string("-c"), script})
    line.push_back(word);
  return line;
}

command_outcome launch(std::vector<std::string> options, std::string const& script) {
  return quarry(launch_line(std::move(options), script));
}

std::vector<std::string> with_command(std::vector<std::string> line) {
  line.insert(line.begin(), std::getenv("QUARRY_COMMAND"));
  return line;
}

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

std::vector<std::string> sorted_lines(std::string const& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

// tail ends when its output is a pipe that nobody reads any more.
constexpr char const* wait_for_ever = "exec tail -f /dev/null >/dev/null";

} // namespace

TEST_SUITE("apps.launch") {
  TEST_CASE("each process has a rank of its own, and the rest of the job in common") {
    auto const outcome = launch({"-n", "4"}, "echo $QUARRY_RANK; echo rest $QUARRY_SIZE "
                                             "$QUARRY_TOKEN $QUARRY_ADDRESSES $QUARRY_TIMEOUT_MS");
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    auto const lines = sorted_lines(outcome.out);
    REQUIRE(lines.size() == 8);
    std::set<std::string> rests;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      auto const prefix = "[node " + std::to_string(rank) + "] ";
      CHECK(lines[2 * rank] == prefix + std::to_string(rank));
      rests.insert(lines[2 * rank + 1].substr(prefix.size()));
    }
    REQUIRE(rests.size() == 1);
    std::regex const rest("rest 4 [0-9a-f]{32} (127\\.0\\.0\\.1:[0-9]+,){3}127\\.0\\.0\\.1:[0-9]+ "
                          "10000");
    CHECK(std::regex_match(*rests.begin(), rest));
  }

  TEST_CASE("each process inherits its own listening socket and no other") {
    auto const outcome =
        launch({"-n", "3"}, "for fd in /proc/$$/fd/*; do [ -S $fd ] && echo ${fd##*/}; done; "
                            "echo $QUARRY_LISTEN_FD");
    CHECK(outcome.status == 0);
    auto const lines = sorted_lines(outcome.out);
    REQUIRE(lines.size() == 6);
    for (std::size_t rank = 0; rank < 3; ++rank)
      CHECK(lines[2 * rank] == lines[2 * rank + 1]);
  }

  TEST_CASE("standard input that is closed is empty for every process") {
    auto line = with_command(launch_line({"-n", "2"}, "readlink /proc/$$/fd/0"));
    line.insert(line.begin(), {"sh", "-c", R"(exec "$0" "$@" <&-)"});
    running_command command(line);
    CHECK(command.status() == 0);
    CHECK(sorted_lines(command.out()) ==
          std::vector<std::string>{"[node 0] /dev/null", "[node 1] /dev/null"});
  }

  TEST_CASE("a process inherits no descriptor of the launcher's but its listening socket") {
    std::string const list = "for fd in /proc/$$/fd/*; do [ -e $fd ] && echo ${fd##*/}; done; :; ";
    running_command without({"sh", "-c", list}); // what we may have inherited ourselves
    CHECK(without.status() == 0);
    auto const outcome = launch({"-n", "3"}, list + "echo $QUARRY_LISTEN_FD");
    CHECK(outcome.status == 0);
    auto lines = sorted_lines(outcome.out);
    for (auto const& fd : sorted_lines(without.out()))
      for (int rank = 0; rank < 3; ++rank)
        CHECK(std::erase(lines, "[node " + std::to_string(rank) + "] " + fd) == 1);
    REQUIRE(lines.size() == 6);
    for (std::size_t rank = 0; rank < 3; ++rank)
      CHECK(lines[2 * rank] == lines[2 * rank + 1]);
  }

  TEST_CASE("no two jobs have the same token") {
    auto const script = "echo $QUARRY_TOKEN";
    auto const first = launch({"-n", "1"}, script);
    CHECK(first.out.size() == 33);
    CHECK(first.out != launch({"-n", "1"}, script).out);
  }

  TEST_CASE("the time limit of the command line reaches the processes") {
    CHECK(launch({"-n", "1", "--timeout", "1.5"}, "echo $QUARRY_TIMEOUT_MS").out == "1500\n");
  }

  TEST_CASE("`quarry run` has a time limit of its own, if it says so") {
    auto const outcome =
        launch({"-n", "2", "--timeout", "3600"},
               std::string("[ $QUARRY_RANK = 0 ] && exit 0; exec ") +
                   std::getenv("QUARRY_COMMAND") + " run gups --updates 1000 --timeout 0.1");
    CHECK(outcome.status == 3);
    CHECK_MESSAGE(outcome.says(" 100 ms"), outcome.err);
  }

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

  TEST_CASE("one process alone, or --no-prefix, leaves the output as it is") {
    CHECK(launch({"-n", "1"}, "printf x").out == "x");
    CHECK(launch({"-n", "2", "--no-prefix"}, "printf x").out == "xx");
  }

  TEST_CASE("a process that is killed takes the job down and is named") {
    auto const outcome =
        launch({"-n", "4"}, std::string("[ $QUARRY_RANK = 2 ] && kill -KILL $$; ") + wait_for_ever);
    CHECK(outcome.status == 128 + SIGKILL);
    std::regex const message(
        "quarry launch: node 2 \\(pid [0-9]+\\) died of signal 9 \\(Killed\\); "
        "stopping the other 3\n");
    CHECK_MESSAGE(std::regex_match(outcome.err, message), outcome.err);
  }

  TEST_CASE("the exit status of the first to fail wins, and the others are stopped") {
    auto const outcome = launch({"-n", "3", "--grace", "0.05"},
                                std::string("[ $QUARRY_RANK = 1 ] && exit 7; ") + wait_for_ever);
    CHECK(outcome.status == 7);
    std::regex const message("quarry launch: node 1 \\(pid [0-9]+\\) ended with exit status 7; "
                             "the other 2 have 50 ms to end\n");
    CHECK_MESSAGE(std::regex_match(outcome.err, message), outcome.err);
  }

  TEST_CASE("who had ended before the failure, with exit status 0, is named") {
    temporary_folder const folder;
    auto const pid = (folder.path() / "pid").string();
    REQUIRE(::mkfifo(pid.c_str(), 0600) == 0);
    // Node 1 fails when the launcher has joined node 0: until then that one can be sent a signal.
    auto const outcome = launch(
        {"-n", "2"}, "if [ $QUARRY_RANK = 0 ]; then echo $$ >" + pid + "; exit 0; fi; read it <" +
                         pid + "; while kill -0 $it 2>/dev/null; do :; done; exit 7");
    CHECK(outcome.status == 7);
    std::regex const message("quarry launch: node 1 \\(pid [0-9]+\\) ended with exit status 7; "
                             "node 0 had ended before, with exit status 0\n");
    CHECK_MESSAGE(std::regex_match(outcome.err, message), outcome.err);
  }

  TEST_CASE("one that died is the cause, even if it is seen after one that ended for want of it") {
    temporary_folder const folder;
    auto const pid = (folder.path() / "pid").string();
    REQUIRE(::mkfifo(pid.c_str(), 0600) == 0);
    // Node 1 dies when the launcher has joined node 0; it may still see both at once.
    auto const outcome =
        launch({"-n", "2", "--grace", "60"},
               "if [ $QUARRY_RANK = 0 ]; then echo $$ >" + pid + "; exit 3; fi; read it <" + pid +
                   "; while kill -0 $it 2>/dev/null; do :; done; kill -KILL $$");
    CHECK(outcome.status == 128 + SIGKILL);
    std::regex const message("(quarry launch: node 0 .* ended with exit status 3; .*\n)?"
                             "quarry launch: node 1 \\(pid [0-9]+\\) died of signal 9 .*\n");
    CHECK_MESSAGE(std::regex_match(outcome.err, message), outcome.err);
  }

  TEST_CASE("a process that does not end when asked to is killed") {
    temporary_folder const folder;
    auto const ready = (folder.path() / "ready").string();
    REQUIRE(::mkfifo(ready.c_str(), 0600) == 0);
    // Node 0 fails only when both others ignore SIGTERM.
    auto const outcome =
        launch({"-n", "3", "--grace", "0.05"},
               "if [ $QUARRY_RANK = 0 ]; then exec 3<>" + ready +
                   "; read a <&3; read b <&3; kill -KILL $$; fi; trap '' TERM; echo ready >" +
                   ready + "; " + wait_for_ever);
    CHECK(outcome.status == 128 + SIGKILL);
    CHECK_MESSAGE(outcome.says("quarry launch: 2 nodes did not end; killing them"), outcome.err);
  }

  TEST_CASE("a request to end is handed on to every process") {
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      CAPTURE(signal);
      running_command command(
          with_command(launch_line({"-n", "3"}, std::string("echo up; ") + wait_for_ever)));
      command.await_output("up", 3);
      ::kill(command.pid(), signal);
      CHECK(command.status() == 128 + signal);
      CHECK(running_command::occurrences(command.err(), "stopping the 3 nodes that run") == 1);
      CHECK_FALSE(command.has_survivors());
    }
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
    CHECK(command.err() == "quarry launch: output of the nodes: cannot write; "
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
    command.await_error("1 nodes did not end; killing them", 1);
    auto said = output.empty();
    CHECK(command.status() == 3);
    said += output.empty();
    for (char const* line : {"[node 0] out\n", "[node 1] out\n"})
      CHECK(running_command::occurrences(said, line) == 1);
  }

  TEST_CASE("a signal that the launcher was started to ignore ends nothing") {
    auto line = with_command(launch_line({"-n", "2"}, std::string("echo up; ") + wait_for_ever));
    line.insert(line.begin(), {"sh", "-c", R"(trap '' HUP INT; exec "$0" "$@")"});
    running_command command(line);
    command.await_output("up", 2);
    for (int signal : {SIGHUP, SIGINT, SIGTERM}) // taken in the order of their numbers
      ::kill(command.pid(), signal);
    CHECK(command.status() == 128 + SIGTERM);
    CHECK(command.err() == "quarry launch: signal 15 (Terminated); "
                           "stopping the 2 nodes that run\n");
  }

  TEST_CASE("a launcher that is killed takes its processes with it") {
    running_command command(
        with_command(launch_line({"-n", "3"}, std::string("echo up; ") + wait_for_ever)));
    command.await_output("up", 3);
    ::kill(command.pid(), SIGKILL);
    CHECK(command.status() == 128 + SIGKILL);
    CHECK(command.signals_of_orphans() == std::vector<int>{SIGKILL, SIGKILL, SIGKILL});
  }

  TEST_CASE("what a process has started itself does not survive the job") {
    auto const outcome = launch({"-n", "2"}, "tail -f /dev/null & [ $QUARRY_RANK = 0 ] || exit 3; "
                                             "wait");
    CHECK(outcome.status == 3); // run_command has looked for survivors
  }

  TEST_CASE("of a job that cannot be started as a whole nothing is left") {
    // Enough descriptors for 64 sockets, but not for the pipes of all processes; not for those.
    for (auto const& [limit, what] : std::vector<std::pair<std::string, std::string>>{
             {"160", "cannot make a pipe (to start 'sh'|for a node's output)"},
             {"40", "socket\\(\\) for a listening socket at 127\\.0\\.0\\.1 failed"}}) {
      auto line = with_command(launch_line({"-n", "64"}, "tail -f /dev/null >/dev/null & wait"));
      line.insert(line.begin(), {"sh", "-c", "ulimit -n " + limit + R"(; exec "$0" "$@")"});
      running_command command(line);
      CHECK(command.status() == 3);
      std::regex const message("quarry launch: " + what + ": Too many open files\n");
      CHECK_MESSAGE(std::regex_match(command.err(), message), command.err());
      CHECK_FALSE(command.has_survivors());
    }
  }

  TEST_CASE("a program that cannot be started is a fault of the world, which is named") {
    auto const outcome = quarry({"launch", "-n", "2", "--", "./no-such-program"});
    CHECK(outcome.status == 3);
    CHECK(outcome.err == "quarry launch: cannot start './no-such-program': No such file or "
                         "directory\n");
  }

  TEST_CASE("a command line that makes no job is refused with what is allowed") {
    struct refusal {
      std::vector<std::string> line;
      std::string message;
    };
    for (auto const& [line, message] : std::vector<refusal>{
             {{"-n", "2"}, "launch: no program; it comes after --"},
             {{"-n", "2", "--"}, "launch: no program; it comes after --"},
             {{"-n", "2", "ls"}, "'ls' was not expected; the program and its arguments come after"},
             {{"-n", "2", "--bogus", "--", "ls"}, "'--bogus' was not expected"},
             {{"--", "ls"}, "--nodes is required"},
             {{"-n", "0", "--", "ls"}, "read '0', allowed is a whole number from 1 to 1024"},
             {{"-n", "-1", "--", "ls"}, "read '-1', allowed is a whole number from 1 to 1024"},
             {{"-n", "1025", "--", "ls"}, "read '1025', allowed is a whole number"},
             {{"-n", "two", "--", "ls"}, "read 'two', allowed is a whole number"},
             {{"-n", "2", "--timeout", "0", "--", "ls"},
              "read '0', allowed is a number of seconds"},
             {{"-n", "2", "--timeout", "nan", "--", "ls"}, "read 'nan', allowed is a number"}}) {
      auto whole = line;
      whole.insert(whole.begin(), "launch");
      auto const outcome = quarry(whole);
      CAPTURE(message);
      CHECK(outcome.status == 2);
      CHECK(outcome.out == "");
      CHECK_MESSAGE(outcome.says(message), outcome.err);
    }
  }
}
