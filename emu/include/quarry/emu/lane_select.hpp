// SPDX-License-Identifier: Apache-2.0
#pragma once

// select(), a part of lanes.hpp, which includes this file at its end.

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lanes.hpp>

namespace quarry::emu {

/// Lane by lane, `a` where the predicate holds, `b` elsewhere. One of them may be a number.
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
select(lane_predicate<T, Size> const& p, lanes<T, Size> const& a,
       std::type_identity_t<lanes<T, Size>> const& b) noexcept {
  return lanes<T, Size>::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    return lanes<T, Size>::part_type::select(p.part(k), a.part(k), b.part(k));
  });
}
template<lane_value T, lane_value U, int Size>
  requires(!std::same_as<T, U>)
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
select(lane_predicate<U, Size> const& p, lanes<T, Size> const& a,
       std::type_identity_t<lanes<T, Size>> const& b) noexcept {
  return select(lane_predicate<T, Size>(p), a, b);
}
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
select(lane_mask m, lanes<T, Size> const& a,
       std::type_identity_t<lanes<T, Size>> const& b) noexcept {
  return select(lane_predicate<T, Size>(m), a, b);
}
template<class P, class S, lane_value T, int Size>
  requires uniform_for<S, T> && std::convertible_to<P, lane_mask>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size> select(P const& p, S a,
                                                                lanes<T, Size> const& b) noexcept {
  return select(p, lanes<T, Size>(a), b);
}

} // namespace quarry::emu
