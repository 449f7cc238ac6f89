// SPDX-License-Identifier: Apache-2.0
#include <quarry/bytes.hpp>
#include <quarry/strategy.hpp>

#include <fmt/format.h>

namespace quarry {

static_assert(strategy<bytes>);

std::string bytes::describe() const {
  return fmt::format("{} bytes", data_.size());
}

} // namespace quarry
