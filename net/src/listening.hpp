// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/result.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace quarry::net {

/// A socket that listens at pe j.self's endpoint: j.listen_fd, or one that is bound here. Closes
/// j.listen_fd on every error, unless it is no listening socket of ours to close.
///
/// Errors   bad_environment – the job contradicts itself, or listen_fd does not listen there
///          forbidden_address – an endpoint is not at 127.0.0.1
///          port_in_use – naming the port
[[nodiscard]] result<boost::asio::ip::tcp::acceptor> listen_for(boost::asio::io_context& io,
                                                                job const& j);

} // namespace quarry::net
