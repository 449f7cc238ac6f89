// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::allreduce {

/// `quarry run allreduce`: a vector summed over all nodes by many rings (ComP-Net §5.4).
[[nodiscard]] command::program program();

} // namespace quarry::allreduce
