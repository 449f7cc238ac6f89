// SPDX-License-Identifier: Apache-2.0
#include "host_writes.hpp"

#include "host_word.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace quarry::emu {
namespace {

/// Host code has stored something there past its core since `outside` was the word's value for it;
/// and nothing newer has come to memory since, whose newest value is `value`.
bool is_host_write(std::uintptr_t at, unsigned bytes, std::uint64_t value, std::uint64_t outside) {
  return value == outside && host_word(at, bytes) != outside;
}

} // namespace

bool host_writes::is_any() {
  bool found = false;
  machine_.for_each_word(
      [&found](std::uintptr_t at, unsigned bytes, std::uint64_t value, std::uint64_t& outside) {
        found = found || is_host_write(at, bytes, value, outside);
      });
  return found;
}

void host_writes::take(cache_machine::actor_id by) {
  struct direct_write {
    std::uintptr_t at;
    unsigned bytes;
    std::uint64_t value;
  };
  std::vector<direct_write> those;
  machine_.synchronise(by, order::release, scope::system);
  machine_.for_each_word(
      [&those](std::uintptr_t at, unsigned bytes, std::uint64_t value, std::uint64_t& outside) {
        if (is_host_write(at, bytes, value, outside)) {
          outside = host_word(at, bytes);
          those.push_back({at, bytes, outside});
        }
      });
  for (auto const& w : those)
    machine_.store_now(by, w.at, w.bytes, w.value);
}

void host_writes::show() {
  machine_.for_each_word(
      [](std::uintptr_t at, unsigned bytes, std::uint64_t value, std::uint64_t& outside) {
        if (outside != value)
          std::memcpy(reinterpret_cast<void*>(at), &value, bytes); // NOLINT
        outside = value;
      });
}

} // namespace quarry::emu
