// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents.hpp"

#include <quarry/emu.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace quarry_test {

constexpr quarry::emu::machine served_shape{
    .compute_units = 2, .wavefront_slots = 8, .wavefront_size = 32};
constexpr quarry::emu::packet_header plain{quarry::emu::packet_type::kernel_dispatch};

/// An agent, a queue of few packets, and who serves it.
template<class Agent>
struct basic_served {
  explicit basic_served(quarry::executor& s, quarry::emu::packet_processor::functions f = {},
                        std::uint32_t slots = 4)
      : gpu(s, served_shape), queue(gpu.core().known(), slots),
        processor(gpu.core(), queue, std::move(f)) {}
  Agent gpu;
  quarry::emu::user_queue queue;
  quarry::emu::packet_processor processor;
};
/// Natively and deterministically, and where an exploration decides.
using served = basic_served<quarry::emu::agent>;
using explored_served = basic_served<quarry::emu::explored_agent>;

/// Adds `n` to each work-item's word.
struct add {
  void operator()(quarry::emu::any_wavefront auto& wf, quarry::emu::global<std::uint32_t> words,
                  std::uint32_t n) const {
    auto const i = wf.global_id();
    wf.store(words + i, wf.load(words + i) + n);
  }
};

inline quarry::emu::launch_config const one_wave{.work_items = 32, .work_items_per_group = 32};

/// Of a packet that cannot be done: what the fault says.
inline std::string refusal(served& s, quarry::emu::packet p, quarry::emu::signal& end) {
  REQUIRE(s.processor.submit(p));
  quarry::emu::outcome const o = s.processor.wait(end);
  REQUIRE(!o);
  CHECK(o.get_fault()->what == quarry::emu::fault::kind::bad_packet);
  CHECK(end.word().get()[0] == -1);
  return o.get_fault()->report;
}

} // namespace quarry_test
