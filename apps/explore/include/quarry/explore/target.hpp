// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>
#include <quarry/explore/weakening.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::exploration {

/// Something of Quarry's own that `quarry explore` can be pointed at.
struct target {
  std::string name;
  std::string what; ///< one line: who does what with whom, and what is checked
  /// Everything in its order tables that can be weakened.
  std::vector<weakening> weakenings;
  /// The world, with one entry weakened or none.
  std::function<void(world&, weakening const*)> run;
  std::uint64_t most_decisions = 5'000;
  /// Names of weakenings that nobody can notice, in this model: other entries order the same.
  std::vector<std::string> indistinguishable{};
  /// Its actors share nothing but Quarry's memory, and counts of what came, in whatever order: its
  /// exploration can be reduced.
  bool shares_only_memory = false;
  bool is_program = false; ///< one of `quarry run`, in one of ComP-Net's configurations
};

/// All of them, queues first; the README beside this folder says what each world is.
[[nodiscard]] std::span<target const> targets();

/// Errors   std::invalid_argument – no target has that name; those that there are
[[nodiscard]] target const& find_target(std::string_view name);

/// The weakenings that `text` names: "ENTRY", "ENTRY=ORDER" or "ENTRY=SCOPE".
///
/// Errors   std::invalid_argument – none; those that there are
[[nodiscard]] std::vector<weakening> find_weakenings(target const& t, std::string_view text);

/// The ways to weaken all parts of "A+B" at once, a list each: whatever find_weakenings() finds for
/// A with whatever it finds for B. The first of a list stands for all of it; that of a copy does
/// not.
///
/// Errors   as find_weakenings(); two parts are of the same entry
[[nodiscard]] std::vector<std::vector<weakening>> find_together(target const& t,
                                                                std::string_view text);

/// A target, and what was weakened in it: as one of find_together()'s lists, or nothing.
struct explored_target {
  target const& of;
  std::vector<weakening> weakened;
};
/// That a verdict's name says: "spsc-queue with publish_write_index=relaxed".
///
/// Errors   std::invalid_argument – as find_target() and find_weakenings()
[[nodiscard]] explored_target find_explored(std::string_view verdict_name);

/// Explores the target, and says so in the verdict's name.
///
/// Errors   std::invalid_argument – as explore(); a reduced one of actors that share more than
///          memory, with the targets that can be reduced
[[nodiscard]] verdict explore_target(target const& t, weakening const* w, explore_options options);

} // namespace quarry::exploration
