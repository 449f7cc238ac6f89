// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::queens {

/// `quarry run queens`: counts the solutions of the n queens puzzle, on channels (thesis §4.5.1).
[[nodiscard]] command::program program();

} // namespace quarry::queens
