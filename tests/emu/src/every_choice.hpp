// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace quarry_test {

/// Every stream of choices, depth first.
class every_choice final : public quarry::chooser {
public:
  unsigned pick(unsigned n, quarry::choice_kind) override {
    if (next_ == path_.size())
      path_.emplace_back(0, n);
    REQUIRE(path_[next_].second == n); // the same prefix, the same question
    return path_[next_++].first;
  }
  bool advance() {
    next_ = 0;
    while (!path_.empty() && ++path_.back().first == path_.back().second)
      path_.pop_back();
    return !path_.empty();
  }

private:
  std::vector<std::pair<unsigned, unsigned>> path_;
  std::size_t next_ = 0;
};

} // namespace quarry_test
