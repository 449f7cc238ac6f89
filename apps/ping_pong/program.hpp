// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::ping_pong {

/// `quarry run ping_pong`: messages to and fro between pairs of nodes (ComP-Net Figure 5), and gets
/// (Figure 8).
[[nodiscard]] command::program program();

} // namespace quarry::ping_pong
