// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_algorithms.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/work_group.hpp>

#include <concepts>
#include <cstdint>
#include <source_location>

namespace quarry::emu {

/// One truth for each lane: a lane_mask, or what comparing lanes gives.
template<class C, int Size>
concept lane_condition = std::convertible_to<C, lane_mask> || requires(C const& c) {
  []<class T>(lane_predicate<T, Size> const&) {}(c);
};

/// What the lanes of a wavefront do together: over the active ones, plain calls. `Wavefront` has
/// active() and slot().
template<class Wavefront, int Size>
class wavefront_collectives {
  using source_location = std::source_location;

public:
  template<lane_value T, reduction_of<T> Op>
  [[nodiscard]] T reduce(lanes<T, Size> const& v, Op op) const {
    return emu::reduce(v, op, mask());
  }
  template<lane_value T>
  [[nodiscard]] lanes<T, Size> prefix_sum(lanes<T, Size> const& v) const {
    return emu::exclusive_prefix_sum(v, mask());
  }
  template<lane_condition<Size> Condition>
  [[nodiscard]] lane_mask ballot(Condition const& cond) const noexcept {
    return as_mask(cond) & mask();
  }
  template<lane_condition<Size> Condition>
  [[nodiscard]] bool any(Condition const& cond) const noexcept {
    return ballot(cond).any();
  }
  template<lane_condition<Size> Condition>
  [[nodiscard]] bool all(Condition const& cond) const noexcept {
    return ballot(cond) == mask();
  }
  /// The leader's lane: the highest active one (thesis Figure 5-2b).
  [[nodiscard]] int elect_leader() const noexcept { return mask().last(); }

  /// Active lane l gets lane source[l]'s value, the inactive ones get 0.
  ///
  /// Errors   fault wrong_shape – an active lane's source is not an active lane
  template<class T, std::integral I>
  [[nodiscard]] QUARRY_ALWAYS_INLINE lanes<T, Size>
  shuffle(lanes<T, Size> const& v, lanes<I, Size> const& source,
          source_location where = source_location::current()) const {
    if (lane_mask const lost = mask().without(those_that_find(source)); lost.any()) [[unlikely]]
      lose(self().slot(), lost.first(), source, where);
    return select(mask(), emu::shuffle(v, source), lanes<T, Size>(T{}));
  }
  // The same from lane l + delta, l - delta, l ^ pattern; a lane for which there is none keeps its
  // own value. lane_algorithms.hpp's are of values alone, whoever is active.
  template<class T>
  [[nodiscard]] lanes<T, Size>
  shuffle_down(lanes<T, Size> const& v, int delta,
               source_location where = source_location::current()) const {
    return shuffle(v, from([delta](std::int64_t l) { return l + delta; }), where);
  }
  template<class T>
  [[nodiscard]] lanes<T, Size>
  shuffle_up(lanes<T, Size> const& v, int delta,
             source_location where = source_location::current()) const {
    return shuffle(v, from([delta](std::int64_t l) { return l - delta; }), where);
  }
  template<class T>
  [[nodiscard]] lanes<T, Size>
  shuffle_xor(lanes<T, Size> const& v, int pattern,
              source_location where = source_location::current()) const {
    return shuffle(v, from([pattern](std::int64_t l) { return l ^ pattern; }), where);
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
      has_not_come(self().slot(), "broadcast", -1, lane, where);
    return v[lane];
  }

protected:
  static lane_mask as_mask(lane_mask m) noexcept { return m; }
  template<class T>
  static lane_mask as_mask(lane_predicate<T, Size> const& p) noexcept {
    return p.bits();
  }

private:
  template<std::integral I>
  [[noreturn, gnu::cold, gnu::noinline]] static void
  lose(wave_slot const& w, int lane, lanes<I, Size> source, source_location where) {
    has_not_come(w, "shuffle", lane, static_cast<std::int64_t>(source[lane]), where);
  }
  /// Lane l from f(l), or from itself if there is no such lane.
  template<class F>
  [[nodiscard]] static lanes<std::int32_t, Size> from(F f) noexcept {
    lanes<std::int32_t, Size> source;
    for (int l = 0; l < Size; ++l) {
      std::int64_t const other = f(l);
      source.set(l, other >= 0 && other < Size ? static_cast<std::int32_t>(other) : l);
    }
    return source;
  }
  [[nodiscard]] Wavefront const& self() const noexcept {
    return static_cast<Wavefront const&>(*this);
  }
  [[nodiscard]] lane_mask mask() const noexcept { return self().active(); }

  /// The lanes whose source is an active one.
  template<std::integral I>
  [[nodiscard]] QUARRY_ALWAYS_INLINE lane_mask
  those_that_find(lanes<I, Size> const& source) const noexcept {
    lane_mask const in_range = (source >= I{0}) & (source < static_cast<I>(Size));
    if (mask().is_full(Size)) [[likely]]
      return in_range;
    lanes<I, Size> const ones(I{1});
    return in_range & (emu::shuffle(select(mask(), ones, I{0}), source) != I{0}).bits();
  }
};

} // namespace quarry::emu
