// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/grid.hpp>

namespace quarry::emu {

/// Errors   std::invalid_argument – what is wrong, and what is allowed
void check(machine const& m);

} // namespace quarry::emu
