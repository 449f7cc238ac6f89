// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/packet.hpp>

#include <doctest/doctest.h>

#include <cstddef>

using namespace quarry::emu;

TEST_SUITE("emu.packet") {
  TEST_CASE("a header is laid out as HSA says") {
    constexpr packet_header h{packet_type::barrier_or, true, fence_scope::agent,
                              fence_scope::system};
    CHECK(h.bits() == (5U | 1U << 8 | 1U << 9 | 2U << 11));
    constexpr packet_header back = packet_header::of(h.bits());
    CHECK(back.type == packet_type::barrier_or);
    CHECK(back.barrier);
    CHECK(back.acquire == fence_scope::agent);
    CHECK(back.release == fence_scope::system);
  }

  TEST_CASE("the three kinds are 64 bytes, with the fields where HSA has them") {
    CHECK(sizeof(dispatch_packet) == 64);
    CHECK(offsetof(dispatch_packet, work_group_size) == 4);
    CHECK(offsetof(dispatch_packet, grid_size) == 12);
    CHECK(offsetof(dispatch_packet, group_segment_bytes) == 28);
    CHECK(offsetof(dispatch_packet, kernel_object) == 32);
    CHECK(offsetof(dispatch_packet, kernarg_address) == 40);
    CHECK(offsetof(dispatch_packet, completion_signal) == 56);
    CHECK(offsetof(barrier_packet, dep_signal) == 8);
    CHECK(offsetof(barrier_packet, completion_signal) == 56);
    CHECK(offsetof(service_packet, return_address) == 8);
    CHECK(offsetof(service_packet, arguments) == 16);
    CHECK(offsetof(service_packet, completion_signal) == 56);
  }

  TEST_CASE("a packet is what was put into it; an empty one is invalid") {
    CHECK(packet{}.header().type == packet_type::invalid);
    service_packet s;
    s.function = 7;
    s.arguments = {1, 2, 3, 4};
    packet const p = s;
    CHECK(p.header().type == packet_type::service);
    CHECK(p.as<service_packet>().function == 7);
    CHECK(p.as<service_packet>().arguments == s.arguments);
  }
}
