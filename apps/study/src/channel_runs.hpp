// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/study/channel_studies.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace quarry::study {

/// Both runs of one variant of a program: the counts, and the shortest time of several.
struct measured {
  channel_run counted;
  exec_masks masks;
  cell milliseconds; ///< none if it did not come to its end

  [[nodiscard]] bool is_right() const { return counted.is_right(); }
  /// A count for each element that went through a channel.
  [[nodiscard]] double each(std::uint64_t count) const {
    return static_cast<double>(count) /
           static_cast<double>(std::max<std::uint64_t>(1, counted.flow.channels.allocated));
  }
  /// How full the wavefronts are that consume them.
  [[nodiscard]] double elements_per_wavefront() const {
    auto const& d = counted.flow;
    return static_cast<double>(d.elements) /
           static_cast<double>(std::max<std::uint64_t>(1, d.wavefronts));
  }
};

/// As in the thesis: its channel width, a done count for 64 elements, a reservation a wavefront.
[[nodiscard]] inline channel_setting usual_setting(channel_study_request const& r,
                                                   sized_program const& p) {
  channel_setting s;
  s.size = p.size;
  s.channel.width = p.program->width;
  s.channel.name = "elements";
  s.machine.compute_units = r.compute_units;
  return s;
}

enum class with_time : std::uint8_t { yes, no };

[[nodiscard]] inline measured measure(channel_study_request const& r, sized_program const& p,
                                      channel_setting const& s, with_time timed) {
  measured m;
  m.counted = p.program->counted(s, m.masks);
  if (timed == with_time::yes && m.is_right()) {
    double best = 0;
    for (std::uint32_t i = 0; i < r.repetitions; ++i) {
      channel_run const one = p.program->timed(s);
      if (!one.is_right())
        m.counted.failure = one.failure;
      best = i == 0 ? one.seconds : std::min(best, one.seconds);
    }
    m.milliseconds = best * 1e3;
  }
  r.step_done();
  return m;
}

/// What a variant's row says instead of figures, once for each reason.
inline void add_failure(table& t, sized_program const& p, std::string const& variant,
                        measured const& m) {
  if (!m.is_right())
    t.remarks.push_back(fmt::format("{}, {}: {}", p.program->name, variant, m.counted.failure));
}

[[nodiscard]] inline column label(std::string name) {
  return {std::move(name), "", figure_kind::label};
}
[[nodiscard]] inline column count(std::string name) {
  return {std::move(name), "", figure_kind::exact};
}
[[nodiscard]] inline column time_column() {
  return {"time", "ms", figure_kind::wall_clock};
}

/// The value for a chart, if there is one.
[[nodiscard]] inline std::optional<double> drawn(cell const& c) {
  if (auto const* real = std::get_if<double>(&c))
    return *real;
  if (auto const* whole = std::get_if<std::uint64_t>(&c))
    return static_cast<double>(*whole);
  return std::nullopt;
}

inline constexpr char const* wall_clock_remark =
    "time: wall clock of the native scheduler on this machine, the shortest of the repetitions; "
    "counts: single-threaded scheduler, exact";

} // namespace quarry::study
