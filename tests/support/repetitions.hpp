// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/sanitizers.hpp>

#include <algorithm>

namespace quarry_test {

/// Of so many repetitions with other random numbers a quarter, at least one, where a sanitizer
/// looks: each takes ten times as long there, and what it looks at is the same in all.
template<class N>
[[nodiscard]] constexpr N fewer(N repetitions) {
  return QUARRY_ASAN != 0 || QUARRY_TSAN != 0 ? std::max<N>(repetitions / 4, 1) : repetitions;
}

} // namespace quarry_test
