// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <program.hpp>

namespace quarry::jacobi {

/// `quarry run jacobi`: a grid relaxed until it changes no more (ComP-Net §5.3).
[[nodiscard]] command::program program();

} // namespace quarry::jacobi
