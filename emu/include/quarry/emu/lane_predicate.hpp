// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/native_vector.hpp>

#include <utility>

namespace quarry::emu {

/// How `Size` elements of type T lie in native registers.
template<lane_value T, int Size>
struct lane_layout {
  static_assert(Size >= 2 && Size <= 64 && (Size & (Size - 1)) == 0,
                "lanes come in powers of two, up to 64");
  static constexpr int lanes_per_part = Size * static_cast<int>(sizeof(T)) <= native_vector_bytes
                                            ? Size
                                            : native_vector_bytes / static_cast<int>(sizeof(T));
  static constexpr int part_count = Size / lanes_per_part;
  using part = native_vector<T, lanes_per_part>;
};

/// The result of comparing lanes<T, Size>: a bit per lane, in the form that the machine compares to
/// and selects by (mask registers with AVX-512, otherwise vectors as wide as T).
///
/// Stay with it inside an expression; bits(), and the implicit conversion, give the lane_mask that
/// control flow wants. Predicates of elements of the same width combine; others meet as lane_mask.
template<lane_value T, int Size>
class lane_predicate {
  using layout = lane_layout<T, Size>;
  static constexpr auto parts = std::make_integer_sequence<int, layout::part_count>{};

public:
  using part_type = typename layout::part;
  using mask_type = typename part_type::mask;
  static constexpr int size = Size;

  lane_predicate() = default;
  /// Expands bits; bits at and above Size are ignored.
  QUARRY_ALWAYS_INLINE explicit lane_predicate(lane_mask m) noexcept
      : lane_predicate(from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
          return part_type::from_bits(m.bits() >> (k * layout::lanes_per_part));
        })) {}
  template<lane_value U>
    requires(sizeof(U) == sizeof(T))
  QUARRY_ALWAYS_INLINE explicit lane_predicate(lane_predicate<U, Size> const& o) noexcept
      : lane_predicate(
            from_parts([&](auto k) QUARRY_ALWAYS_INLINE { return (mask_type)o.part(k); })) {}
  template<lane_value U>
    requires(sizeof(U) != sizeof(T))
  QUARRY_ALWAYS_INLINE explicit lane_predicate(lane_predicate<U, Size> const& o) noexcept
      : lane_predicate(o.bits()) {}

  [[nodiscard]] QUARRY_ALWAYS_INLINE lane_mask bits() const noexcept { return bits(parts); }
  QUARRY_ALWAYS_INLINE operator lane_mask() const noexcept {
    return bits();
  } // NOLINT(*-explicit-*)
  [[nodiscard]] bool operator[](int lane) const noexcept { return bits().test(lane); }

  // clang-format off
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lane_predicate operator&(lane_predicate const& a, lane_predicate const& b) noexcept {
    return from_parts([&](auto k) QUARRY_ALWAYS_INLINE { return (mask_type)(a.part(k) & b.part(k)); });
  }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lane_predicate operator|(lane_predicate const& a, lane_predicate const& b) noexcept {
    return from_parts([&](auto k) QUARRY_ALWAYS_INLINE { return (mask_type)(a.part(k) | b.part(k)); });
  }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lane_predicate operator^(lane_predicate const& a, lane_predicate const& b) noexcept {
    return from_parts([&](auto k) QUARRY_ALWAYS_INLINE { return (mask_type)(a.part(k) ^ b.part(k)); });
  }
  [[nodiscard]] QUARRY_ALWAYS_INLINE lane_predicate operator!() const noexcept {
    return from_parts([&](auto k) QUARRY_ALWAYS_INLINE { return (mask_type)~part(k); });
  }
  // clang-format on
  QUARRY_ALWAYS_INLINE lane_predicate& operator&=(lane_predicate const& o) noexcept {
    return *this = *this & o;
  }
  QUARRY_ALWAYS_INLINE lane_predicate& operator|=(lane_predicate const& o) noexcept {
    return *this = *this | o;
  }
  QUARRY_ALWAYS_INLINE lane_predicate& operator^=(lane_predicate const& o) noexcept {
    return *this = *this ^ o;
  }

  /// For the operations on registers: part k, and a predicate made of f(k) for each part.
  [[nodiscard]] QUARRY_ALWAYS_INLINE mask_type part(int k) const noexcept { return parts_[k]; }
  template<class F>
  [[nodiscard]] QUARRY_ALWAYS_INLINE static lane_predicate from_parts(F const& f) noexcept {
    return from_parts(f, parts);
  }

private:
  template<class F, int... K>
  QUARRY_ALWAYS_INLINE static lane_predicate from_parts(F const& f,
                                                        std::integer_sequence<int, K...>) noexcept {
    lane_predicate r;
    ((r.parts_[K] = f(std::integral_constant<int, K>{})), ...);
    return r;
  }
  template<int... K>
  QUARRY_ALWAYS_INLINE lane_mask bits(std::integer_sequence<int, K...>) const noexcept {
    return lane_mask(((part_type::bits(parts_[K]) << (K * layout::lanes_per_part)) | ...));
  }

  mask_type parts_[layout::part_count];
};

/// Predicates of different types: of the left one's if the widths agree, otherwise lane_mask.
template<class T, class U, int Size>
  requires(!std::same_as<T, U>)
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto
operator&(lane_predicate<T, Size> const& a, lane_predicate<U, Size> const& b) noexcept {
  if constexpr (sizeof(T) == sizeof(U))
    return a & lane_predicate<T, Size>(b);
  else
    return a.bits() & b.bits();
}
template<class T, class U, int Size>
  requires(!std::same_as<T, U>)
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto
operator|(lane_predicate<T, Size> const& a, lane_predicate<U, Size> const& b) noexcept {
  if constexpr (sizeof(T) == sizeof(U))
    return a | lane_predicate<T, Size>(b);
  else
    return a.bits() | b.bits();
}

} // namespace quarry::emu
