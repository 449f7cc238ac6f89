// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry {

/// What a choice of an explored execution is about.
enum class choice_kind : std::uint8_t {
  actor,      ///< who goes on
  value,      ///< which write a load sees
  write_back, ///< whether a write reached the next cache before another one did
};
inline constexpr int choice_kind_count = 3;

/// Where an execution's choices come from: one stream drives everything (design §8).
class chooser {
public:
  chooser() = default;
  chooser(chooser const&) = delete;
  chooser& operator=(chooser const&) = delete;
  virtual ~chooser() = default;

  /// One of 0 … n - 1, for n >= 2. 0 is the boring one: the same actor goes on, the newest value is
  /// seen; so that any prefix of a stream, with zeros after it, is an execution.
  virtual unsigned pick(unsigned n, choice_kind kind) = 0;
};

} // namespace quarry
