// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry::bench {

/// The kernels of problems.hpp in OpenCL C 1.2.
extern char const* const opencl_source;

} // namespace quarry::bench
