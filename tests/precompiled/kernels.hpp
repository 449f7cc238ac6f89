// SPDX-License-Identifier: Apache-2.0
// What tests of kernels include.
#include "tests.hpp"

#include <quarry/emu/agent.hpp>
