// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::strassen {

/// `quarry run strassen`: a matrix product by division into quadrants, on channels (thesis §4.5.1).
[[nodiscard]] command::program program();

} // namespace quarry::strassen
