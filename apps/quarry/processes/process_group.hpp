// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace quarry::command {

struct process_group_options {
  enum class output { prefixed, untouched };

  std::vector<std::string> program; ///< argv; program[0] is looked for in PATH
  std::uint32_t node_count = 1;     ///< 1 … net::max_pe_count
  /// What the nodes bound their waiting for each other with (QUARRY_TIMEOUT_MS).
  std::chrono::milliseconds timeout{10'000};
  /// prefixed: every line begins with "[node R] ". One node alone is never prefixed.
  output lines = output::prefixed;
  std::string speaker = "quarry launch"; ///< how messages to standard error begin
  /// How long nodes may take to end by themselves once another has failed, and again how long one
  /// that was asked to (SIGTERM) may take until it is killed.
  std::chrono::milliseconds grace{2'000};
};

/// Runs one job: `node_count` processes of one program on this machine, joined.
///
/// Each finds its rank, the addresses, a listening socket and the job's random token in its
/// environment (<quarry/net/job.hpp>). Node 0 has our standard input, the others an empty one.
/// SIGINT, SIGTERM, SIGHUP and SIGQUIT are handed on to all; one that is ignored stays so for us
/// and for them. A node that fails takes the job down: it is named on standard error, and the
/// others are stopped, at once if it died of a signal, after `grace` if it ended with an exit
/// status other than 0. On return no process is left, nor any that they have started.
///
/// Output that nobody can read any more (EPIPE) is a request to end, as SIGPIPE would be: the nodes
/// get a SIGTERM. So is output that cannot be written (a full disk), with exit status 3. While
/// somebody reads slowly, or not at all, they wait as they would for a pipe of their own; once a
/// request to end has come we drop what there is no room for, and the last of it after `grace`.
///
/// Only to be called while this process has one thread; signals are blocked meanwhile.
///
/// Shape    the exit status of the node that failed first, but 128 + signal if one died of that
///          before anybody was told to end; 128 + signal if we were asked to end, 0 otherwise
/// Errors   a std::errc or net_errc – the program, a pipe or a socket could not be had; names it.
///          The nodes that ran already have been killed
[[nodiscard]] result<int> run_process_group(process_group_options const& options);

} // namespace quarry::command
