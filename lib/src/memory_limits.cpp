// SPDX-License-Identifier: Apache-2.0
#include <quarry/memory_limits.hpp>

#include <limits>
#include <sys/resource.h>
#include <unistd.h>

namespace quarry {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

} // namespace

std::uint64_t machine_memory() noexcept {
  long const pages = ::sysconf(_SC_PHYS_PAGES);
  long const page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0)
    return unlimited;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

std::uint64_t process_memory() noexcept {
  rlimit most{};
  if (::getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY)
    return unlimited;
  return most.rlim_cur;
}

} // namespace quarry
