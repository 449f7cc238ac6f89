// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <sys/mman.h>
#include <type_traits>

namespace quarry::bench {

/// A zeroed array on huge pages where the machine gives them: random access to a table of many
/// megabytes otherwise measures the TLB.
template<class T>
  requires std::is_trivially_copyable_v<T>
class huge_array {
public:
  explicit huge_array(std::size_t count) : count_{count} {
    std::size_t const bytes = (count * sizeof(T) + page - 1) / page * page;
    data_.reset(static_cast<T*>(std::aligned_alloc(page, bytes)));
    if (!data_)
      throw std::bad_alloc{};
    // Only a hint: without it the array works on small pages.
    (void)::madvise(data_.get(), bytes, MADV_HUGEPAGE);
    std::uninitialized_value_construct_n(data_.get(), count);
  }

  [[nodiscard]] T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data_.get(), count_}; }

private:
  static constexpr std::size_t page = std::size_t{2} << 20;
  struct release {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<T, release> data_;
  std::size_t count_;
};

} // namespace quarry::bench
