// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>
#include <quarry/net/in_process.hpp>
#include <quarry/net/shmem.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace quarry_test {

/// What a pe does in a world: `node` is its part in the network.
using pe_body =
    std::function<void(quarry::world&, quarry::world_core&, quarry::net::shmem::node& node)>;

/// A world of two pes of net::shmem, between which operations come in any order that fences leave.
/// They meet at the end.
inline std::function<void(quarry::world&)>
two_pes(pe_body first, pe_body second, quarry::net::shmem::shmem_orders const& orders = {}) {
  using namespace quarry::net;
  return [first = std::move(first), second = std::move(second), orders](quarry::world& w) {
    auto ends = make_in_process(2);
    for (std::uint32_t id = 0; id < 2; ++id)
      w.start(to_string(pe{id}), [&, id](quarry::world_core& self) {
        auto n = shmem::node::start(
            w.scheduler(), std::move(ends[id]),
            {.heap_bytes = 256, .most_teams = 1, .team_bytes = 256, .orders = orders});
        w.check(n.has_value(), "start");
        if (!n)
          return;
        (id == 0 ? first : second)(w, self, *n);
        w.check(n->barrier_all().has_value(), "barrier_all");
        w.check(n->finish().has_value(), "finish");
      });
    w.join();
  };
}

} // namespace quarry_test
