// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry {

/// From the first call on, a process that ends because `abandoned` came to a noexcept function says
/// whose execution was given up there, and why that cannot be; then what it would have said anyway.
void report_abandoned_in_noexcept();

} // namespace quarry
