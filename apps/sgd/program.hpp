// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <programs/program.hpp>

namespace quarry::sgd {

/// `quarry run sgd`: a small network trained by all nodes, each on its part of every batch, in
/// kernels; their gradients are summed by allreduce (ComP-Net §5.4.1).
[[nodiscard]] command::program program();

} // namespace quarry::sgd
