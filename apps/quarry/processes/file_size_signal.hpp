// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry::command {

/// A file that may not grow any more (ulimit -f) is an error of whoever writes it, who says so, and
/// not the silent end of this process: SIGXFSZ is ignored from now on.
void ignore_file_size_signal();

/// In a child that becomes another program: as it was before. Makes system calls only.
void restore_file_size_signal() noexcept;

} // namespace quarry::command
