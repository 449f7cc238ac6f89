// SPDX-License-Identifier: Apache-2.0
#include <quarry/misuse.hpp>

#include <cstdio>
#include <cstdlib>

namespace quarry {

void misuse(std::string_view what, std::source_location where) noexcept {
  std::fprintf(stderr, "quarry: %.*s", static_cast<int>(what.size()), what.data());
  if (where.line() != 0)
    std::fprintf(stderr, " at %s:%u", where.file_name(), static_cast<unsigned>(where.line()));
  std::fputc('\n', stderr);
  std::abort();
}

} // namespace quarry
