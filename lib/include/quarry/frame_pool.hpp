// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace quarry {

/// Memory for one coroutine frame.
///
/// Frames hold lanes<T>, whose alignment the default operator new does not respect (g++ 12, clang
/// 19). Free lists belong to the calling thread; a frame may be freed on another thread than it
/// came from. Under AddressSanitizer every frame is a heap block of its own, so that a use after
/// free is seen.
///
/// Shape    64-byte aligned; lists by size class of 64 bytes up to 4 KiB, above that the heap
/// Errors   std::bad_alloc
[[nodiscard]] void* allocate_frame(std::size_t bytes);

/// Gives back what allocate_frame(bytes) returned.
void free_frame(void* frame, std::size_t bytes) noexcept;

} // namespace quarry
