// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lexer.hpp"

#include <quarry/litmus/test.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::litmus {

/// The names of a test under construction. Everything that is read is checked against them.
class builder {
public:
  builder(test& made, lexer& tokens) : made_(made), tokens_(tokens) {}

  // Declarations

  void declare(token const& name);
  /// The location that was declared last.
  void initialise(value initial) { made_.initial.back() = initial; }
  void declare_alias(token const& name, token const& of);
  /// Of a thread that is not there yet: checked by finish_threads().
  void declare_register(token const& thread_name, token const& name, value initial);
  void declare_thread(token const& name, placement where);
  void finish_threads();

  // The program of the thread that was entered last

  void enter(std::size_t thread) { thread_ = thread; }
  [[nodiscard]] std::size_t thread_count() const { return made_.threads.size(); }
  void add(instruction const& i);
  void define_label(token const& name);
  /// Adds a branch to a label that may come later.
  void add_branch(branch b, token const& label);
  void finish_programs();

  /// One that is not declared begins with 0, as in herd.
  [[nodiscard]] location_index read_location();
  [[nodiscard]] register_index read_register();
  /// A register or a constant.
  [[nodiscard]] operand read_operand();
  /// Those of work-groups and those of subgroups have numbers of their own.
  [[nodiscard]] std::uint32_t read_barrier_instance(bool is_of_subgroup);

  // The end

  [[nodiscard]] std::optional<std::uint32_t> find_thread(std::string_view name) const;
  /// A variable, as the number that conditions know it by: x, [x], P1:r0, 1:r0.
  [[nodiscard]] std::uint32_t read_variable();

private:
  struct labels {
    struct use {
      token name;
      std::size_t branch; ///< index of the instruction
    };
    std::map<std::string_view, std::uint32_t> targets;
    std::vector<use> uses;
  };
  struct register_declaration {
    token thread_name;
    token name;
    value initial;
  };

  [[nodiscard]] location_index location_named(token const& name) const;
  register_index register_named(thread& of, std::string_view name);
  [[nodiscard]] std::uint32_t observe(variable v);
  [[nodiscard]] variable read_thread_register(token const& thread_name);
  void check_label(token const& name) const;

  test& made_;
  lexer& tokens_;
  std::size_t thread_ = 0;
  std::vector<register_declaration> registers_;
  std::vector<labels> labels_;
};

} // namespace quarry::litmus
