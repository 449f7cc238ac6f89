// SPDX-License-Identifier: Apache-2.0
#pragma once

// The x86 instructions behind native_vector.hpp, which includes this file at its end.

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/native_vector.hpp>

#include <bit>
#include <cmath>

namespace quarry::emu {

template<lane_value T, int Count>
inline auto native_vector<T, Count>::fused_multiply_add(type a, type b, type c) noexcept -> type {
  if constexpr (std::integral<T>)
    return add(multiply(a, b), c);
#if defined(QUARRY_EMU_AVX512)
  else if constexpr (std::same_as<T, float> && bytes == 64)
    return (type)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else if constexpr (bytes == 64)
    return (type)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#endif
#if defined(__FMA__)
  else if constexpr (std::same_as<T, float> && bytes == 32)
    return (type)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else if constexpr (bytes == 32)
    return (type)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
  else {
    for (int i = 0; i < Count; ++i)
      a[i] = std::fma(a[i], b[i], c[i]);
    return a;
  }
}

template<lane_value T, int Count>
inline auto native_vector<T, Count>::square_root(type a) noexcept -> type {
#if defined(QUARRY_EMU_AVX512)
  if constexpr (std::same_as<T, float> && bytes == 64)
    return (type)_mm512_maskz_sqrt_ps(0xffff, (__m512)a); // unmasked, g++ 12 warns
  else if constexpr (bytes == 64)
    return (type)_mm512_maskz_sqrt_pd(0xff, (__m512d)a);
  else
#endif
#if defined(__AVX__)
      if constexpr (std::same_as<T, float> && bytes == 32)
    return (type)_mm256_sqrt_ps((__m256)a);
  else if constexpr (bytes == 32)
    return (type)_mm256_sqrt_pd((__m256d)a);
  else
#endif
      if constexpr (std::same_as<T, float> && bytes == 16)
    return (type)_mm_sqrt_ps((__m128)a);
  else if constexpr (bytes == 16)
    return (type)_mm_sqrt_pd((__m128d)a);
}

#if defined(QUARRY_EMU_AVX512)

template<lane_value T, int Count>
template<comparison C>
inline auto native_vector<T, Count>::compare(type a, type b) noexcept -> mask {
  static_assert(bytes == 64 || bytes == 32);
  constexpr int integral[] = {_MM_CMPINT_EQ, _MM_CMPINT_LT,  _MM_CMPINT_LE,
                              _MM_CMPINT_NE, _MM_CMPINT_NLT, _MM_CMPINT_NLE};
  constexpr int floating[] = {_CMP_EQ_OQ,  _CMP_LT_OS, _CMP_LE_OS,
                              _CMP_NEQ_UQ, _CMP_GE_OS, _CMP_GT_OS};
  constexpr int how =
      std::integral<T> ? integral[static_cast<int>(C)] : floating[static_cast<int>(C)];
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (std::same_as<T, float>)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, how);
  else if constexpr (std::same_as<T, double>)
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, how);
  else if constexpr (bytes == 32 && is_signed)
    return _mm256_cmp_epi8_mask((__m256i)a, (__m256i)b, how);
  else if constexpr (bytes == 32)
    return _mm256_cmp_epu8_mask((__m256i)a, (__m256i)b, how);
  else if constexpr (sizeof(T) == 1 && is_signed)
    return _mm512_cmp_epi8_mask((__m512i)a, (__m512i)b, how);
  else if constexpr (sizeof(T) == 1)
    return _mm512_cmp_epu8_mask((__m512i)a, (__m512i)b, how);
  else if constexpr (sizeof(T) == 2 && is_signed)
    return _mm512_cmp_epi16_mask((__m512i)a, (__m512i)b, how);
  else if constexpr (sizeof(T) == 2)
    return _mm512_cmp_epu16_mask((__m512i)a, (__m512i)b, how);
  else if constexpr (sizeof(T) == 4 && is_signed)
    return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, how);
  else if constexpr (sizeof(T) == 4)
    return _mm512_cmp_epu32_mask((__m512i)a, (__m512i)b, how);
  else if constexpr (is_signed)
    return _mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, how);
  else
    return _mm512_cmp_epu64_mask((__m512i)a, (__m512i)b, how);
}

