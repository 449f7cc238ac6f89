// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quarry::emu {

/// What a wait of a cache_machine's actor has asked of a word, and when.
struct cache_question {
  /// On a value; the argument is the wait's own.
  using predicate = bool (*)(std::uint64_t value, void* argument);

  std::uint32_t about = 0; ///< a cell
  std::uint32_t changes = 0;
  unsigned level = 0;
  predicate is_met = nullptr; ///< none: nothing was asked
  void* argument = nullptr;
  bool operator==(cache_question const&) const = default;
};

/// The waits of an actor that have seen the newest value in vain, each until it is over: a
/// wavefront's work-items wait in turns.
class waits_in_vain {
public:
  [[nodiscard]] bool has(cache_question const& q) const noexcept {
    return std::find(last_.begin(), last_.end(), q) != last_.end();
  }
  void note(cache_question const& q) {
    end(q.argument);
    last_.push_back(q);
  }
  void end(void const* wait) noexcept {
    std::erase_if(last_, [wait](auto const& q) { return q.argument == wait; });
  }
  void clear() noexcept { last_.clear(); }

private:
  std::vector<cache_question> last_;
};

} // namespace quarry::emu
