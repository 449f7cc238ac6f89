// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::gups {

/// `quarry run gups`: random increments of a table that is spread over all nodes (thesis §3.1).
[[nodiscard]] command::program program();

} // namespace quarry::gups
