// SPDX-License-Identifier: Apache-2.0
#include "channel_runs.hpp"
#include "channel_sweeps.hpp"
#include "lines_of_code.hpp"

#include <quarry/study/channel_studies.hpp>

#include <array>
#include <utility>

namespace quarry::study {
namespace {

/// Table 4-3.
finding study_wavefronts(channel_study_request const& r) {
  table t{"wavefronts", "what the aggregator dispatches", "thesis Table 4-3"};
  t.columns = {label("program"),
               count("size"),
               count("channel width"),
               count("elements"),
               count("dispatches"),
               count("wavefronts"),
               count("elements/wavefront"),
               count("thesis's wavefronts")};
  chart c{.title = "Wavefronts dispatched",
          .x_label = "program",
          .y_label = "wavefronts",
          .kind = chart_kind::grouped_bars,
          .scale = axis_scale::linear,
          .places = {},
          .data = {{"here", {}}, {"in the thesis", {}}},
          .remark = "single-threaded scheduler, exact; the thesis's with its inputs"};
  for (sized_program const& p : r.programs) {
    channel_setting const s = usual_setting(r, p);
    measured const m = measure(r, p, s, with_time::no);
    auto const& d = m.counted.flow;
    std::vector<cell> row{std::string(p.program->name), std::uint64_t{p.size},
                          std::uint64_t{s.channel.width}};
    if (m.is_right())
      row.insert(row.end(), {d.elements, d.dispatches, d.wavefronts, m.elements_per_wavefront()});
    row.resize(t.columns.size() - 1);
    if (p.size == p.program->thesis_size)
      row.emplace_back(std::uint64_t{p.program->wavefronts});
    row.resize(t.columns.size());
    add_failure(t, p, "usual setting", m);
    c.places.emplace_back(p.program->name);
    c.data[0].values.push_back(drawn(row[5]));
    c.data[1].values.push_back(drawn(row[7]));
    t.rows.push_back(std::move(row));
  }
  return {std::move(t), std::move(c)};
}

struct lane_range {
  char const* name;
  std::size_t first, last;
};
constexpr std::array<lane_range, 5> lane_ranges{
    {{"1-16", 1, 16}, {"17-32", 17, 32}, {"33-48", 33, 48}, {"49-63", 49, 63}, {"64", 64, 64}}};

/// Wavefronts that had lanes which spawn and lanes in the base case.
cell share_of_both_kinds(std::optional<emu::cilk_counts> const& lanes) {
  if (!lanes || lanes->waves == 0)
    return {};
  return 100 * static_cast<double>(lanes->diverged) / static_cast<double>(lanes->waves);
}

/// Figure 4-17.
finding study_divergence(channel_study_request const& r) {
  table t{"divergence", "memory operations by how many lanes are active", "thesis Figure 4-17"};
  t.columns = {label("program"), count("operations"), {"mean", "lanes", figure_kind::exact}};
  chart c{.title = "Active lanes of memory operations",
          .x_label = "program",
          .y_label = "share of operations (%)",
          .kind = chart_kind::stacked_bars,
          .scale = axis_scale::linear,
          .places = {},
          .data = {},
          .remark = "from the exec masks of one wavefront at a time; exact"};
  for (lane_range const& l : lane_ranges) {
    t.columns.push_back({fmt::format("{} lanes", l.name), "%", figure_kind::exact});
    c.data.push_back({fmt::format("{} lanes", l.name), {}});
  }
  t.columns.push_back({"both kinds", "%", figure_kind::exact});
  for (sized_program const& p : r.programs) {
    // One wavefront at a time, as in Table 4-3: nobody tries again because of somebody else.
    channel_setting s = usual_setting(r, p);
    s.machine.compute_units = s.machine.wavefront_slots = 1;
    measured const m = measure(r, p, s, with_time::no);
    std::uint64_t const all = m.masks.between(1, exec_masks::most_lanes);
    std::vector<cell> row{std::string(p.program->name), all, m.masks.mean()};
    c.places.emplace_back(p.program->name);
    for (std::size_t i = 0; i < lane_ranges.size(); ++i) {
      double const share =
          100 * static_cast<double>(m.masks.between(lane_ranges[i].first, lane_ranges[i].last)) /
          static_cast<double>(std::max<std::uint64_t>(all, 1));
      row.emplace_back(share);
      c.data[i].values.emplace_back(share);
    }
    row.push_back(share_of_both_kinds(m.counted.lanes));
    add_failure(t, p, "usual setting", m);
    t.rows.push_back(std::move(row));
  }
  t.remarks = {
      "both kinds: wavefronts of a Cilk function with lanes that spawn and lanes that do not",
      "where a Cilk function's lanes take turns, their operations count with all lanes of the "
      "wavefront"};
  return {std::move(t), std::move(c)};
}

/// Lines that are neither empty nor a comment alone, as this build has found them.
cell lines_of(std::string_view file) {
  for (line_count const& one : lines_of_code)
    if (one.file == file)
      return std::uint64_t{one.lines};
  return {};
}

/// Table 4-4.
finding study_lines_of_code(channel_study_request const& r) {
  table t{"lines_of_code", "device code with channels and without", "thesis Table 4-4"};
  t.columns = {label("program"),       label("with channels"),
               count("lines"),         label("without channels"),
               count("lines without"), {"reduction", "%", figure_kind::exact}};
  chart c{.title = "Lines of device code",
          .x_label = "program",
          .y_label = "lines",
          .kind = chart_kind::grouped_bars,
          .scale = axis_scale::linear,
          .places = {},
          .data = {{"with channels", {}}, {"without", {}}},
          .remark = "lines that are neither empty nor only a comment"};
  for (sized_program const& p : r.programs) {
    cell const with = lines_of(p.program->source);
    cell const without = lines_of(p.program->rival);
    std::vector<cell> row{std::string(p.program->name),
                          std::string(p.program->source),
                          with,
                          std::string(p.program->rival),
                          without,
                          cell{}};
    if (auto const a = drawn(with), b = drawn(without); a && b)
      row.back() = 100 * (1 - *a / *b);
    c.places.emplace_back(p.program->name);
    c.data[0].values.push_back(drawn(with));
    c.data[1].values.push_back(drawn(without));
    t.rows.push_back(std::move(row));
    r.step_done();
  }
  return {std::move(t), std::move(c)};
}

} // namespace

std::span<channel_study const> channel_studies() {
  static constexpr std::array all{
      channel_study{"reservations", "CAS and other atomics an element, three kinds of channel", 3,
                    study_reservations},
      channel_study{"done_counts", "how many elements share a done count", 6, study_done_counts},
      channel_study{"widths", "channel widths from 128 to 65536, with yields", 10, study_widths},
      channel_study{"compute_units", "1 to 8 compute units", 8, study_compute_units},
      channel_study{"wavefronts", "elements, dispatches and wavefronts", 1, study_wavefronts},
      channel_study{"divergence", "active lanes of memory operations", 1, study_divergence},
      channel_study{"lines_of_code", "device code with channels and without", 1,
                    study_lines_of_code},
  };
  return all;
}

} // namespace quarry::study
