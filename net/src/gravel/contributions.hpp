// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace quarry::net::gravel {

/// What nodes have given to gathers, by the gather's number: a node may be one ahead of another.
class contributions {
public:
  explicit contributions(std::uint32_t nodes) : nodes_(nodes) {}

  /// False if it has given to that gather before, or the gather is over.
  [[nodiscard]] bool add(std::uint32_t from, std::uint64_t number, std::vector<std::byte> bytes) {
    if (number <= taken_ || has(from, number))
      return false;
    auto& all = given_[number];
    all.resize(nodes_);
    all[from] = std::move(bytes);
    return true;
  }
  [[nodiscard]] bool has(std::uint32_t from, std::uint64_t number) const {
    auto const all = given_.find(number);
    return all != given_.end() && all->second[from].has_value();
  }
  /// Everybody's, in the order of the nodes, once they are there; then they are forgotten. Gathers
  /// are taken in the order of their numbers.
  [[nodiscard]] std::optional<std::vector<std::vector<std::byte>>> take(std::uint64_t number) {
    for (std::uint32_t n = 0; n < nodes_; ++n)
      if (!has(n, number))
        return std::nullopt;
    std::vector<std::vector<std::byte>> all;
    for (auto& b : given_[number])
      all.push_back(std::move(*b));
    given_.erase(number);
    taken_ = number;
    return all;
  }

private:
  std::uint32_t nodes_;
  std::uint64_t taken_ = 0; ///< the last one
  std::map<std::uint64_t, std::vector<std::optional<std::vector<std::byte>>>> given_;
};

} // namespace quarry::net::gravel
