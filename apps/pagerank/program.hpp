// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::pagerank {

/// `quarry run pagerank`: ranks the vertices of a graph whose rows are spread over all nodes
/// (thesis §5.4).
[[nodiscard]] command::program program();

} // namespace quarry::pagerank