template<lane_value T, int Count>
inline auto native_vector<T, Count>::select(mask m, type a, type b) noexcept -> type {
  static_assert(bytes == 64 || bytes == 32);
  if constexpr (std::same_as<T, float>)
    return (type)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a);
  else if constexpr (std::same_as<T, double>)
    return (type)_mm512_mask_blend_pd(m, (__m512d)b, (__m512d)a);
  else if constexpr (bytes == 32)
    return (type)_mm256_mask_blend_epi8(m, (__m256i)b, (__m256i)a);
  else if constexpr (sizeof(T) == 1)
    return (type)_mm512_mask_blend_epi8(m, (__m512i)b, (__m512i)a);
  else if constexpr (sizeof(T) == 2)
    return (type)_mm512_mask_blend_epi16(m, (__m512i)b, (__m512i)a);
  else if constexpr (sizeof(T) == 4)
    return (type)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a);
  else
    return (type)_mm512_mask_blend_epi64(m, (__m512i)b, (__m512i)a);
}

template<lane_value T, int Count>
inline std::uint64_t native_vector<T, Count>::bits(mask m) noexcept {
  return m;
}

template<lane_value T, int Count>
inline auto native_vector<T, Count>::from_bits(std::uint64_t bits) noexcept -> mask {
  return static_cast<mask>(bits);
}

template<lane_value T, int Count>
inline auto native_vector<T, Count>::permute(type a, type b, integer_type index) noexcept -> type
  requires permutes
{
  if constexpr (std::same_as<T, float>)
    return (type)_mm512_permutex2var_ps((__m512)a, (__m512i)index, (__m512)b);
  else if constexpr (std::same_as<T, double>)
    return (type)_mm512_permutex2var_pd((__m512d)a, (__m512i)index, (__m512d)b);
  else if constexpr (sizeof(T) == 8)
    return (type)_mm512_permutex2var_epi64((__m512i)a, (__m512i)index, (__m512i)b);
  else if constexpr (sizeof(T) == 4)
    return (type)_mm512_permutex2var_epi32((__m512i)a, (__m512i)index, (__m512i)b);
  else if constexpr (sizeof(T) == 2)
    return (type)_mm512_permutex2var_epi16((__m512i)a, (__m512i)index, (__m512i)b);
#if defined(__AVX512VBMI__)
  else
    return (type)_mm512_permutex2var_epi8((__m512i)a, (__m512i)index, (__m512i)b);
#endif
}

#else

template<lane_value T, int Count>
template<comparison C>
inline auto native_vector<T, Count>::compare(type a, type b) noexcept -> mask {
  if constexpr (C == comparison::equal)
    return (mask)(a == b);
  else if constexpr (C == comparison::less)
    return (mask)(a < b);
  else if constexpr (C == comparison::less_equal)
    return (mask)(a <= b);
  else if constexpr (C == comparison::not_equal)
    return (mask)(a != b);
  else if constexpr (C == comparison::greater_equal)
    return (mask)(a >= b);
  else
    return (mask)(a > b);
}

template<lane_value T, int Count>
inline auto native_vector<T, Count>::select(mask m, type a, type b) noexcept -> type {
#if defined(__AVX2__)
  if constexpr (bytes == 32 && sizeof(T) == 4)
    return (type)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
  else if constexpr (bytes == 32 && sizeof(T) == 8)
    return (type)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m);
  else if constexpr (bytes == 32)
    return (type)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)m);
  else
#endif
    return (type)(((mask)a & m) | ((mask)b & ~m));
}

