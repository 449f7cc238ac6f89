// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/transport_port.hpp>

#include <array>
#include <memory>

namespace quarry::bench {

/// What the nodes of a job do while nothing happens.
enum class idling {
  nothing, ///< nobody calls anything
  hosts,   ///< all hosts but node 0's wait for a word of their heap
  kernels, ///< a work-group of each node but 0 does
};
inline constexpr std::array idling_names{"shmem_idle", "shmem_waiting_hosts",
                                         "shmem_waiting_kernels"};

/// One ComP-Net node, with an agent, of a job that idles for `seconds`. Gives the seconds of
/// processor time that its process took meanwhile. What goes wrong is thrown.
double idle(std::unique_ptr<net::transport_port> transport, idling how, int seconds);

} // namespace quarry::bench
