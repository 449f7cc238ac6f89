// SPDX-License-Identifier: Apache-2.0
#include "channel_sweeps.hpp"

#include "channel_runs.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace quarry::study {
namespace {

using emu::channel_reservation;

struct variant {
  std::string name;
  channel_reservation reservation;
  bool is_padded;
};
/// Figure 4-15.
std::array<variant, 3> const variants{{{"baseline", channel_reservation::per_work_item, false},
                                       {"GPU-efficient", channel_reservation::per_wavefront, false},
                                       {"padded", channel_reservation::per_wavefront, true}}};

double times(std::uint64_t more, std::uint64_t less) {
  return static_cast<double>(more) / static_cast<double>(std::max<std::uint64_t>(less, 1));
}

/// One sweep over a quantity of the channels or the machine: what all of them have in common.
struct sweep {
  std::string quantity; ///< the column's name
  std::vector<std::uint32_t> values;
  std::uint32_t& (*place)(channel_setting&);
  /// Columns beside program, quantity and time, and a variant's figures for them.
  std::vector<column> columns;
  std::vector<cell> (*figures)(measured const&);
  std::size_t drawn_column; ///< of the whole row
};

finding run(channel_study_request const& r, sweep const& w, table t, chart c) {
  t.columns = {label("program"), count(w.quantity)};
  t.columns.insert(t.columns.end(), w.columns.begin(), w.columns.end());
  t.columns.push_back(time_column());
  for (std::uint32_t const value : w.values)
    c.places.push_back(fmt::format("{}", value));
  for (sized_program const& p : r.programs) {
    series line{std::string(p.program->name), {}};
    for (std::uint32_t const value : w.values) {
      channel_setting s = usual_setting(r, p);
      w.place(s) = value;
      measured const m = measure(r, p, s, with_time::yes);
      std::vector<cell> row{std::string(p.program->name), std::uint64_t{value}};
      auto const figures = w.figures(m);
      row.insert(row.end(), figures.begin(), figures.end());
      row.push_back(m.milliseconds);
      if (!m.is_right())
        std::fill(row.begin() + 2, row.end(), cell{});
      add_failure(t, p, fmt::format("{} {}", w.quantity, value), m);
      line.values.push_back(drawn(row[w.drawn_column]));
      t.rows.push_back(std::move(row));
    }
    c.data.push_back(std::move(line));
  }
  c.x_label = w.quantity;
  if (r.programs.size() > 1)
    c.scale = axis_scale::logarithmic; // programs differ by powers of ten
  t.remarks.emplace_back(wall_clock_remark);
  return {std::move(t), std::move(c)};
}

} // namespace

finding study_reservations(channel_study_request const& r) {
  table t{"reservations", "what a reservation for each wavefront saves", "thesis Figure 4-15"};
  t.columns = {label("program"),
               label("channel"),
               count("elements"),
               count("reservations"),
               count("CAS"),
               count("CAS/element"),
               count("other atomics/element"),
               {"fewer reservations", "times", figure_kind::exact},
               {"fewer CAS", "times", figure_kind::exact},
               time_column()};
  chart c{.title = "Compare-and-swaps for each element",
          .x_label = "program",
          .y_label = "CAS / element (logarithmic)",
          .kind = chart_kind::grouped_bars,
          .scale = axis_scale::logarithmic,
          .places = {},
          .data = {},
          .remark = "those that failed too; single-threaded scheduler, exact"};
  for (variant const& v : variants)
    c.data.push_back({v.name, {}});
  for (sized_program const& p : r.programs) {
    c.places.emplace_back(p.program->name);
    channel_run baseline;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      variant const& v = variants[i];
      channel_setting s = usual_setting(r, p);
      s.channel.reservation = v.reservation;
      s.channel.is_padded = v.is_padded;
      measured const m = measure(r, p, s, with_time::yes);
      auto const& n = m.counted.flow.channels;
      double const each = m.each(n.exchanges);
      if (i == 0)
        baseline = m.counted;
      std::vector<cell> row{std::string(p.program->name), v.name};
      if (m.is_right())
        row.insert(row.end(),
                   {n.allocated, n.reservations, n.exchanges, each, m.each(n.additions),
                    times(baseline.flow.channels.reservations, n.reservations),
                    times(baseline.flow.channels.exchanges, n.exchanges), m.milliseconds});
      row.resize(t.columns.size());
      add_failure(t, p, v.name, m);
      c.data[i].values.push_back(drawn(row[5]));
      t.rows.push_back(std::move(row));
    }
  }
  t.remarks.emplace_back(wall_clock_remark);
  return {std::move(t), std::move(c)};
}

finding study_done_counts(channel_study_request const& r) {
  return run(r,
             {.quantity = "elements per done count",
              .values = {1, 4, 16, 64, 256, 1024},
              .place = [](channel_setting& s) -> std::uint32_t& {
                return s.channel.elements_per_done_count;
              },
              .columns = {count("atomics/element"), count("most elements"), count("refusals")},
              .figures = [](measured const& m) -> std::vector<cell> {
                auto const& n = m.counted.flow.channels;
                return {m.each(n.additions), n.most, n.refusals};
              },
              .drawn_column = 2},
             {"done_counts", "how many elements share a done count", "thesis §4.6.2"},
             {.title = "Atomic additions for each element",
              .x_label = {},
              .y_label = "additions / element",
              .kind = chart_kind::lines,
              .scale = axis_scale::linear,
              .places = {},
              .data = {},
              .remark = "enq and tfree; single-threaded scheduler, exact"});
}

finding study_widths(channel_study_request const& r) {
  return run(r,
             {.quantity = "channel width",
              .values = {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536},
              .place = [](channel_setting& s) -> std::uint32_t& { return s.channel.width; },
              .columns = {count("wavefronts"),
                          count("elements/wavefront"),
                          count("most elements"),
                          count("refusals"),
                          count("yields"),
                          {"yielded", "B", figure_kind::exact}},
              .figures = [](measured const& m) -> std::vector<cell> {
                auto const& n = m.counted.flow.channels;
                return {m.counted.flow.wavefronts, m.elements_per_wavefront(),  n.most, n.refusals,
                        m.counted.flow.yields,     m.counted.flow.yielded_bytes};
              },
              .drawn_column = 8},
             {"widths", "how wide the channels are", "thesis Figure 4-16"},
             {.title = "Channel width and time",
              .x_label = {},
              .y_label = "time (ms), wall clock",
              .kind = chart_kind::lines,
              .scale = axis_scale::linear,
              .places = {},
              .data = {},
              .remark = "no point: too narrow for what is under way at once"});
}

finding study_compute_units(channel_study_request const& r) {
  return run(r,
             {.quantity = "compute units",
              .values = {1, 2, 3, 4, 5, 6, 7, 8},
              .place = [](channel_setting& s) -> std::uint32_t& { return s.machine.compute_units; },
              .columns = {count("wavefronts"), count("CAS/element")},
              .figures = [](measured const& m) -> std::vector<cell> {
                return {m.counted.flow.wavefronts, m.each(m.counted.flow.channels.exchanges)};
              },
              .drawn_column = 4},
             {"compute_units", "how many compute units share the channels", "thesis Figure 4-13"},
             {.title = "Compute units and time",
              .x_label = {},
              .y_label = "time (ms), wall clock",
              .kind = chart_kind::lines,
              .scale = axis_scale::linear,
              .places = {},
              .data = {},
              .remark = "emulated on the cores of this machine: more units are not more cores"});
}

} // namespace quarry::study
