// SPDX-License-Identifier: Apache-2.0
#pragma once

/// QUARRY_ASAN and QUARRY_TSAN: 1 if this translation unit is built with AddressSanitizer or
/// ThreadSanitizer, by GCC or clang, else 0.
#if defined(__SANITIZE_ADDRESS__)
#define QUARRY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QUARRY_ASAN 1
#endif
#endif
#ifndef QUARRY_ASAN
#define QUARRY_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define QUARRY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define QUARRY_TSAN 1
#endif
#endif
#ifndef QUARRY_TSAN
#define QUARRY_TSAN 0
#endif
