// SPDX-License-Identifier: Apache-2.0
// The same line and column as in the other file.
#pragma once

#include <source_location>

inline constexpr auto place_a = std::source_location::current();
