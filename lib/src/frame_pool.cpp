// SPDX-License-Identifier: Apache-2.0
#include <quarry/frame_pool.hpp>
#include <quarry/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>

namespace quarry {
namespace {

constexpr bool frames_from_heap = QUARRY_ASAN; // which then knows each
constexpr std::size_t line_bytes = frame_class_bytes;
constexpr std::size_t class_count = frame_class_count;
constexpr std::size_t slab_bytes = 64 * 1024;
constexpr std::size_t batch_size = 512; // frames that go between a thread and the depot at a time

struct free_block {
  free_block* next; ///< in its batch
  // Of the first block of a batch that is not in use:
  free_block* next_batch;
  std::size_t count;
};

void* from_heap(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t{line_bytes});
}

/// Batches that no thread holds at the moment. Never destroyed: threads outlive static objects.
class depot {
public:
  void give(std::size_t c, free_block* batch) noexcept {
    if (batch == nullptr)
      return;
    std::lock_guard const lock(mutex_);
    batch->next_batch = std::exchange(batches_[c], batch);
  }

  free_block* take(std::size_t c) noexcept {
    std::lock_guard const lock(mutex_);
    free_block* const batch = batches_[c];
    if (batch != nullptr)
      batches_[c] = batch->next_batch;
    return batch;
  }

private:
  std::mutex mutex_;
  std::array<free_block*, class_count> batches_{};
};

depot& the_depot() {
  static depot* const one = new depot;
  return *one;
}

/// One thread's free blocks of one class: a batch in use and one in reserve, so that a thread at
/// the border does not go to the depot each time.
struct free_list {
  /// The batch in use, ready to be put away.
  free_block* detach() noexcept {
    if (blocks != nullptr)
      blocks->count = std::exchange(count, 0);
    return std::exchange(blocks, nullptr);
  }

  free_block* blocks = nullptr;
  std::size_t count = 0; ///< in `blocks`
  free_block* reserve = nullptr;
};

/// One thread's free lists. Trivially destructible: frames may be freed by destructors that run
/// after those of the thread's objects.
struct thread_cache {
  std::array<free_list, class_count> lists{};
  bool is_closed = false; ///< the thread ends: everything goes to the depot
};

// At a fixed place from the thread's pointer also in a shared library: a frame is allocated in a
// few instructions, without a call.
[[gnu::tls_model("initial-exec")]] constinit thread_local thread_cache cache;

/// Gives the thread's blocks to the depot when it ends.
struct closer {
  ~closer() {
    cache.is_closed = true;
    for (std::size_t c = 0; c < class_count; ++c) {
      the_depot().give(c, cache.lists[c].detach());
      the_depot().give(c, std::exchange(cache.lists[c].reserve, nullptr));
    }
  }
};

void close_at_thread_end() {
  static thread_local closer const at_thread_end;
  static_cast<void>(at_thread_end);
}

/// A batch of new blocks.
free_block* carve(std::size_t c) {
  std::size_t const bytes = (c + 1) * line_bytes;
  std::size_t const count = std::min(slab_bytes / bytes, batch_size);
  auto* const slab = static_cast<std::byte*>(from_heap(count * bytes));
  free_block* chain = nullptr;
  for (std::size_t i = count; i-- != 0;)
    chain = new (slab + i * bytes) free_block{chain, nullptr, count};
  return chain;
}

void refill(std::size_t c) {
  close_at_thread_end();
  free_list& list = cache.lists[c];
  free_block* batch = std::exchange(list.reserve, nullptr);
  if (batch == nullptr)
    batch = the_depot().take(c);
  if (batch == nullptr)
    batch = carve(c);
  list.count = batch->count;
  list.blocks = batch;
}

/// Empties the batch in use. In a closed cache, a frame or two a class stay behind in the end.
void make_room(std::size_t c) noexcept {
  close_at_thread_end();
  free_list& list = cache.lists[c];
  the_depot().give(c, std::exchange(list.reserve, list.detach()));
}

// The rare cases, apart: the common ones then save no registers.

[[gnu::noinline]] void* allocate_slowly(std::size_t c) {
  if (frames_from_heap)
    return from_heap((c + 1) * line_bytes);
  refill(c);
  return allocate_frame_of_class(c);
}

[[gnu::noinline]] void free_slowly(void* frame, std::size_t c) noexcept {
  if (frames_from_heap)
    return free_large_frame(frame);
  make_room(c);
  free_list& list = cache.lists[c];
  list.blocks = new (frame) free_block{list.blocks, nullptr, 0};
  ++list.count;
}

} // namespace

void* allocate_large_frame(std::size_t bytes) {
  return from_heap(bytes);
}

void free_large_frame(void* frame) noexcept {
  ::operator delete(frame, std::align_val_t{line_bytes});
}

void* allocate_frame_of_class(std::size_t c) {
  free_list& list = cache.lists[c];
  free_block* const block = list.blocks;
  if (frames_from_heap || block == nullptr) [[unlikely]]
    return allocate_slowly(c);
  list.blocks = block->next;
  --list.count;
  return block;
}

void free_frame_of_class(void* frame, std::size_t c) noexcept {
  free_list& list = cache.lists[c];
  if (frames_from_heap || list.count >= batch_size || cache.is_closed) [[unlikely]]
    return free_slowly(frame, c);
  auto* const block = new (frame) free_block;
  block->next = list.blocks; // the rest of it is written when its batch is put away
  list.blocks = block;
  ++list.count;
}

} // namespace quarry
