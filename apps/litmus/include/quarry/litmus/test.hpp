// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>
#include <quarry/litmus/condition.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quarry::litmus {

/// A memory location or a register, by its position in its list.
struct location_index {
  std::uint32_t at;
};
struct register_index {
  std::uint32_t at;
};

/// What an instruction takes: a constant or a register.
using operand = std::variant<value, register_index>;

struct ordering {
  emu::order order;
  emu::scope scope;
  friend bool operator==(ordering const&, ordering const&) = default;
};
/// None: a plain access.
using access_order = std::optional<ordering>;

enum class arithmetic : std::uint8_t {
  add,
  subtract,
  multiply,
  divide, ///< by 0 gives 0
  bit_and,
  bit_or,
  bit_xor,
};

struct load {
  register_index into;
  location_index from;
  access_order how;
};
struct store {
  location_index to;
  operand what;
  access_order how;
};
/// An atomic read-modify-write; what it read goes to `into`, if to anywhere.
struct update {
  struct fetch {
    arithmetic operation;
    operand by;
  };
  struct exchange {
    operand what;
  };
  struct compare_exchange {
    operand expected;
    operand desired;
  };
  std::optional<register_index> into;
  location_index at;
  std::variant<fetch, exchange, compare_exchange> what;
  ordering how;
};
struct fence {
  ordering how;
};
/// A rendezvous of a work-group's threads, or of a subgroup's.
///
/// Barriers with the same instance belong together, if what `id` gives is the same too. A thread
/// that comes to one for the n-th time goes on when `quorum` of them have come n times; without
/// that when every thread of the group that has this instance in its program has, or has come to
/// another id.
struct barrier {
  std::uint32_t instance; ///< position in test::barriers
  std::optional<operand> id{};
  std::optional<operand> quorum{};
  bool is_of_subgroup = false;
  bool waits = true;  ///< else it only announces itself
  access_order how{}; ///< released before the arrival, acquired after the wait
};
struct compute {
  register_index into;
  arithmetic operation;
  operand left;
  operand right;
};
struct branch {
  comparison condition;
  operand left;
  operand right;
  std::uint32_t target; ///< index of an instruction, or one past the last
};

using instruction = std::variant<load, store, update, fence, barrier, compute, branch>;

/// Where a thread runs; numbers as in the file. Each thread is a wavefront.
struct placement {
  std::uint32_t agent = 0;
  std::uint32_t work_group = 0; ///< of that agent
  std::uint32_t subgroup = 0;   ///< of that work-group; matters to its barriers alone
  friend bool operator==(placement const&, placement const&) = default;
  [[nodiscard]] bool is_in_group_of(placement const& other) const noexcept {
    return agent == other.agent && work_group == other.work_group;
  }
};

struct thread {
  std::string name; ///< such as P0
  placement where;
  std::vector<std::string> registers;
  std::vector<value> initial; ///< of the registers
  std::vector<instruction> program;
};

struct location {
  std::string name;
  std::uint32_t storage; ///< aliases share one
};

/// One litmus test, of whatever language.
struct test {
  std::string file;
  std::string name;
  std::vector<location> locations;
  std::vector<value> initial; ///< by storage
  std::vector<std::string> barriers;
  std::vector<thread> threads;
  std::optional<condition> filter; ///< executions that do not meet it do not count
  final_condition final;
  std::vector<variable> observed; ///< of an outcome: what the condition and `locations` name
  /// What the file asks for and this library does not have: “line 7: fence.proxy”. Such a test
  /// must not be run.
  std::vector<std::string> unsupported;
};

[[nodiscard]] value apply(arithmetic operation, value left, value right);
/// As in the file: x, P1:r0.
[[nodiscard]] std::string name_of(test const& t, variable const& v);

} // namespace quarry::litmus
