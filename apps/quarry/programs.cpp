// SPDX-License-Identifier: Apache-2.0
#include "programs/program.hpp"

#include <allreduce/program.hpp>
#include <array>
#include <fibonacci/program.hpp>
#include <gups/program.hpp>
#include <jacobi/program.hpp>
#include <pagerank/program.hpp>
#include <ping_pong/program.hpp>
#include <queens/program.hpp>
#include <sgd/program.hpp>
#include <sort/program.hpp>
#include <strassen/program.hpp>

namespace quarry::command {

std::span<program const> programs() {
  // In the order of their names.
  static std::array const all{
      allreduce::program(), fibonacci::program(), gups::program(),   jacobi::program(),
      pagerank::program(),  ping_pong::program(), queens::program(), sgd::program(),
      sort::program(),      strassen::program(),
  };
  return all;
}

} // namespace quarry::command
