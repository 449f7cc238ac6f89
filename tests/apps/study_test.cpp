// SPDX-License-Identifier: Apache-2.0
#include "graph_files.hpp"
#include "running_command.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/study/aggregation_study.hpp>
#include <quarry/study/channel_studies.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::study;

namespace {

struct hop {
  std::uint32_t left;
};
/// Hands every element on: all lanes are active in whatever it does.
struct relay {
  template<emu::any_wavefront W>
  task<> operator()(W& wf, auto& src, emu::channel<hop>& dest) const {
    auto const left = src.load(&hop::left);
    src.tfree();
    auto const more = wf.where(left > 1U);
    auto const fill = [&](emu::wave_elements<W::size> const& e) {
      wf.store(dest.at(e, 0, &hop::left), left - 1U);
    };
    task<> sent = dest.send(wf, typename W::template lanes<std::uint32_t>(1), fill);
    co_await std::move(sent);
  }
};

constexpr std::uint32_t relayed = 256, hops = 5;

emu::channel_counts relay_by(emu::channel_reservation how, exec_masks& masks) {
  sequential_scheduler scheduler;
  scheduler.attach(&masks);
  emu::basic_agent<studied_targets> gpu(scheduler, {.compute_units = 2});
  emu::channel_graph graph(gpu);
  auto& ch = graph.add_channel<hop>({.width = 1024, .reservation = how});
  graph.connect(ch, relay{}, std::ref(ch));
  for (std::uint32_t i = 0; i < relayed; ++i)
    graph.put(ch, {hops});
  graph.execute();
  REQUIRE(graph.wait_for_done());
  return ch.counts();
}

channel_program const& fibonacci() {
  return channel_programs().front();
}

channel_run count(channel_setting const& s) {
  exec_masks masks;
  return fibonacci().counted(s, masks);
}

command_outcome study_channels(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"study", "channels"});
  return run_command("QUARRY_COMMAND", std::move(arguments));
}

} // namespace

