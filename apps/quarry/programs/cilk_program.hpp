// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster.hpp"
#include "output/progress_line.hpp"
#include "program.hpp"

#include <quarry/emu/cilk.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sigquit.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace quarry::command {

/// What the programs on channels can be asked for beside their input.
struct cilk_settings {
  std::uint32_t width = 32768;
  std::uint32_t done_share = 64;
  emu::traversal order = emu::traversal::help_first;
  emu::when_full full = emu::when_full::yield;
  emu::channel_reservation reservation = emu::channel_reservation::per_wavefront;
  bool is_padded = false;
};

/// Adds --channel-width, --done-count, --traversal, --full, --reservation and --padded. Wrong
/// combinations are refused when the command line is complete, also those that leave no room for
/// the `most_spawned` calls of one. `s` outlives the parse.
void add_cilk_options(CLI::App& app, cilk_settings& s, std::uint32_t most_spawned);

/// These programs run on one node; refuses others.
void need_one_node(run_options const& o, char const* program);

[[nodiscard]] emu::cilk_options options_of(cilk_settings const& s, std::uint32_t depth);

/// What a program reports of its channels, beside its own settings and figures.
void add_flow(program_result& r, run_options const& o, cilk_settings const& s, double seconds,
              emu::flow_counts const& counts);

/// One emulated GPU of a program that runs on channels.
class cilk_machine {
public:
  explicit cilk_machine(run_options const& o)
      : progress_(o.progress_place()),
        scheduler_({.threads = threads_per_node(o), .stall_timeout = 2 * o.timeout}),
        on_sigquit_({&scheduler_}),
        gpu_(scheduler_, machine_of(o), {.checks_bounds = o.checks_bounds}) {}

  [[nodiscard]] program_agent& gpu() noexcept { return gpu_; }
  /// Runs the program, once, with a progress line. Gives how long the call of `root` took.
  template<class F>
  double run(emu::cilk<F, program_targets>& program, F const& root) {
    line_.emplace(progress_, "running", 0, "elements");
    program.watch([this](emu::flow_counts const& c) { line_->update(c.elements); });
    auto const start = std::chrono::steady_clock::now();
    program.run(root).or_throw();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start;
    line_.reset();
    return passed.count();
  }

private:
  progress_line::place progress_;
  std::optional<progress_line> line_; ///< after a fault until all kernels have gone
  native_scheduler scheduler_;
  sigquit_report on_sigquit_;
  program_agent gpu_;
};

} // namespace quarry::command
