// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::fibonacci {

/// `quarry run fibonacci`: the naive recursion as one writes it in Cilk, on channels (thesis §4.3).
[[nodiscard]] command::program program();

} // namespace quarry::fibonacci
