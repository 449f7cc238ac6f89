// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::sort {

/// `quarry run sort`: a merge sort of four parts, on channels (thesis §4.5.1).
[[nodiscard]] command::program program();

} // namespace quarry::sort
