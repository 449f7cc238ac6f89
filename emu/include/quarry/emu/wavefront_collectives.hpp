// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lane_algorithms.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/work_group.hpp>

#include <concepts>
#include <source_location>

namespace quarry::emu {

/// What the lanes of a wavefront do together: over the active ones, plain calls. `Wavefront` has
/// active() and slot().
template<class Wavefront, int Size>
class wavefront_collectives {
  using source_location = std::source_location;

public:
  template<class T, class Op>
  [[nodiscard]] T reduce(lanes<T, Size> const& v, Op op) const {
    return emu::reduce(v, op, mask());
  }
  template<class T>
  [[nodiscard]] lanes<T, Size> prefix_sum(lanes<T, Size> const& v) const {
    return emu::exclusive_prefix_sum(v, mask());
  }
  template<class Condition>
  [[nodiscard]] lane_mask ballot(Condition const& cond) const noexcept {
    return as_mask(cond) & mask();
  }
  template<class Condition>
  [[nodiscard]] bool any(Condition const& cond) const noexcept {
    return ballot(cond).any();
  }
  template<class Condition>
  [[nodiscard]] bool all(Condition const& cond) const noexcept {
    return ballot(cond) == mask();
  }
  /// The leader's lane: the highest active one (thesis Figure 5-2b).
  [[nodiscard]] int elect_leader() const noexcept { return mask().last(); }

  /// Active lane l gets lane source[l]'s value, the inactive ones get 0.
  ///
  /// Errors   fault wrong_shape – an active lane's source is not an active lane
  template<class T, std::integral I>
  [[nodiscard, gnu::always_inline]] lanes<T, Size>
  shuffle(lanes<T, Size> const& v, lanes<I, Size> const& source,
          source_location where = source_location::current()) const {
    if (mask().without(those_that_find(source)).any()) [[unlikely]]
      wrong_shape(self().slot(), "a shuffle from a work-item that has not come to it", where);
    return select(mask(), emu::shuffle(v, source), lanes<T, Size>(T{}));
  }
  /// Lane `lane`'s value; where no lane is active, nobody asks for it and it is 0.
  ///
  /// Errors   fault wrong_shape – it is not an active lane
  template<class T>
  [[nodiscard]] T broadcast(lanes<T, Size> const& v, int lane,
                            source_location where = source_location::current()) const {
    if (!mask().any())
      return T{};
    if (lane < 0 || lane >= Size || !mask().test(lane)) [[unlikely]]
      wrong_shape(self().slot(), "a broadcast from a work-item that has not come to it", where);
    return v[lane];
  }

protected:
  static lane_mask as_mask(lane_mask m) noexcept { return m; }
  template<class T>
  static lane_mask as_mask(lane_predicate<T, Size> const& p) noexcept {
    return p.bits();
  }

private:
  [[nodiscard]] Wavefront const& self() const noexcept {
    return static_cast<Wavefront const&>(*this);
  }
  [[nodiscard]] lane_mask mask() const noexcept { return self().active(); }

  /// The lanes whose source is an active one.
  template<std::integral I>
  [[nodiscard, gnu::always_inline]] lane_mask
  those_that_find(lanes<I, Size> const& source) const noexcept {
    lane_mask const in_range = (source >= I{0}) & (source < static_cast<I>(Size));
    if (mask().is_full(Size)) [[likely]]
      return in_range;
    lanes<I, Size> const ones(I{1});
    return in_range & (emu::shuffle(select(mask(), ones, I{0}), source) != I{0}).bits();
  }
};

} // namespace quarry::emu
