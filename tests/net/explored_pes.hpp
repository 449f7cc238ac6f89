// SPDX-License-Identifier: Apache-2.0
// Two small OpenSHMEM nodes in one process, in many executions.
#pragma once

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace shmem_test {

using namespace quarry;
using namespace quarry::net;
using shmem::node;

inline constexpr node::options tiny{.heap_bytes = 256, .most_teams = 1, .team_bytes = 256};

inline std::uint64_t* word(node& n, std::size_t i) {
  return reinterpret_cast<std::uint64_t*>(n.local({i * 64}));
}

using pe_body = std::function<void(world&, world_core&, node&)>;

/// Two pes, a host thread each.
inline auto world_of(pe_body const& first, pe_body const& second,
                     node::options const& size = tiny) {
  return [=](world& w) {
    auto ends = make_in_process(2);
    for (std::uint32_t id = 0; id < 2; ++id)
      w.start(id == 0 ? "pe 0" : "pe 1", [&, id](world_core& self) {
        auto n = node::start(w.scheduler(), std::move(ends[id]), size);
        w.check(n.has_value(), "start");
        if (!n)
          return;
        (id == 0 ? first : second)(w, self, *n);
        w.check(n->finish().has_value(), "finish");
      });
    w.join();
  };
}

/// Explores them.
inline verdict two_pes(explore_options o, pe_body const& first, pe_body const& second,
                       node::options const& size = tiny) {
  o.shrinks = o.diagnoses = false;
  return explore(o, world_of(first, second, size));
}

} // namespace shmem_test
