// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/study/channel_program.hpp>
#include <quarry/study/finding.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace quarry::study {

/// A program and how large its input is to be.
struct sized_program {
  channel_program const* program;
  std::uint32_t size;
};

/// What the studies of channels are to look at.
struct channel_study_request {
  std::vector<sized_program> programs;
  std::uint32_t compute_units = 8;
  /// Runs of which the shortest time counts.
  std::uint32_t repetitions = 3;
  /// Called when a step of a study is done, of which there is one a program and variant.
  std::function<void()> step_done = [] {};
};

/// One study of thesis §4.6.
struct channel_study {
  std::string_view name;
  std::string_view summary;
  std::uint32_t variants; ///< of each program, a step each
  finding (*run)(channel_study_request const&);
};

/// All of them, in the order of the thesis.
[[nodiscard]] std::span<channel_study const> channel_studies();

} // namespace quarry::study
