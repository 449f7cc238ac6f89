// SPDX-License-Identifier: Apache-2.0
// Agents of tests whose kernels are large and need not be compiled for all memories and sizes.
#pragma once

#include <quarry/emu/agent.hpp>

namespace quarry_test {

using unchecked_memories =
    quarry::emu::memories<quarry::emu::native_memory, quarry::emu::interleaving_memory>;

/// Natively and by schedules, bounds unchecked: two thirds to compile.
using unchecked_targets = quarry::emu::targets<unchecked_memories, 32, 64>;
using unchecked_agent = quarry::emu::basic_agent<unchecked_targets>;

/// The same, wavefronts of 64 only: a third.
using wide_targets = quarry::emu::targets<unchecked_memories, 64>;
using wide_agent = quarry::emu::basic_agent<wide_targets>;

} // namespace quarry_test
