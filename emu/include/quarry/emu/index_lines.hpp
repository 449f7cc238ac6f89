// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/global.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace quarry::emu {

/// The indices of a queue: words that different parties write, a cache line each. They begin at 0.
template<class T>
class index_lines {
public:
  index_lines(allocations& known, std::size_t count, std::string name)
      : lines_(known, count, std::move(name)) {}

  [[nodiscard]] global<T> operator[](std::size_t which) {
    return global<T>(&lines_.global().get()[which].value);
  }

private:
  struct alignas(64) line {
    T value;
  };
  buffer<line> lines_;
};

} // namespace quarry::emu
