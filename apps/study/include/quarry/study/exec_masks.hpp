// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/kernel.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/scheduler.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace quarry::study {

/// With how many active lanes the wavefronts of a deterministic scheduler have accessed memory:
/// divergence, as the exec masks show it (thesis §4.6.4, Figure 4-17).
///
/// Attached to the scheduler before the agent's kernels run.
class exec_masks final : public executor_attachment {
public:
  static constexpr std::size_t most_lanes = 64;

  void count(emu::lane_mask active) noexcept {
    ++operations_[static_cast<std::size_t>(active.count())];
  }
  /// Operations with so many active lanes.
  [[nodiscard]] std::uint64_t operator[](std::size_t lanes) const noexcept {
    return operations_[lanes];
  }
  /// Those with from `first` to `last`.
  [[nodiscard]] std::uint64_t between(std::size_t first, std::size_t last) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = first; i <= last; ++i)
      sum += operations_[i];
    return sum;
  }
  /// How many lanes are active in the mean.
  [[nodiscard]] double mean() const noexcept {
    std::uint64_t lanes = 0;
    for (std::size_t i = 0; i <= most_lanes; ++i)
      lanes += i * operations_[i];
    auto const all = between(0, most_lanes);
    return all == 0 ? 0 : static_cast<double>(lanes) / static_cast<double>(all);
  }

private:
  std::array<std::uint64_t, most_lanes + 1> operations_{};
};

/// The memory of a deterministic scheduler, whose accesses by wavefronts of 64 are counted.
class counted_memory : public emu::interleaving_memory {
public:
  explicit counted_memory(emu::memory_context const& c)
      : interleaving_memory(c), masks_(dynamic_cast<exec_masks*>(c.scheduler->attachment())),
        wave_(dynamic_cast<emu::wave_slot*>(c.self)) {}

  void before(void const* at, std::size_t bytes, std::size_t element_bytes, emu::attempt how) const;

private:
  exec_masks* masks_;
  emu::wave_slot* wave_;
};

inline void counted_memory::before(void const* at, std::size_t bytes, std::size_t element_bytes,
                                   emu::attempt how) const {
  using wavefront = emu::basic_wavefront<counted_memory, 64>; // what start_wave() has put there
  if (masks_ != nullptr && wave_ != nullptr)
    masks_->count(reinterpret_cast<wavefront const*>(wave_->storage.data())->active());
  interleaving_memory::before(at, bytes, element_bytes, how);
}
static_assert(emu::memory_model<counted_memory>);

/// What the kernels of studies are instantiated for: `native`, to take the time, and counted, under
/// a deterministic scheduler; 64 lanes.
struct studied_targets {
  template<class Kernel, class... Args>
  static emu::kernel_entry pick(emu::agent_core const& core) {
    if (core.shape().wavefront_size != exec_masks::most_lanes)
      throw std::invalid_argument("a study's wavefronts have 64 lanes");
    return core.scheduler().decides() ? emu::entry_of<counted_memory, 64, Kernel, Args...>()
                                      : emu::entry_of<emu::native_memory, 64, Kernel, Args...>();
  }
};

} // namespace quarry::study
