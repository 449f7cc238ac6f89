// SPDX-License-Identifier: Apache-2.0
#include "cilk_program.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace quarry::command {
namespace {

constexpr std::array traversal_choices{choice{"help_first", emu::traversal::help_first},
                                       choice{"hybrid", emu::traversal::hybrid}};
constexpr std::array full_choices{choice{"yield", emu::when_full::yield},
                                  choice{"wait", emu::when_full::wait}};
constexpr std::array reservation_choices{
    choice{"per_wavefront", emu::channel_reservation::per_wavefront},
    choice{"per_work_item", emu::channel_reservation::per_work_item}};

/// A call must find room for all that it spawns, although the elements that share the oldest done
/// count are freed together: as emu::cilk has it.
void check(cilk_settings const& s, std::uint32_t most_spawned) {
  if (!std::has_single_bit(s.width))
    refuse("--channel-width", fmt::format("read {}, allowed are powers of two", s.width));
  std::uint32_t const most = std::bit_floor(s.width - most_spawned + 1);
  if (!std::has_single_bit(s.done_share) || s.done_share > most)
    refuse("--done-count",
           fmt::format("is {}; with --channel-width {} allowed are powers of two up to {}",
                       s.done_share, s.width, most));
}

} // namespace

void add_cilk_options(CLI::App& app, cilk_settings& s, std::uint32_t most_spawned) {
  add_number(app, "--channel-width", s.width, std::bit_ceil(std::max(2U, most_spawned)), 1U << 24,
             "elements of each channel, a power of two");
  add_number(app, "--done-count", s.done_share, 1, 1U << 24,
             "elements that share a done count, a power of two");
  add_choice(app, "--traversal", s.order, traversal_choices,
             "how the tree of calls is walked: level after level, or (hybrid) so until there are "
             "enough calls, which wavefronts then take to their ends");
  add_choice(app, "--full", s.full, full_choices, "what a wavefront does in a full channel");
  add_choice(app, "--reservation", s.reservation, reservation_choices, "who reserves elements");
  app.add_flag("--padded", s.is_padded, "no two elements share a cache line");
  check_when_read(app, [&s, most_spawned] { check(s, most_spawned); });
}

void need_one_node(run_options const& o, char const* program) {
  if (o.node_count != 1)
    refuse("--nodes", fmt::format("{} runs on one; got {}", program, o.node_count));
}

emu::cilk_options options_of(cilk_settings const& s, std::uint32_t depth) {
  return {.depth = depth,
          .width = s.width,
          .elements_per_done_count = s.done_share,
          .reservation = s.reservation,
          .is_padded = s.is_padded,
          .full = s.full,
          .order = s.order};
}

void add_flow(program_result& r, run_options const& o, cilk_settings const& s, double seconds,
              emu::flow_counts const& counts) {
  r.settings.push_back({"channel width", s.width});
  r.settings.push_back({"traversal", name_of(traversal_choices, s.order)});
  r.settings.push_back({"full channel", name_of(full_choices, s.full)});
  r.figures.push_back({"time", seconds * 1e3, "ms"});
  r.figures.push_back({"elements", counts.elements, ""});
  r.figures.push_back({"time/element", seconds * 1e9 / static_cast<double>(counts.elements), "ns"});
  r.figures.push_back({"dispatches", counts.dispatches, ""});
  r.figures.push_back({"wavefronts", counts.wavefronts, ""});
  r.figures.push_back({"active lanes", 100 * counts.active_lanes(o.wavefront_size), "%"});
  r.figures.push_back({"yields", counts.yields, ""});
  r.figures.push_back({"saved", counts.yielded_bytes, "B"});
}

} // namespace quarry::command
