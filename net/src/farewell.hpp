// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace quarry::net {

/// Who leaves a job that has failed says why, or else is taken for the cause. It tries for so long
/// to say so to a peer that has no room.
constexpr std::chrono::milliseconds farewell_patience(500);

} // namespace quarry::net
