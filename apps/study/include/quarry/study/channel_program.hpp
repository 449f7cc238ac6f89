// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel_aggregator.hpp>
#include <quarry/emu/channel_options.hpp>
#include <quarry/emu/cilk_kernel.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/study/exec_masks.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quarry::study {

/// One run of a program on channels.
struct channel_setting {
  std::uint32_t size = 0; ///< the program's own: which Fibonacci number, rows of the board
  emu::channel_options channel{};
  emu::machine machine{};
};

/// What came of it.
struct channel_run {
  /// What went wrong: the first line of a fault's report, or a wrong answer. Empty: nothing did.
  std::string failure{};
  double seconds = 0; ///< wall clock
  emu::flow_counts flow{};
  /// Of a Cilk function's lanes; none of another graph.
  std::optional<emu::cilk_counts> lanes{};

  [[nodiscard]] bool is_right() const { return failure.empty(); }
};

/// A program on channels, as the studies run it.
struct channel_program {
  std::string_view name;
  std::string_view size_name;        ///< what `size` counts
  std::uint32_t size = 0;            ///< unless another one is asked for: a matter of seconds
  std::uint32_t thesis_size = 0;     ///< the thesis's input; 0: it has none
  std::uint32_t least = 1, most = 0; ///< sizes that can be asked for
  bool has_power_of_two = false;     ///< no others can
  std::uint32_t width = 0;           ///< of its channels, in the thesis (Table 4-3)
  std::uint32_t wavefronts = 0;      ///< that the thesis counts for its input
  std::string_view source;           ///< the file that is its device code, for lines of code
  std::string_view rival{};          ///< the same without channels; empty: there is none
  /// The native scheduler runs it on all cores: its time counts.
  channel_run (*timed)(channel_setting const&) = nullptr;
  /// A single-threaded deterministic one runs it, in turn: its counts are the same every time.
  channel_run (*counted)(channel_setting const&, exec_masks& masks) = nullptr;
};

/// All of them: Figure 4-5, then those of Table 4-3.
[[nodiscard]] std::span<channel_program const> channel_programs();

} // namespace quarry::study
