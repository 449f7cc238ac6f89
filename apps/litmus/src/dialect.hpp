// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder.hpp"
#include "lexer.hpp"
#include "mnemonic.hpp"

#include <memory>

namespace quarry::litmus {

/// What differs between the languages. What is not supported leaves as unsupported_feature.
class dialect {
public:
  dialect() = default;
  dialect(dialect const&) = delete;
  dialect& operator=(dialect const&) = delete;
  virtual ~dialect() = default;

  /// After a location's name in a declaration: makes it an alias if that is what comes.
  virtual bool read_alias(lexer& tokens, builder& names, token const& name) = 0;
  /// After `P0 @`. All placements are read before the first instruction.
  [[nodiscard]] virtual placement read_placement(lexer& tokens) = 0;
  /// An instruction that the languages do not share, after its name; adds it to the thread.
  virtual void read_instruction(mnemonic& name, lexer& tokens, builder& names) = 0;
};

[[nodiscard]] std::unique_ptr<dialect> make_ptx_dialect();
[[nodiscard]] std::unique_ptr<dialect> make_vulkan_dialect();

// What both languages spell alike.

inline constexpr std::array<std::pair<std::string_view, arithmetic>, 7> arithmetic_names{{
    {"add", arithmetic::add},
    {"sub", arithmetic::subtract},
    {"mul", arithmetic::multiply},
    {"div", arithmetic::divide},
    {"and", arithmetic::bit_and},
    {"or", arithmetic::bit_or},
    {"xor", arithmetic::bit_xor},
}};

/// The number of a cta, say, by which a placement tells it from others.
[[nodiscard]] std::uint32_t read_place(lexer& tokens, std::string_view what);
/// The comma between two operands.
void expect_comma(lexer& tokens);
enum class barrier_group : bool { work_group, subgroup };
/// The rest of a barrier: its number, its id and its quorum.
[[nodiscard]] barrier read_barrier(lexer& tokens, builder& names,
                                   barrier_group of = barrier_group::work_group);

} // namespace quarry::litmus
