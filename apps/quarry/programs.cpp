// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

namespace quarry::command {

std::span<program const> programs() {
  // One line a program.
  return {};
}

} // namespace quarry::command
