// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/litmus/test.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace quarry::litmus {

/// Takes `next` into a hash.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t next) noexcept {
  std::uint64_t h = (hash ^ next) * 0x9e3779b97f4a7c15U;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
  return h ^ (h >> 29);
}

/// Who has come to which barrier, in one execution of a test.
class rendezvous {
public:
  using barrier_id = std::optional<value>;

  explicit rendezvous(test const& t);

  void reset();
  void arrive(std::uint32_t thread, std::uint32_t instance, barrier_id id);
  /// Whether a thread that has arrived may go on; see `barrier`.
  [[nodiscard]] bool is_open(std::uint32_t thread, std::uint32_t instance,
                             std::optional<value> quorum) const;
  [[nodiscard]] std::uint64_t hash(std::uint64_t seed) const;

private:
  /// A thread's part in an instance.
  struct part {
    bool is_there = false; ///< the instance is in the thread's program
    bool is_of_subgroup = false;
    bool may_vary = false;          ///< with an id that a register gives
    std::vector<barrier_id> ids{};  ///< those that are constants, none for a barrier without
    std::vector<barrier_id> came{}; ///< one for each arrival
    [[nodiscard]] bool may_come_to(barrier_id id) const;
  };

  [[nodiscard]] part const& part_of(std::size_t thread, std::uint32_t instance) const {
    return parts_[instance * where_.size() + thread];
  }

  /// Two threads' parts in an instance.
  [[nodiscard]] bool meet(std::size_t thread, std::size_t other, part const& of) const {
    return of.is_of_subgroup ? where_[thread] == where_[other]
                             : where_[thread].is_in_group_of(where_[other]);
  }

  std::vector<placement> where_; ///< by thread
  std::vector<part> parts_;      ///< by instance, then thread
};

} // namespace quarry::litmus
