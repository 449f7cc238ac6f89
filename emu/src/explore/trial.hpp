// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drawn_executions.hpp"
#include "explorer.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/fiber.hpp>
#include <quarry/sanitizers.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quarry {

/// Executions of a world that fails may leave actors that nobody can unwind, each on a stack that
/// nobody gets back: so many, and a process has no room for more.
class stack_allowance {
public:
  [[nodiscard]] bool is_used_up() const noexcept { return is_beyond(most); }
  [[nodiscard]] bool is_half_used() const noexcept { return is_beyond(most / 2); }

private:
  static constexpr std::size_t most = QUARRY_ASAN || QUARRY_TSAN ? 64 : 2'000;
  static constexpr std::size_t most_in_process = 16'000; // two mappings each, of 65 530

  [[nodiscard]] bool is_beyond(std::size_t more) const noexcept {
    std::size_t const now = execution_fiber::mapped_count();
    return now > at_first_ + more || now > most_in_process;
  }

  std::size_t at_first_ = execution_fiber::mapped_count();
};

/// Tries what becomes of a world when some of its operations are stronger, or weaker.
class trial {
public:
  /// All are borrowed.
  trial(explorer& worlds, explore_options const& options, stack_allowance const& stacks);
  trial(trial const&) = delete;
  ~trial() { worlds_.adjust({}); }

  /// Only what fails as this did counts, or as it does not with ignored(). Its executions come
  /// first. Then so many executions are the most that are spent.
  void look_for(exploration_failure const& f);
  void allow(std::uint64_t executions) noexcept { most_ = executions; }

  /// The operations of some executions.
  [[nodiscard]] std::vector<emu::operation_site> sites(std::uint64_t executions);
  /// In so many executions, or one of those that are known to have failed. True, too, when it is
  /// not to go on.
  [[nodiscard]] bool fails(std::vector<emu::adjustment> const& with, std::uint64_t executions);
  /// What fails in other ways although these are stronger: that says nothing of them.
  void ignore_what_fails(std::vector<emu::adjustment> const& with, std::uint64_t executions);
  /// "check main.cpp:12"
  [[nodiscard]] std::vector<std::string> ignored() const;
  /// Whether the last failure was one of another class.
  [[nodiscard]] bool has_failed_otherwise() const noexcept { return has_failed_otherwise_; }

  /// "" or why it is not to go on.
  [[nodiscard]] std::string why_over() const;

private:
  using failure_class = std::pair<std::string, std::string>; ///< kind and where
  [[nodiscard]] bool is_over() const noexcept;
  bool counts(explorer::result const& r);
  explorer::result repeat(choice_record const& r);

  explorer& worlds_;
  explore_options const& options_;
  stack_allowance const& stacks_;
  drawn_executions drawn_;
  failure_class wanted_;
  std::vector<failure_class> ignored_;
  std::vector<choice_record> known_; ///< that have failed, with whatever was stronger then
  std::uint64_t spent_ = 0;          ///< executions
  std::uint64_t most_ = ~std::uint64_t{0};
  bool has_failed_otherwise_ = false;
};

/// Which operations would have to be stronger? Into `f`.
void diagnose(explorer& worlds, explore_options const& options, stack_allowance const& stacks,
              exploration_failure& f);

/// Which could be weaker, one at a time, without a failure?
[[nodiscard]] std::vector<emu::adjustment> narrowings(explorer& worlds,
                                                      explore_options const& options);

} // namespace quarry
