// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/buffer.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace quarry::emu {

void refuse_buffer(std::string const& name, std::size_t count, std::size_t bytes_each) {
  throw std::length_error(
      fmt::format("buffer '{}': {} elements of {} bytes are more than have an address", name, count,
                  bytes_each));
}

} // namespace quarry::emu
