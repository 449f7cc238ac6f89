// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry {

/// Bytes that the machine has; all there are, where nobody knows: the allocator has the last word.
[[nodiscard]] std::uint64_t machine_memory() noexcept;
/// Bytes of addresses that this process may take (`ulimit -v`); all there are, without a limit.
[[nodiscard]] std::uint64_t process_memory() noexcept;

} // namespace quarry
