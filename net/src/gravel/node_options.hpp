// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/gravel.hpp>

#include <cstdint>
#include <span>

namespace quarry::net::gravel {

/// Errors   std::invalid_argument – what a node of such a job cannot be made with, and what is
///          allowed
void check(gravel_node::options const& o, std::span<std::uint64_t> heap, std::uint32_t pe_count);

} // namespace quarry::net::gravel
