// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace quarry::graph {

error malformed(std::string_view name, std::uint64_t line, std::string_view what) {
  return make_error(std::errc::bad_message, fmt::format("{}:{}: {}", name, line, what));
}

error make_error(std::errc code, std::string what) {
  return {std::make_error_code(code), std::move(what)};
}

std::uint64_t memory_limit(std::uint64_t asked) {
  if (asked != 0)
    return asked;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  rlimit of_process{};
  if (::getrlimit(RLIMIT_AS, &of_process) == 0 && of_process.rlim_cur != RLIM_INFINITY)
    most = of_process.rlim_cur;
  long const pages = ::sysconf(_SC_PHYS_PAGES);
  long const page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0)
    return most; // unknown: the allocator has the last word
  return std::min(most, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes));
}

} // namespace quarry::graph
