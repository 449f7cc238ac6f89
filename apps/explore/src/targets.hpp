// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/explore/target.hpp>

#include <vector>

namespace quarry::exploration {

[[nodiscard]] target spsc_target();
[[nodiscard]] target mpmc_target();
[[nodiscard]] target work_group_target();
[[nodiscard]] target aql_target();
[[nodiscard]] target channel_target();
[[nodiscard]] target flow_graph_target();
[[nodiscard]] target channel_yield_target();
[[nodiscard]] target cilk_target();
[[nodiscard]] target cilk_hybrid_target();
[[nodiscard]] target comp_net_ring_target();
[[nodiscard]] target comp_net_host_ring_target();
[[nodiscard]] target comp_net_target();
[[nodiscard]] target comp_net_dgpu_target();
[[nodiscard]] target comp_net_three_target();
[[nodiscard]] target shmem_target();
[[nodiscard]] target shmem_collectives_target();
[[nodiscard]] target shmem_waits_target();

// In each of ComP-Net's configurations
[[nodiscard]] std::vector<target> allreduce_targets();
[[nodiscard]] std::vector<target> allreduce_three_targets();
[[nodiscard]] std::vector<target> ping_pong_targets();
[[nodiscard]] std::vector<target> ping_pong_get_targets();
[[nodiscard]] std::vector<target> jacobi_targets();
[[nodiscard]] std::vector<target> sgd_targets();

[[nodiscard]] target gravel_target();
[[nodiscard]] target gravel_direct_target();
[[nodiscard]] target pagerank_target();

} // namespace quarry::exploration