TEST_SUITE("apps.study") {
  TEST_CASE("where all lanes are active, a wavefront's reservation stands for 64 to the letter") {
    exec_masks masks;
    auto const each = relay_by(emu::channel_reservation::per_work_item, masks);
    auto const one = relay_by(emu::channel_reservation::per_wavefront, masks);
    CHECK(each.allocated == relayed * (hops - 1)); // those that the host has put there come extra
    CHECK(each.reservations == each.allocated);
    CHECK(each.reservations == 64 * one.reservations);
    CHECK(each.exchanges >= each.reservations);
    CHECK(one.exchanges < each.exchanges);
    CHECK(masks.between(1, 63) == 0);
    CHECK(masks[64] > 0);
    CHECK(masks.mean() == 64);
  }

  TEST_CASE("the counts of a program are the same at every run, and its wavefronts diverge") {
    channel_setting s{.size = 14, .channel = {.width = 1024}, .machine = {.compute_units = 3}};
    exec_masks masks;
    exec_masks again;
    auto const first = fibonacci().counted(s, masks);
    auto const second = fibonacci().counted(s, again);
    CHECK(first.failure.empty());
    CHECK(first.flow.channels.allocated == 2 * 377 - 2);
    CHECK(first.flow.elements == 2 * 377 - 1);
    CHECK(first.flow.channels.exchanges == second.flow.channels.exchanges);
    CHECK(first.flow.channels.additions == second.flow.channels.additions);
    CHECK(first.flow.wavefronts == second.flow.wavefronts);
    CHECK(masks.between(1, 64) == again.between(1, 64));
    CHECK(masks.between(1, 63) > 0);
    s.channel.reservation = emu::channel_reservation::per_work_item;
    // A reservation for each number that is taken apart.
    CHECK(count(s).flow.channels.reservations == 377 - 1);
  }

  TEST_CASE("a done count for each element is an addition for each") {
    channel_setting s{.size = 12, .channel = {.width = 1024, .elements_per_done_count = 1}};
    auto const each = count(s).flow.channels;
    s.channel.elements_per_done_count = 64;
    auto const few = count(s).flow.channels;
    CHECK(each.allocated == 2 * 144 - 2);
    CHECK(each.additions > each.allocated);
    CHECK(few.additions < each.additions / 2);
  }

  TEST_CASE("a run that fails says why") {
    channel_setting s{.size = 12, .channel = {.width = 100}};
    CHECK(count(s).failure.find("a width of 100") != std::string::npos);
    s.channel = {.width = 4, .elements_per_done_count = 4, .name = "narrow"};
    CHECK(count(s).failure.find("narrow") != std::string::npos);
  }

  TEST_CASE("every study of every program has a whole table and a whole picture") {
    channel_study_request r{.programs = {}, .repetitions = 1};
    for (channel_program const& p : channel_programs())
      r.programs.push_back({&p, p.name == "sort" ? 500U : p.name == "strassen" ? 32U : 6U});
    for (channel_study const& one : channel_studies()) {
      CAPTURE(one.name);
      auto const found = one.run(r);
      CHECK(found.figures.name == one.name);
      CHECK(!found.figures.rows.empty());
      CHECK(found.figures.rows.size() % r.programs.size() == 0);
      for (auto const& row : found.figures.rows)
        CHECK(row.size() == found.figures.columns.size());
      for (series const& s : found.picture.data)
        CHECK(s.values.size() == found.picture.places.size());
      auto const json = nlohmann::json::parse(to_json(found.figures, "1"));
      CHECK(json["rows"].size() == found.figures.rows.size());
      CHECK(json["rows"][0].size() == json["columns"].size());
    }
  }

  TEST_CASE("aggregation: SIMT-direct synchronises for each destination, indirect for each group") {
    aggregation_request r{.updates = 4096, .log2_entries = 10, .most_nodes = 8, .repetitions = 1};
    std::uint32_t steps = 0;
    r.step_done = [&] { ++steps; };
    auto const found = study_aggregation(r);
    CHECK(steps == r.steps());
    REQUIRE(found.figures.rows.size() == 6);
    std::uint64_t nodes = 2;
    for (std::size_t i = 0; i < 6; i += 2, nodes *= 2) {
      CHECK(std::get<std::uint64_t>(found.figures.rows[i][0]) == nodes);
      double const direct = std::get<double>(found.figures.rows[i][2]);
      CHECK(direct <= static_cast<double>(nodes) / 64);
      CHECK(direct > 0.9 * static_cast<double>(nodes) / 64); // few wavefronts miss a node
      CHECK(std::get<double>(found.figures.rows[i + 1][2]) == 1.0 / 256);
    }
  }

  TEST_CASE("tables: what is no figure is null, -, or nothing; fields with commas are quoted") {
    table t{"some", "a title", "a paper"};
    t.columns = {
        {"who", "", figure_kind::label}, {"count", ""}, {"time", "ms", figure_kind::wall_clock}};
    t.rows = {{std::string("a, \"b\""), std::uint64_t{12}, cell{}},
              {std::string("c"), cell{}, 0.5}};
    t.remarks = {"a remark"};
    CHECK(to_csv(t) == "who,count,time (ms)\n\"a, \"\"b\"\"\",12,\nc,,0.5\n");
    CHECK(to_text(t) == "# some: a title (a paper)\n"
                        "#  who     count    time\n"
                        "#                   (ms)\n"
                        "   a, \"b\"     12       -\n"
                        "   c           -  0.5000\n"
                        "# a remark\n");
    auto const json = nlohmann::json::parse(to_json(t, "1.2"));
    CHECK(json["version"] == "1.2");
    CHECK(json["columns"][2]["kind"] == "wall clock");
    CHECK(json["rows"][0]["time"].is_null());
    CHECK(json["rows"][1]["time"] == 0.5);
  }

  TEST_CASE("charts: a bar ends where its value is, gaps are left, words are escaped") {
    chart c{.title = "a < b",
            .x_label = "x",
            .y_label = "y",
            .kind = chart_kind::stacked_bars,
            .scale = axis_scale::linear,
            .places = {"1", "2"},
            .data = {{"first", {50.0, std::nullopt}}, {"second", {50.0, 25.0}}}};
    auto const bars = to_svg(c);
    CHECK(bars.find("a &lt; b") != std::string::npos);
    CHECK(bars.find("y=\"48.0\" width=\"60.0\" height=\"156.0\"") !=
          std::string::npos); // to the top
    CHECK(std::ranges::count(bars, '\n') > 10);
    c.kind = chart_kind::lines;
    c.scale = axis_scale::logarithmic;
    c.data = {{"line", {1.0, 1000.0}}, {"empty", {std::nullopt, 0.0}}};
    auto const lines = to_svg(c);
    CHECK(lines.find("M201.0 360.0L447.0 48.0") != std::string::npos);
    CHECK(lines.find("<title>1, line: 1</title>") != std::string::npos);
    CHECK(lines.find("empty: ") == std::string::npos);
  }

  TEST_CASE("quarry study channels: three files for each study, and what it does not take") {
    temporary_folder const folder;
    auto const out = folder.path() / "deep" / "down";
    auto const done =
        study_channels({"--size", "fibonacci_flow=12,fibonacci=10,queens=6", "--repetitions", "1",
                        "--program", "fibonacci_flow,fibonacci,queens", "--output", out.string()});
    CHECK_MESSAGE(done.status == 0, done.err);
    CHECK(done.out.find("# reservations: ") == 0);
    for (channel_study const& one : channel_studies())
      for (char const* kind : {".json", ".csv", ".svg"})
        CHECK(std::filesystem::file_size(out / (std::string(one.name) + kind)) > 50);
    auto const unknown = study_channels({"--study", "reservations,nonsense"});
    CHECK(unknown.status == 2);
    CHECK(unknown.err.find("read 'nonsense', allowed is one of: reservations, done_counts") !=
          std::string::npos);
    auto const large = study_channels({"--size", "fibonacci=31"});
    CHECK(large.status == 2);
    CHECK(large.err.find("read 'fibonacci=31', allowed is fibonacci=N with N from 3 to 30") !=
          std::string::npos);
    auto const three = run_command("QUARRY_COMMAND", {"study", "aggregation", "--nodes", "3"});
    CHECK(three.status == 2);
    CHECK(three.err.find("needs a power of two; got 3") != std::string::npos);
    auto const file = folder.write("file", "x");
    auto const nowhere = study_channels({"--study", "lines_of_code", "-o", (file / "x").string()});
    CHECK(nowhere.status == 3);
    CHECK(nowhere.err.find("cannot make the folder") != std::string::npos);
  }
}
