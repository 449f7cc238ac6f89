// SPDX-License-Identifier: Apache-2.0
#include "lds_writes.hpp"

#include "each_word.hpp"

namespace quarry::emu {

void lds_writes::forget(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (!words_.empty())
    std::erase_if(words_, [&](auto const& w) { return w.first >= begin / 8 && w.first * 8 < end; });
}

void lds_writes::add(std::uintptr_t at, unsigned bytes, write_id by) {
  for_each_word(at, bytes, [&](std::uintptr_t number, std::uint8_t mask) {
    word& w = words_[number];
    for (unsigned i = 0; i < w.by.size(); ++i)
      if ((mask >> i & 1) != 0)
        w.by[i] = by;
    w.written = static_cast<std::uint8_t>(w.written | mask);
  });
}

bool lds_writes::cover(std::uintptr_t at, unsigned bytes) const {
  bool all = true;
  for_each_word(at, bytes, [&](std::uintptr_t number, std::uint8_t mask) {
    auto const w = words_.find(number);
    all = all && w != words_.end() && (w->second.written & mask) == mask;
  });
  return all;
}

lds_writes::write_id lds_writes::of(std::uintptr_t at, unsigned bytes, race_detector& races) const {
  write_id all = 0;
  for_each_word(at, bytes, [&](std::uintptr_t number, std::uint8_t mask) {
    if (auto const w = words_.find(number); w != words_.end())
      for (unsigned i = 0; i < w->second.by.size(); ++i)
        if ((mask >> i & 1) != 0)
          all = races.join(all, w->second.by[i]);
  });
  return all;
}

} // namespace quarry::emu
