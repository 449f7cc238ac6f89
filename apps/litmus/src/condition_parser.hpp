// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder.hpp"
#include "lexer.hpp"

#include <quarry/litmus/condition.hpp>

namespace quarry::litmus {

/// A predicate: comparisons with ~, /\ and \/, /\ before \/.
[[nodiscard]] condition read_condition(lexer& tokens, builder& names);

/// `exists`, `~exists` or `forall`, and the predicate.
[[nodiscard]] final_condition read_final_condition(lexer& tokens, builder& names);

} // namespace quarry::litmus
