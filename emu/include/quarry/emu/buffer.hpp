// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lifetime.hpp>
#include <quarry/frame_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace quarry::emu {

/// While it lives, kernels may touch a range of host memory. It must not outlive that memory: the
/// next one there would overlap it. An empty range may be anywhere, since nobody can touch it.
///
/// Errors   std::invalid_argument – the range overlaps one that kernels may touch already
class registration {
public:
  registration(allocations& known, void const* begin, std::size_t bytes, std::string name,
               contents holds = contents::zeroed, coherence grain = coherence::fine_grained,
               std::source_location where = std::source_location::current())
      : known_(&known), begin_(begin) {
    if (bytes == 0)
      return;
    known.add(begin, bytes, std::move(name), holds, grain, where);
    known_lives_ = known.lives();
  }
  registration(registration&&) noexcept = default;
  registration& operator=(registration&&) = delete;
  ~registration() {
    if (!known_lives_.expired())
      known_->remove(begin_);
  }

private:
  allocations* known_;
  /// An agent may go before its buffers; empty: nothing is registered, or somebody else's by now.
  lifetime::observer known_lives_;
  void const* begin_;
};

/// In an execution that is explored, memory that is given back is kept until its end: the next
/// buffer must not come to the same address, where nobody would find who still uses the last one.
/// False: it is not kept, since no execution runs here.
[[nodiscard]] bool keep_to_end(void* memory, std::size_t bytes,
                               void (*free)(void*, std::size_t) noexcept) noexcept;

/// Throws std::length_error: so many elements have more bytes than there are addresses.
[[noreturn]] void refuse_buffer(std::string const& name, std::size_t count, std::size_t bytes_each);

/// Device memory with one owner, zeroed unless it is asked for uninitialised: then `explore` finds
/// who reads a word that nobody has written. The host reads and writes it between launches.
template<class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds trivially copyable elements");
  static constexpr std::size_t line = std::max<std::size_t>(64, alignof(T));
  static constexpr std::size_t most_bytes = std::size_t{1} << 47; ///< that have an address

public:
  /// Errors   std::length_error – more bytes than have an address; std::bad_alloc
  buffer(allocations& known, std::size_t count, std::string name, contents holds = contents::zeroed,
         coherence grain = coherence::fine_grained,
         std::source_location where = std::source_location::current())
      : elements_(make(name, count, holds), free_aligned{bytes_of(count)}), count_(count),
        registration_(known, elements_.get(), count * sizeof(T), std::move(name), holds, grain,
                      where) {}
  /// Zeroed and fine-grained, as part of something that was made there.
  buffer(allocations& known, std::size_t count, std::string name, std::source_location where)
      : buffer(known, count, std::move(name), contents::zeroed, coherence::fine_grained, where) {}

  /// The other one is empty then.
  buffer(buffer&& other) noexcept
      : elements_(std::move(other.elements_)), count_(std::exchange(other.count_, 0)),
        registration_(std::move(other.registration_)) {}

  [[nodiscard]] emu::global<T> global() noexcept { return emu::global<T>(elements_.get()); }
  [[nodiscard]] emu::global<T const> global() const noexcept {
    return emu::global<T const>(elements_.get());
  }
  [[nodiscard]] std::span<T> host() noexcept { return {elements_.get(), count_}; }
  [[nodiscard]] std::span<T const> host() const noexcept { return {elements_.get(), count_}; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
  // Small ones come from the pool of frames: explored worlds make theirs anew in each execution.
  struct free_aligned {
    std::size_t bytes;
    void operator()(T* p) const noexcept {
      if (!keep_to_end(p, bytes, &give_back))
        give_back(p, bytes);
    }
  };
  static void give_back(void* p, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (line == frame_class_bytes)
      free_frame(p, bytes);
    else
      ::operator delete(p, std::align_val_t{line});
  }
  static constexpr std::size_t bytes_of(std::size_t count) noexcept {
    return std::max<std::size_t>(count, 1) * sizeof(T);
  }
  static void* take(std::size_t bytes) {
    if constexpr (line == frame_class_bytes)
      return allocate_frame(bytes);
    else
      return ::operator new(bytes, std::align_val_t{line});
  }
  static T* make(std::string const& name, std::size_t count, contents holds) {
    if (count > most_bytes / sizeof(T))
      refuse_buffer(name, count, sizeof(T));
    auto* const p = static_cast<T*>(take(bytes_of(count)));
    std::uninitialized_value_construct_n(p, count);
    if (holds == contents::uninitialised)
      std::memset(static_cast<void*>(p), uninitialised_byte, count * sizeof(T));
    return p;
  }

  std::unique_ptr<T, free_aligned> elements_;
  std::size_t count_;
  registration registration_;
};

} // namespace quarry::emu
