// SPDX-License-Identifier: Apache-2.0
#include "region.hpp"

#include <map>

namespace quarry::net::shmem {
namespace {

struct roll {
  std::mutex mutex;
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::weak_ptr<region>> regions;
};
roll& all() {
  static roll r;
  return r;
}

} // namespace

std::uint64_t enroll(std::shared_ptr<region> const& r) {
  std::lock_guard const lock(all().mutex);
  std::erase_if(all().regions, [](auto const& entry) { return entry.second.expired(); });
  all().regions[++all().last] = r;
  return all().last;
}

std::shared_ptr<region> find_region(std::uint64_t number) {
  std::lock_guard const lock(all().mutex);
  auto const it = all().regions.find(number);
  return it == all().regions.end() ? nullptr : it->second.lock();
}

} // namespace quarry::net::shmem
