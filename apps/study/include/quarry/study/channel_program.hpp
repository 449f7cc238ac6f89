// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel_aggregator.hpp>
#include <quarry/emu/channel_options.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/study/exec_masks.hpp>

#include <cstdint>
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
  double seconds = 0;             ///< wall clock
  emu::channel_counts channels{}; ///< all channels together; `most` is the fullest one's
  emu::channel_aggregator::counts dispatched{};

  [[nodiscard]] bool is_right() const { return failure.empty(); }
};

/// A program on channels, as the studies run it.
struct channel_program {
  std::string_view name;
  std::string_view size_name; ///< what `size` counts
  std::uint32_t size;         ///< unless another one is asked for: the thesis's input
  std::uint32_t least, most;  ///< sizes that can be asked for
  std::uint32_t width;        ///< of its channels, in the thesis (Table 4-3)
  std::uint32_t wavefronts;   ///< that the thesis counts for it (Table 4-3)
  std::string_view source;    ///< the file that is its device code, for lines of code
  std::string_view rival;     ///< the same without channels; empty: there is none
  /// The native scheduler runs it on all cores: its time counts.
  channel_run (*timed)(channel_setting const&);
  /// A single-threaded deterministic one runs it, in turn: its counts are the same every time.
  channel_run (*counted)(channel_setting const&, exec_masks& masks);
};

/// All of them, in the order of Table 4-3.
[[nodiscard]] std::span<channel_program const> channel_programs();

} // namespace quarry::study
