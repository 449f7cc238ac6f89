// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/global.hpp>

#include <atomic>
#include <cstddef>
#include <source_location>
#include <string>
#include <utility>

namespace quarry::emu {

/// The indices of a queue: words that different parties write, a cache line each.
template<class T>
class index_lines {
public:
  index_lines(allocations& known, std::size_t count, std::string name, T first = {},
              std::source_location where = std::source_location::current())
      : lines_(known, count, std::move(name), where) {
    if (first != T{}) // as they are made
      for (line& l : lines_.host())
        l.value = first;
  }

  [[nodiscard]] global<T> operator[](std::size_t which) {
    return global<T>(&lines_.global().get()[which].value);
  }

  [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return lines_.size() * sizeof(line); }
  /// From the host, whatever others do to it at the moment.
  [[nodiscard]] T peek(std::size_t which) const noexcept {
    return std::atomic_ref<T>(const_cast<T&>(lines_.host()[which].value))
        .load(std::memory_order_relaxed); // for reports
  }

private:
  struct alignas(64) line {
    T value;
  };
  buffer<line> lines_;
};

} // namespace quarry::emu
