// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/job.hpp>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace quarry::net {
namespace {

error system_error_of(char const* call) {
  std::error_code const code{errno, std::system_category()};
  return {code,
          fmt::format("{} for a listening socket at 127.0.0.1 failed: {}", call, code.message())};
}

/// Binds `j`'s socket to a free port of 127.0.0.1 and lets it listen; fills in fd and endpoint.
result<void> listen_for(job& j, endpoint& at) {
  j.listen_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (j.listen_fd < 0)
    return system_error_of("socket()");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (::bind(j.listen_fd, generic, length) != 0)
    return system_error_of("bind()");
  if (::listen(j.listen_fd, SOMAXCONN) != 0)
    return system_error_of("listen()");
  if (::getsockname(j.listen_fd, generic, &length) != 0)
    return system_error_of("getsockname()");
  at = {"127.0.0.1", ntohs(address.sin_port)};
  return {};
}

} // namespace

result<std::vector<job>> make_local_jobs(std::uint32_t pe_count,
                                         std::chrono::milliseconds timeout) {
  if (pe_count < 1 || pe_count > max_pe_count)
    return make_error(net_errc::bad_environment,
                      fmt::format("a job of {} processing elements is not allowed: 1 to {} are",
                                  pe_count, max_pe_count));
  if (auto const why = refusal_of_timeout(timeout); !why.empty())
    return make_error(net_errc::bad_environment, "a job with " + why);
  auto const token = job_token::random();
  std::vector<job> jobs(pe_count);
  std::vector<endpoint> endpoints(pe_count);
  for (std::uint32_t id = 0; id < pe_count; ++id) {
    auto& j = jobs[id];
    j.self = pe{id};
    j.pe_count = pe_count;
    j.token = token;
    j.timeout = timeout;
    if (auto const listening = listen_for(j, endpoints[id]); !listening) {
      for (auto const& made : jobs)
        if (made.listen_fd >= 0)
          ::close(made.listen_fd);
      return listening.error();
    }
  }
  for (auto& j : jobs)
    j.endpoints = endpoints;
  return jobs;
}

} // namespace quarry::net
