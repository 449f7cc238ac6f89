// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/result.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <vector>

namespace quarry::net {

/// Connects this pe with all others of the job: element i of the answer is the socket to pe i,
/// closed for this pe itself. Strangers are sent away. Takes j.listen_fd.
///
/// Errors   forbidden_address, port_in_use, timeout – naming the pes that did not come
[[nodiscard]] result<std::vector<boost::asio::ip::tcp::socket>> meet(boost::asio::io_context& io,
                                                                     job const& j);

} // namespace quarry::net
