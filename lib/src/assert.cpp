// SPDX-License-Identifier: Apache-2.0
#include <quarry/assert.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace quarry {

void assertion_failed(char const* what, std::source_location where) {
  fmt::print(stderr, "quarry: broken invariant: {} at {}:{} in {}\n", what, where.file_name(),
             where.line(), where.function_name());
  std::abort();
}

} // namespace quarry
