// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>
#include <quarry/emu/operation_site.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace quarry {

/// Does the world still fail, with its operations adjusted? Decided by so many executions as the
/// asker finds enough.
using still_fails = std::function<bool(std::vector<emu::adjustment> const&)>;

/// All of them, plain ones, too, or atomic and remote operations and fences alone.
[[nodiscard]] std::vector<emu::adjustment>
all_strongest(std::vector<emu::operation_site> const& sites, bool plain_too = true);

/// What a wider scope is to a program: never worse, or, as HRF-direct has it, another one than that
/// of who it synchronises with.
enum class wider : std::uint8_t { never_fails, may_fail };

/// Operations that must be stronger for the failure to go, each as weak as can be: one if one does
/// alone, that which has to change least, the first of several in `sites`; else a set of which none
/// can be left out. First of all of those that are not plain, then of plain ones, too.
///
/// Source   design §8: strengthening; GPUMC-style repair, VSync's barrier optimisation, ASPLOS'21
[[nodiscard]] mending mend(std::vector<emu::operation_site> const& sites, wider scopes,
                           still_fails const& fails);

/// Those steps by which a single operation could be weaker, without a failure.
[[nodiscard]] std::vector<emu::adjustment> narrow(std::vector<emu::operation_site> const& sites,
                                                  still_fails const& fails);

} // namespace quarry
