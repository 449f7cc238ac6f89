// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/error.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarry::net {

/// What tells the processes of one job from strangers. Drawn afresh for each job.
struct job_token {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 128 bits from the operating system's random source.
  [[nodiscard]] static job_token random();

  friend bool operator==(job_token const&, job_token const&) = default;

  /// 32 hexadecimal digits, as in QUARRY_TOKEN.
  friend std::string to_string(job_token const& token);
};

/// Where a pe listens.
struct endpoint {
  std::string address;    ///< dotted IPv4; loopback accepts 127.0.0.1 only
  std::uint16_t port = 0; ///< 1 … 65535

  friend bool operator==(endpoint const&, endpoint const&) = default;
};

inline constexpr std::uint32_t max_pe_count = 1024;
inline constexpr std::chrono::milliseconds max_job_timeout = std::chrono::hours{24};
/// "a timeout of 0 ms; allowed are 1 to 86400000"; empty if it is allowed.
[[nodiscard]] std::string refusal_of_timeout(std::chrono::milliseconds timeout);

/// Who takes part in a job, seen from one pe. A plain value; checked where it is used.
struct job {
  pe self;
  std::uint32_t pe_count = 1; ///< 1 … max_pe_count
  job_token token;
  std::vector<endpoint> endpoints; ///< one a pe, in the order of their ids
  /// Bounds everything in which one pe waits for another: connecting, finishing, a stalled peer.
  /// Nodes wait so long, too, unless their options say otherwise.
  std::chrono::milliseconds timeout{10'000};
  /// A socket that already listens at endpoints[self.id], bound by whoever made the job, so that
  /// no other process can take the port in between; -1: this pe binds the port itself. Whoever
  /// opens a transport with the job gives the descriptor away, whether or not that succeeds: for
  /// another network, one after the other, it is -1.
  int listen_fd = -1;
  /// On what all pes must have agreed before they meet, in lines: the options of a program, say.
  /// Compared by the transports `mpi`, up to most_terms bytes, and `loopback`, by a hash.
  std::string terms{};
  static constexpr std::size_t most_terms = 4096;

  friend bool operator==(job const&, job const&) = default;
};

/// Reads the job of this process from its environment:
///
///   QUARRY_RANK        0 … QUARRY_SIZE - 1
///   QUARRY_SIZE        1 … max_pe_count
///   QUARRY_TOKEN       32 hexadecimal digits
///   QUARRY_ADDRESSES   address:port, comma-separated, one a pe
///   QUARRY_TIMEOUT_MS  1 … 86400000; 10000 if it is not set
///   QUARRY_LISTEN_FD   an open descriptor; none if it is not set
///
/// Errors   bad_environment – a variable is missing or not allowed; names it, its value and what is
[[nodiscard]] result<job> job_from_environment();
/// Whether any of the first four is set, so that there should be a job.
[[nodiscard]] bool is_launched() noexcept;

/// The same job as NAME=value lines, for the environment of the process that will be `j.self`.
/// QUARRY_LISTEN_FD is there only if j.listen_fd is not -1.
[[nodiscard]] std::vector<std::string> environment_of(job const& j);

/// Makes the jobs of `pe_count` processes (or threads) on this machine, element i being pe i's:
/// one random token, and for each pe a socket that already listens at a free port of 127.0.0.1.
///
/// The caller owns the descriptors. They are close-on-exec: a launcher clears the flag of listen_fd
/// in the child that is to inherit it, and closes its own copies once the children are started.
///
/// Errors   bad_environment – pe_count is not 1 … max_pe_count, or refusal_of_timeout()
///          a std::errc – the system has no more sockets or descriptors
[[nodiscard]] result<std::vector<job>> make_local_jobs(std::uint32_t pe_count,
                                                       std::chrono::milliseconds timeout);

} // namespace quarry::net
