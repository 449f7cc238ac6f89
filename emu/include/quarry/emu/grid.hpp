// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace quarry::emu {

/// A size or a position in one to three dimensions; x is the fastest.
struct extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  constexpr extent() = default;
  /// Errors   std::invalid_argument – negative or above 4294967295
  template<std::integral I>
  constexpr extent(I x_) : x(checked(x_)) {} // NOLINT(*-explicit-*)
  template<std::integral X, std::integral Y, std::integral Z = int>
  constexpr extent(X x_, Y y_, Z z_ = 1) : x(checked(x_)), y(checked(y_)), z(checked(z_)) {}

  /// 2^64 - 1 if it is more.
  [[nodiscard]] constexpr std::uint64_t volume() const noexcept {
    std::uint64_t const area = std::uint64_t{x} * y;
    return z != 0 && area > ~std::uint64_t{0} / z ? ~std::uint64_t{0} : area * z;
  }
  friend constexpr bool operator==(extent, extent) = default;
  /// As a position, the first is (0, 0, 0), and a size of 0 is (0, 1, 1): compare its x.
  friend constexpr bool operator==(extent, std::integral auto) = delete;

private:
  static constexpr std::uint32_t checked(std::integral auto n) {
    if (!std::in_range<std::uint32_t>(+n)) // promoted, since it takes no characters
      throw std::invalid_argument("extent: " + std::to_string(n) + "; allowed are 0 to 4294967295");
    return static_cast<std::uint32_t>(n);
  }
};

/// What a launch runs over.
///
/// Say either how many work-groups there are, all of them whole, or how many work-items in all;
/// then the last group of each dimension is smaller where the items do not fill it (HSA PRM 2.2).
///
/// Shape    1 to 1024 work-items a group; fewer than 2^32 groups; LDS at most the compute unit's
/// Errors   refused by launch() with std::invalid_argument naming the argument and the limit
struct launch_config {
  extent work_groups{0};
  extent work_items{0};
  extent work_items_per_group{256};
  std::uint32_t lds_bytes = 0;
  /// All groups must be resident at once (they wait for each other): refused if they cannot be.
  bool cooperative = false;
  /// Where the launch is written: for reports.
  std::source_location where = std::source_location::current();
};

/// The sizes of one emulated GPU (thesis Table 4-2: a compute unit runs 40 wavefronts on 4 SIMDs).
struct machine {
  std::uint32_t compute_units = 8;
  std::uint32_t wavefront_slots = 40;  ///< per compute unit
  std::uint32_t lds_bytes = 64 * 1024; ///< per compute unit
  std::uint32_t wavefront_size = 64;   ///< 32 or 64
  std::uint32_t command_processor_cores = 2;
  /// That a service of the command processor with work gets before its core's next one has its
  /// turn.
  std::uint32_t command_processor_rounds = 4;

  /// How many such groups a compute unit has room for at once; of no work-items, none.
  [[nodiscard]] constexpr std::uint32_t groups_per_unit(std::uint32_t work_items_per_group,
                                                        std::uint32_t lds_bytes_per_group) const {
    if (work_items_per_group == 0)
      return 0;
    std::uint32_t const waves = (work_items_per_group - 1) / wavefront_size + 1;
    std::uint32_t const by_slots = wavefront_slots / waves;
    return lds_bytes_per_group == 0 ? by_slots
                                    : std::min(by_slots, lds_bytes / lds_bytes_per_group);
  }
};

inline constexpr std::uint32_t most_work_items_per_group = 1024;

} // namespace quarry::emu
