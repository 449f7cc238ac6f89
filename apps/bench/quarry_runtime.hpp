// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry::bench {

/// Registers Quarry's rows of bench_runtime.
void add_quarry_runtime();

} // namespace quarry::bench
