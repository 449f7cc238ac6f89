// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"
#include "launch_line.hpp"

#include <regex>
#include <set>
#include <sys/stat.h>

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
    std::regex const names(R"(quarry launch: node 1 \(pid \d+\), node 2 \(pid \d+\) did not end; )"
                           "killing them");
    CHECK_MESSAGE(std::regex_search(outcome.err, names), outcome.err);
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
