// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <array>
#include <gups/program.hpp>
#include <pagerank/program.hpp>

namespace quarry::command {

std::span<program const> programs() {
  // One line a program.
  static std::array const all{
      gups::program(),
      pagerank::program(),
  };
  return all;
}

} // namespace quarry::command
