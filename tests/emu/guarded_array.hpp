// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

/// An array between two pages that may not be touched: it ends where the second one begins, or
/// begins where the first one ends.
template<class T>
class guarded_array {
public:
  enum class against { end, begin };

  explicit guarded_array(std::size_t count, against side = against::end) {
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t const bytes = (count * sizeof(T) + page - 1) / page * page;
    mapped_ = bytes + 2 * page;
    void* const at = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
      throw std::system_error(errno, std::generic_category(), "mmap");
    mapping_ = static_cast<std::byte*>(at);
    if (mprotect(mapping_ + page, bytes, PROT_READ | PROT_WRITE) != 0)
      throw std::system_error(errno, std::generic_category(), "mprotect");
    auto* const first =
        side == against::end ? mapping_ + page + bytes - count * sizeof(T) : mapping_ + page;
    values_ = {reinterpret_cast<T*>(first), count};
  }
  guarded_array(guarded_array const&) = delete;
  guarded_array& operator=(guarded_array const&) = delete;
  ~guarded_array() { munmap(mapping_, mapped_); }

  [[nodiscard]] std::span<T> values() const noexcept { return values_; }
  [[nodiscard]] T* data() const noexcept { return values_.data(); }

private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::span<T> values_;
};
