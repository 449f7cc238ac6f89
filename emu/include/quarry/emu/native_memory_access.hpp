// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/native_vector.hpp>

#include <bit>

namespace quarry::emu {

/// Moves one native register's worth of lanes from and to memory; no alignment beyond T's is
/// needed. Masked-off elements read as zero and touch no memory.
template<class T, int Count>
struct native_access {
  using part = native_vector<T, Count>;
  using vector = typename part::type;
  static constexpr int bytes = part::bytes;

  QUARRY_ALWAYS_INLINE static vector load(T const* at) noexcept {
    vector v;
    __builtin_memcpy(&v, at, sizeof v);
    return v;
  }
  QUARRY_ALWAYS_INLINE static void store(T* at, vector v) noexcept {
    __builtin_memcpy(at, &v, sizeof v);
  }
  /// Element i if bit i is set, else 0.
  QUARRY_ALWAYS_INLINE static vector load(T const* at, std::uint64_t bits) noexcept;
  QUARRY_ALWAYS_INLINE static void store(T* at, vector v, std::uint64_t bits) noexcept;

  /// True if gather() is there. (AVX2 has an instruction too, but scalar loads are as fast.)
#if defined(QUARRY_EMU_AVX512)
  static constexpr bool gathers = bytes == 64 && sizeof(T) >= 4;
#else
  static constexpr bool gathers = false;
#endif
  using gather_index = typename part::integer; ///< signed, as wide as T
  /// base[index[i]] if bit i is set, else 0.
  QUARRY_ALWAYS_INLINE static vector gather(T const* base, typename part::integer_type index,
                                            std::uint64_t bits) noexcept
    requires gathers;

private:
  static constexpr std::uint64_t every =
      Count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (Count % 64)) - 1;
  QUARRY_ALWAYS_INLINE static vector load_each(T const* at, std::uint64_t bits) noexcept {
    vector v{};
    for (bits &= every; bits != 0; bits &= bits - 1)
      v[std::countr_zero(bits)] = at[std::countr_zero(bits)];
    return v;
  }
  QUARRY_ALWAYS_INLINE static void store_each(T* at, vector v, std::uint64_t bits) noexcept {
    for (bits &= every; bits != 0; bits &= bits - 1)
      at[std::countr_zero(bits)] = v[std::countr_zero(bits)];
  }
};

#if defined(QUARRY_EMU_AVX512)

template<class T, int Count>
inline auto native_access<T, Count>::load(T const* at, std::uint64_t bits) noexcept -> vector {
  if constexpr (bytes == 64 || bytes == 32) {
    auto const m = part::from_bits(bits);
    if constexpr (std::same_as<T, float>)
      return (vector)_mm512_maskz_loadu_ps(m, at);
    else if constexpr (std::same_as<T, double>)
      return (vector)_mm512_maskz_loadu_pd(m, at);
    else if constexpr (bytes == 32)
      return (vector)_mm256_maskz_loadu_epi8(m, at);
    else if constexpr (sizeof(T) == 1)
      return (vector)_mm512_maskz_loadu_epi8(m, at);
    else if constexpr (sizeof(T) == 2)
      return (vector)_mm512_maskz_loadu_epi16(m, at);
    else if constexpr (sizeof(T) == 4)
      return (vector)_mm512_maskz_loadu_epi32(m, at);
    else
      return (vector)_mm512_maskz_loadu_epi64(m, at);
  } else {
    return load_each(at, bits);
  }
}

template<class T, int Count>
inline void native_access<T, Count>::store(T* at, vector v, std::uint64_t bits) noexcept {
  if constexpr (bytes == 64 || bytes == 32) {
    auto const m = part::from_bits(bits);
    if constexpr (std::same_as<T, float>)
      _mm512_mask_storeu_ps(at, m, (__m512)v);
    else if constexpr (std::same_as<T, double>)
      _mm512_mask_storeu_pd(at, m, (__m512d)v);
    else if constexpr (bytes == 32)
      _mm256_mask_storeu_epi8(at, m, (__m256i)v);
    else if constexpr (sizeof(T) == 1)
      _mm512_mask_storeu_epi8(at, m, (__m512i)v);
    else if constexpr (sizeof(T) == 2)
      _mm512_mask_storeu_epi16(at, m, (__m512i)v);
    else if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_epi32(at, m, (__m512i)v);
    else
      _mm512_mask_storeu_epi64(at, m, (__m512i)v);
  } else {
    store_each(at, v, bits);
  }
}

template<class T, int Count>
inline auto native_access<T, Count>::gather(T const* base, typename part::integer_type index,
                                            std::uint64_t bits) noexcept -> vector
  requires gathers
{
  auto const m = part::from_bits(bits);
  auto const at = (__m512i)index;
  if constexpr (std::same_as<T, float>)
    return (vector)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, at, base, 4);
  else if constexpr (std::same_as<T, double>)
    return (vector)_mm512_mask_i64gather_pd(_mm512_setzero_pd(), m, at, base, 8);
  else if constexpr (sizeof(T) == 4)
    return (vector)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, base, 4);
  else
    return (vector)_mm512_mask_i64gather_epi64(_mm512_setzero_si512(), m, at, base, 8);
}

#else

template<class T, int Count>
inline auto native_access<T, Count>::load(T const* at, std::uint64_t bits) noexcept -> vector {
#if defined(__AVX2__)
  if constexpr (bytes == 32 && sizeof(T) == 4)
    return (vector)_mm256_maskload_epi32(reinterpret_cast<int const*>(at),
                                         (__m256i)part::from_bits(bits));
  else if constexpr (bytes == 32 && sizeof(T) == 8)
    return (vector)_mm256_maskload_epi64(reinterpret_cast<long long const*>(at),
                                         (__m256i)part::from_bits(bits));
  else
#endif
    return load_each(at, bits);
}

template<class T, int Count>
inline void native_access<T, Count>::store(T* at, vector v, std::uint64_t bits) noexcept {
#if defined(__AVX2__)
  // A masked store is microcode on some machines; most masks are prefixes.
  if ((~bits & every) == 0)
    store(at, v);
  else if ((bits & every) == 0)
    return;
  else if constexpr (bytes == 32 && sizeof(T) == 4)
    _mm256_maskstore_epi32(reinterpret_cast<int*>(at), (__m256i)part::from_bits(bits), (__m256i)v);
  else if constexpr (bytes == 32 && sizeof(T) == 8)
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(at), (__m256i)part::from_bits(bits),
                           (__m256i)v);
  else
#endif
    store_each(at, v, bits);
}

#endif

} // namespace quarry::emu
