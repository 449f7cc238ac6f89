// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../gups/update_stream.hpp"
#include "../huge_array.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace quarry::bench {

/// What the command line of a GUPS program on MPI asks for.
struct gups_options {
  std::uint64_t updates_per_node = std::uint64_t{8} << 20;
  std::uint32_t table_log2 = 22; ///< log2 of the table entries on each node
  std::uint64_t seed = 1;
  std::size_t update_bytes = 4; ///< of one update on the wire: 4, as Gravel's, or 8
  // 64 kB less a little: with its header, a message then still fits Open MPI's eager limit of
  // 64 kB on TCP, above which it would cost a handshake.
  std::size_t buffer_bytes = (64 << 10) - 512; ///< aggregator: one message
  std::uint64_t round_updates = 1 << 20; ///< alltoallv: what a node generates between exchanges
  std::uint32_t receives_per_node = 4;   ///< aggregator: posted at once, for each source
};

/// One MPI process's share of a GUPS job: its part of the table, its updates, the clock, the check.
///
/// MPI is initialised by the constructor and finalised by the destructor; one job per process.
class gups_job {
public:
  /// Errors prints what is wrong with the command line on rank 0, and ends the whole job
  gups_job(int argc, char** argv);
  ~gups_job();
  gups_job(gups_job const&) = delete;
  gups_job& operator=(gups_job const&) = delete;

  [[nodiscard]] gups_options const& options() const noexcept { return options_; }
  [[nodiscard]] gups::table_shape shape() const noexcept { return shape_; }
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint32_t node_count() const noexcept { return shape_.node_count; }
  [[nodiscard]] gups::update_stream updates() const noexcept {
    return {shape_, options_.seed, rank_, options_.updates_per_node};
  }

  /// Calls `deliver(node, place)` for this node's updates from `first` to `last`, in order.
  template<class Deliver>
  void generate(std::uint64_t first, std::uint64_t last, Deliver&& deliver) const {
    // Blocks that stay in the first-level cache: the hash is a loop of its own, which vectorises.
    std::array<std::uint64_t, 512> indices;
    auto const stream = updates();
    for (std::uint64_t i = first; i < last; i += indices.size()) {
      std::size_t const count = std::min<std::uint64_t>(indices.size(), last - i);
      for (std::size_t k = 0; k < count; ++k)
        indices[k] = stream[i + k];
      for (std::size_t k = 0; k < count; ++k)
        deliver(shape_.owner(indices[k]), shape_.local(indices[k]));
    }
  }

  /// Applies updates that arrived, or that are this node's own: places in its part of the table.
  template<class Update>
  void apply(std::span<Update const> places) noexcept {
    // Entries are fetched early, and to the second-level cache, as many as go there at a time.
    constexpr std::size_t ahead = 256;
    std::uint64_t* const table = table_.data();
    auto const fetch = [&](std::size_t i) { __builtin_prefetch(table + places[i], 0, 2); };
    std::size_t const at_once = std::min(ahead, places.size());
    for (std::size_t i = 0; i < at_once; ++i)
      fetch(i);
    for (std::size_t i = 0; i < places.size() - at_once; ++i) {
      fetch(i + ahead);
      ++table[places[i]];
    }
    for (std::size_t i = places.size() - at_once; i < places.size(); ++i)
      ++table[places[i]];
  }

  /// Starts the clock: all processes together.
  void start();
  /// Stops the clock when all processes have applied everything.
  void stop();

  /// Verifies the whole table and prints one line of JSON on rank 0.
  ///
  /// Returns the exit status: 0 only if the answer is right.
  [[nodiscard]] int report(char const* program, std::uint64_t messages, std::uint64_t bytes);

private:
  [[nodiscard]] bool table_is_right() const;
  [[nodiscard]] bool equals_serial_recomputation() const;

  gups_options options_;
  std::uint32_t rank_ = 0;
  gups::table_shape shape_{1, 22};
  huge_array<std::uint64_t> table_;
  double started_ = 0;
  double seconds_ = 0;
};

} // namespace quarry::bench
