// SPDX-License-Identifier: Apache-2.0
#include "listening.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace quarry::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using failure = boost::system::error_code;

result<void> check(job const& j) {
  if (j.pe_count < 1 || j.pe_count > max_pe_count || j.self.id >= j.pe_count ||
      j.endpoints.size() != j.pe_count)
    return make_error(
        net_errc::bad_environment,
        fmt::format("loopback: {} of {} with {} endpoints is no job: 1 to {} pes are, "
                    "self below that, an endpoint each",
                    to_string(j.self), j.pe_count, j.endpoints.size(), max_pe_count));
  if (auto const why = refusal_of_timeout(j.timeout); !why.empty())
    return make_error(net_errc::bad_environment, "loopback: " + why);
  for (endpoint const& e : j.endpoints)
    if (e.address != "127.0.0.1")
      return make_error(net_errc::forbidden_address,
                        fmt::format("loopback: address {}; only 127.0.0.1 is allowed", e.address));
  return {};
}

bool is_listening_socket(int fd) {
  int listens = 0;
  socklen_t length = sizeof listens;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0;
}

bool listens_at_loopback(tcp::acceptor const& a, std::uint16_t port) {
  failure e;
  auto const where = a.local_endpoint(e);
  return !e && where == tcp::endpoint(asio::ip::address_v4::loopback(), port);
}

result<tcp::acceptor> adopt(asio::io_context& io, job const& j) {
  auto const port = j.endpoints[j.self.id].port;
  tcp::acceptor a(io);
  failure e;
  static_cast<void>(a.assign(tcp::v4(), j.listen_fd, e));
  if (!e && listens_at_loopback(a, port))
    return a;
  return make_error(
      net_errc::bad_environment,
      fmt::format("loopback: descriptor {} does not listen at 127.0.0.1:{}", j.listen_fd, port));
}

result<tcp::acceptor> bind(asio::io_context& io, job const& j) {
  auto const port = j.endpoints[j.self.id].port;
  tcp::acceptor a(io);
  failure e;
  static_cast<void>(a.open(tcp::v4(), e));
  if (!e) // a job that starts again at once finds its port in TIME_WAIT, which is not in use
    static_cast<void>(a.set_option(tcp::acceptor::reuse_address(true), e));
  if (!e)
    static_cast<void>(a.bind({asio::ip::address_v4::loopback(), port}, e));
  if (!e)
    static_cast<void>(a.listen(tcp::acceptor::max_listen_connections, e));
  if (!e)
    return a;
  if (e == asio::error::address_in_use)
    return make_error(net_errc::port_in_use,
                      fmt::format("loopback: port {} of 127.0.0.1 is in use", port));
  return error{std::error_code(e), fmt::format("loopback: cannot listen at port {}", port)};
}

} // namespace

result<tcp::acceptor> listen_for(asio::io_context& io, job const& j) {
  if (j.listen_fd != -1 && !is_listening_socket(j.listen_fd))
    return make_error(
        net_errc::bad_environment,
        fmt::format(
            "loopback: descriptor {} is not a listening socket; has another network of this "
            "job taken it? listen_fd = -1 binds the port anew",
            j.listen_fd));
  if (auto const ok = check(j); !ok) {
    if (j.listen_fd != -1)
      ::close(j.listen_fd);
    return ok.error();
  }
  return j.listen_fd != -1 ? adopt(io, j) : bind(io, j);
}

} // namespace quarry::net
