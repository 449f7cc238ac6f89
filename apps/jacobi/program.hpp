// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::jacobi {

/// `quarry run jacobi`: a grid relaxed until it is at rest, or so many times (ComP-Net §5.3).
[[nodiscard]] command::program program();

} // namespace quarry::jacobi
