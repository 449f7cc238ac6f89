// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/debug_root.hpp>
#include <quarry/misuse.hpp>

#include <fmt/core.h>

namespace quarry {

/// Of a scheduler that is destroyed: a strand that goes after it would turn to it.
inline void need_no_strands(debug_executor const& left) noexcept {
  if (left.strands.first != nullptr)
    misuse(fmt::format("a scheduler is destroyed before what runs on it: strand \"{}\"",
                       left.strands.first->name));
}

} // namespace quarry
