// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry::command {

/// Opens those of our standard input, output and error that are closed, as after `<&-`: otherwise
/// something else gets their numbers, and passes for them in us and in the processes that we start.
/// They are as good as closed: nothing can be read, and writing is an error (EBADF).
///
/// To be called before anything is opened.
void open_standard_descriptors();

} // namespace quarry::command
