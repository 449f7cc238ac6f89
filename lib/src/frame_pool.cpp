// SPDX-License-Identifier: Apache-2.0
#include <quarry/frame_pool.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define QUARRY_FRAMES_FROM_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QUARRY_FRAMES_FROM_HEAP 1
#endif
#endif
#ifndef QUARRY_FRAMES_FROM_HEAP
#define QUARRY_FRAMES_FROM_HEAP 0
#endif

namespace quarry {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t class_count = 64;
constexpr std::size_t slab_bytes = 64 * 1024;
constexpr std::size_t kept_per_thread = 16 * 1024; // frames of one class; more go to the depot

struct free_block {
  free_block* next;
};

void* from_heap(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t{line_bytes});
}

/// Frames that no thread holds at the moment. Never destroyed: threads outlive static objects.
struct depot {
  std::mutex mutex;
  std::array<free_block*, class_count> blocks{};
};

depot& the_depot() {
  static depot* const one = new depot;
  return *one;
}

/// One thread's free lists.
class thread_cache {
public:
  thread_cache() = default;
  thread_cache(thread_cache const&) = delete;
  thread_cache& operator=(thread_cache const&) = delete;
  ~thread_cache() {
    for (std::size_t c = 0; c < class_count; ++c)
      give_to_depot(c);
  }

  void* allocate(std::size_t c) {
    if (blocks_[c] == nullptr)
      refill(c);
    free_block* const block = blocks_[c];
    blocks_[c] = block->next;
    --counts_[c];
    return block;
  }

  void free(void* frame, std::size_t c) noexcept {
    blocks_[c] = new (frame) free_block{blocks_[c]};
    if (++counts_[c] > kept_per_thread)
      give_to_depot(c);
  }

private:
  void refill(std::size_t c) {
    depot& d = the_depot();
    {
      std::lock_guard const lock(d.mutex);
      blocks_[c] = std::exchange(d.blocks[c], nullptr);
    }
    for (free_block* b = blocks_[c]; b != nullptr; b = b->next)
      ++counts_[c];
    if (blocks_[c] == nullptr)
      carve(c);
  }

  void carve(std::size_t c) {
    std::size_t const bytes = (c + 1) * line_bytes;
    auto* const slab = static_cast<std::byte*>(from_heap(slab_bytes));
    for (std::size_t offset = slab_bytes / bytes * bytes; offset != 0; offset -= bytes)
      free(slab + offset - bytes, c);
  }

  void give_to_depot(std::size_t c) noexcept {
    if (blocks_[c] == nullptr)
      return;
    free_block* last = blocks_[c];
    while (last->next != nullptr)
      last = last->next;
    depot& d = the_depot();
    std::lock_guard const lock(d.mutex);
    last->next = std::exchange(d.blocks[c], blocks_[c]);
    blocks_[c] = nullptr;
    counts_[c] = 0;
  }

  std::array<free_block*, class_count> blocks_{};
  std::array<std::size_t, class_count> counts_{};
};

thread_cache& this_threads_cache() {
  thread_local thread_cache cache;
  return cache;
}

constexpr std::size_t class_of(std::size_t bytes) {
  return (bytes - 1) / line_bytes;
}

} // namespace

void* allocate_frame(std::size_t bytes) {
  if (QUARRY_FRAMES_FROM_HEAP || class_of(bytes) >= class_count)
    return from_heap(bytes);
  return this_threads_cache().allocate(class_of(bytes));
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  if (QUARRY_FRAMES_FROM_HEAP || class_of(bytes) >= class_count)
    ::operator delete(frame, std::align_val_t{line_bytes});
  else
    this_threads_cache().free(frame, class_of(bytes));
}

} // namespace quarry
