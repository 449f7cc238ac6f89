// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry {

/// Whether the process is traced, by a debugger say.
[[nodiscard]] bool is_traced();

} // namespace quarry