template<lane_value T, int Count>
inline std::uint64_t native_vector<T, Count>::bits(mask m) noexcept {
#if defined(__AVX2__)
  if constexpr (bytes == 32 && sizeof(T) == 1)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)m));
  else if constexpr (bytes == 32 && sizeof(T) == 2) {
    auto const packed = _mm_packs_epi16(_mm256_castsi256_si128((__m256i)m),
                                        _mm256_extracti128_si256((__m256i)m, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(packed));
  } else if constexpr (bytes == 32 && sizeof(T) == 4)
    return static_cast<std::uint32_t>(_mm256_movemask_ps((__m256)m));
  else if constexpr (bytes == 32)
    return static_cast<std::uint32_t>(_mm256_movemask_pd((__m256d)m));
  else
#endif
      if constexpr (sizeof(T) == 1)
    return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)m));
  else if constexpr (sizeof(T) == 2)
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_packs_epi16((__m128i)m, _mm_setzero_si128())));
  else if constexpr (sizeof(T) == 4)
    return static_cast<std::uint32_t>(_mm_movemask_ps((__m128)m));
  else
    return static_cast<std::uint32_t>(_mm_movemask_pd((__m128d)m));
}

template<lane_value T, int Count>
inline auto native_vector<T, Count>::from_bits(std::uint64_t bits) noexcept -> mask {
  // Every element gets a copy of the bits, or of its byte of them, and keeps its own.
  constexpr auto own = []<int... I>(std::integer_sequence<int, I...>) {
    constexpr int width = static_cast<int>(sizeof(T)) * 8;
    return unsigned_type{static_cast<unsigned_integer>(std::uint64_t{1} << (I % width))...};
  }(std::make_integer_sequence<int, Count>{});
  unsigned_type copies;
  if constexpr (sizeof(T) == 1) {
    constexpr std::uint64_t every_byte = 0x0101'0101'0101'0101;
    copies = [&]<int... I>(std::integer_sequence<int, I...>) QUARRY_ALWAYS_INLINE {
      typedef std::uint64_t words __attribute__((vector_size(static_cast<std::size_t>(bytes))));
      return (unsigned_type)words{(((bits >> (8 * I)) & 0xff) * every_byte)...};
    }(std::make_integer_sequence<int, bytes / 8>{});
  } else {
    copies = static_cast<unsigned_integer>(bits) - unsigned_type{};
  }
  return (mask)((copies & own) == own);
}

#endif

template<lane_value T, int Count>
inline int native_vector<T, Count>::compress(T* at, type v, std::uint64_t bits) noexcept {
  // Compressing to memory is microcode on some machines: to a register, then a whole store.
  auto const store = [at](auto packed)
                         QUARRY_ALWAYS_INLINE { __builtin_memcpy(at, &packed, sizeof packed); };
#if defined(QUARRY_EMU_AVX512)
  if constexpr (bytes == 64 && std::same_as<T, float>)
    store(_mm512_maskz_compress_ps(from_bits(bits), (__m512)v));
  else if constexpr (bytes == 64 && std::same_as<T, double>)
    store(_mm512_maskz_compress_pd(from_bits(bits), (__m512d)v));
  else if constexpr (bytes == 64 && sizeof(T) == 4)
    store(_mm512_maskz_compress_epi32(from_bits(bits), (__m512i)v));
  else if constexpr (bytes == 64 && sizeof(T) == 8)
    store(_mm512_maskz_compress_epi64(from_bits(bits), (__m512i)v));
#if defined(__AVX512VBMI2__)
  else if constexpr (bytes == 64 && sizeof(T) == 2)
    store(_mm512_maskz_compress_epi16(from_bits(bits), (__m512i)v));
  else if constexpr (bytes == 64)
    store(_mm512_maskz_compress_epi8(from_bits(bits), (__m512i)v));
#endif
  else
#endif
  {
    type packed{};
    int next = 0;
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1)
      packed[next++] = v[std::countr_zero(rest)];
    store(packed);
  }
  return std::popcount(bits);
}

} // namespace quarry::emu
