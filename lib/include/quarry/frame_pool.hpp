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
[[nodiscard]] inline void* allocate_frame(std::size_t bytes);

/// Gives back what allocate_frame(bytes) returned.
inline void free_frame(void* frame, std::size_t bytes) noexcept;

// Implementation. A frame's size is a constant where it is made: its size class becomes one, too.

inline constexpr std::size_t frame_class_count = 64;
inline constexpr std::size_t frame_class_bytes = 64;
[[nodiscard]] void* allocate_frame_of_class(std::size_t size_class);
void free_frame_of_class(void* frame, std::size_t size_class) noexcept;
[[nodiscard]] void* allocate_large_frame(std::size_t bytes);
void free_large_frame(void* frame) noexcept;

inline void* allocate_frame(std::size_t bytes) {
  std::size_t const size_class = (bytes - 1) / frame_class_bytes;
  return size_class < frame_class_count ? allocate_frame_of_class(size_class)
                                        : allocate_large_frame(bytes);
}

inline void free_frame(void* frame, std::size_t bytes) noexcept {
  std::size_t const size_class = (bytes - 1) / frame_class_bytes;
  if (size_class < frame_class_count)
    free_frame_of_class(frame, size_class);
  else
    free_large_frame(frame);
}

} // namespace quarry
