// SPDX-License-Identifier: Apache-2.0
#pragma once

// What headers name of CLI11, whose own takes longer to compile than many a kernel.
namespace CLI { // NOLINT(readability-identifier-naming)
class App;      // NOLINT(readability-identifier-naming)
class Option;   // NOLINT(readability-identifier-naming)
} // namespace CLI
