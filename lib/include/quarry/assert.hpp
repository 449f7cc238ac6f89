// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

namespace quarry {

/// Prints `what` with its place and aborts. Called by QUARRY_ASSERT only.
[[noreturn]] void assertion_failed(char const* what, std::source_location where);

} // namespace quarry

/// A broken invariant of Quarry itself: never the kernel's fault, never the world's (design §10).
/// Checked unless NDEBUG is defined.
#ifdef NDEBUG
#define QUARRY_ASSERT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#else
#define QUARRY_ASSERT(condition)                                                                   \
  ((condition) ? static_cast<void>(0)                                                              \
               : ::quarry::assertion_failed(#condition, std::source_location::current()))
#endif
