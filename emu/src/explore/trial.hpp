// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drawn_executions.hpp"
#include "examination_allowance.hpp"
#include "explorer.hpp"
#include "failure_class.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/operation_site.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace quarry {

/// Tries what becomes of a world when some of its operations are stronger, or weaker.
class trial {
public:
  /// All are borrowed.
  trial(explorer& worlds, explore_options const& options, examination_allowance const& allowed);
  trial(trial const&) = delete;
  ~trial() { worlds_.adjust({}); }

  /// Only what fails as this did counts, or as it does not with ignored(). Its executions come
  /// first. Then so many executions are the most that are spent.
  void look_for(exploration_failure const& f);
  void allow(std::uint64_t executions) noexcept { most_ = executions; }

  /// The operations of so many executions as they are, and of as many with all of these as strong
  /// as can be, until there are no new ones: a failure may keep an actor from what comes after it.
  [[nodiscard]] std::vector<emu::operation_site> sites(std::uint64_t executions);
  /// In so many executions, or one of those that are known to have failed. True, too, when it is
  /// not to go on.
  [[nodiscard]] bool fails(std::vector<emu::adjustment> const& with, std::uint64_t executions);
  enum class all_there_are : std::uint8_t { one_fails, none_fails, are_more };
  /// Executions one after the other, but no more than so many. None fails of all that there are,
  /// if no load in any of them could have seen more than the caches remember.
  [[nodiscard]] all_there_are search(std::vector<emu::adjustment> const& with,
                                     std::uint64_t most_executions);
  /// What fails in other ways although these are stronger: that says nothing of them.
  void ignore_what_fails(std::vector<emu::adjustment> const& with, std::uint64_t executions);
  /// "check main.cpp:12"
  [[nodiscard]] std::vector<std::string> ignored() const;
  /// Whether the last failure was one of another class.
  [[nodiscard]] bool has_failed_otherwise() const noexcept { return has_failed_otherwise_; }

  /// "" or why it is not to go on.
  [[nodiscard]] std::string why_over() const;

private:
  [[nodiscard]] bool is_over() const noexcept;
  void begin(std::vector<emu::adjustment> const& with);
  std::optional<explorer::result> draw(std::uint64_t i);
  bool counts(explorer::result const& r);
  void note_failed();

  explorer& worlds_;
  explore_options const& options_;
  examination_allowance const& allowed_;
  std::deque<drawn_executions> drawn_; ///< of several strategies, by turns
  failure_class wanted_;
  std::vector<failure_class> ignored_;
  std::vector<choice_record> known_; ///< that have failed, with whatever was stronger then
  std::uint64_t spent_ = 0;          ///< executions
  std::uint64_t most_ = ~std::uint64_t{0};
  bool has_failed_otherwise_ = false;
};

/// Which operations would have to be stronger? Into `f`.
void diagnose(explorer& worlds, explore_options const& options,
              examination_allowance const& allowed, exploration_failure& f);

/// Which could be weaker, one at a time, without a failure? Into `v`.
void find_narrowings(explorer& worlds, explore_options const& options, verdict& v);

} // namespace quarry
