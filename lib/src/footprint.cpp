// SPDX-License-Identifier: Apache-2.0
#include <quarry/footprint.hpp>

#include <algorithm>

namespace quarry {

void footprint::add(effect const& e) {
  publishes = publishes || e.publishes;
  acquires = acquires || e.acquires;
  is_any = is_any || e.is_any;
  if (e.word == 0)
    return;
  auto const at = std::lower_bound(words.begin(), words.end(), e.word);
  if (at == words.end() || *at != e.word)
    words.insert(at, e.word);
}

void footprint::clear() noexcept {
  words.clear();
  publishes = acquires = is_any = false;
}

bool footprint::has_to_do_with(footprint const& other) const noexcept {
  if (is_any || other.is_any || (publishes && other.acquires) || (acquires && other.publishes))
    return true;
  return std::any_of(words.begin(), words.end(), [&](std::uint64_t word) {
    return std::binary_search(other.words.begin(), other.words.end(), word);
  });
}

} // namespace quarry
