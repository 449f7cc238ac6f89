// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For the small functions that a kernel's lanes go through: inlined wherever anything is
/// optimised, -Og included, whatever their size. Without optimisation they are calls: inlined, a
/// statement of a kernel is some hundred instructions there, and with sanitizers takes compilers
/// three times as long.
#ifdef __OPTIMIZE__
#define QUARRY_ALWAYS_INLINE __attribute__((always_inline))
#else
#define QUARRY_ALWAYS_INLINE
#endif
