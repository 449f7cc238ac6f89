// SPDX-License-Identifier: Apache-2.0
#include "study_command.hpp"

#include "build_info.hpp"
#include "command_line/checked_option.hpp"
#include "command_line/subcommand.hpp"
#include "exit_status.hpp"
#include "output/progress_line.hpp"
#include "output/progress_report.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"
#include "programs/memory_need.hpp"

#include <quarry/study/aggregation_study.hpp>
#include <quarry/study/channel_studies.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace quarry::command {
namespace {

using study::channel_program;
using study::channel_study;

constexpr char const* channel_examples =
    "Examples:\n"
    "  quarry study channels\n"
    "  quarry study channels --output channels --compute-units 4\n"
    "  quarry study channels --study reservations,divergence --program queens --size queens=10\n"
    "  quarry study channels --study wavefronts --thesis-sizes\n"
    "Each study prints a table and, with --output, writes NAME.json, NAME.csv and NAME.svg.\n"
    "Counts are taken under a single-threaded deterministic scheduler and are the same at every\n"
    "run; times are wall clock under the native one, and say nothing of a busy machine.\n";

constexpr char const* aggregation_examples =
    "Examples:\n"
    "  quarry study aggregation\n"
    "  quarry study aggregation --output aggregation --updates 100000000\n"
    "One node does its share of N nodes' updates, and all that it sends comes back to it. Rates "
    "are\n"
    "wall clock; reservations are counted under a deterministic scheduler and exact.\n";

struct request {
  std::vector<std::string> studies;
  std::vector<std::string> programs;
  std::vector<std::string> sizes; ///< NAME=N
  bool thesis_sizes = false;
  std::string folder;
  study::channel_study_request what;
};

/// Names that are not among those there are.
template<class Things>
void check_names(char const* option, std::vector<std::string> const& asked, Things const& things) {
  std::string names;
  for (auto const& one : things)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  for (auto const& name : asked)
    if (std::ranges::none_of(things, [&](auto const& one) { return one.name == name; }))
      throw CLI::ValidationError(option,
                                 fmt::format("read '{}', allowed is one of: {}", name, names));
}

bool is_asked_for(std::vector<std::string> const& asked, std::string_view name) {
  return asked.empty() || std::ranges::find(asked, name) != asked.end();
}

/// What --size says of a program, or the default.
std::uint32_t size_of(channel_program const& p, request const& r) {
  std::uint32_t size = r.thesis_sizes && p.thesis_size != 0 ? p.thesis_size : p.size;
  for (auto const& one : r.sizes) {
    auto const equals = one.find('=');
    if (one.substr(0, equals) != p.name)
      continue;
    auto const* const last = one.data() + one.size();
    auto const* const first = equals == one.npos ? last : one.data() + equals + 1;
    auto const [end, code] = std::from_chars(first, last, size);
    if (code != std::errc{} || end != last || size < p.least || size > p.most ||
        (p.has_power_of_two && !std::has_single_bit(size)))
      throw CLI::ValidationError(
          "--size", fmt::format("read '{}', allowed is {}=N with N {}from {} to {}", one, p.name,
                                p.has_power_of_two ? "a power of two " : "", p.least, p.most));
  }
  return size;
}

void check(request& r) {
  check_names("--study", r.studies, study::channel_studies());
  check_names("--program", r.programs, study::channel_programs());
  std::vector<std::string> sized;
  sized.reserve(r.sizes.size());
  for (auto const& one : r.sizes)
    sized.push_back(one.substr(0, one.find('=')));
  check_names("--size", sized, study::channel_programs());
  for (auto const& name : sized) {
    if (!is_asked_for(r.programs, name))
      throw CLI::ValidationError("--size", fmt::format("{} is not among --program", name));
    if (std::ranges::count(sized, name) > 1)
      throw CLI::ValidationError("--size", fmt::format("{} has more than one", name));
  }
  r.what.programs.clear();
  for (channel_program const& p : study::channel_programs())
    if (is_asked_for(r.programs, p.name))
      r.what.programs.push_back({&p, size_of(p, r)});
}

/// A study's files in the folder, without what follows the dot.
std::string stem_of(std::string_view name, std::string const& folder) {
  return (std::filesystem::path(folder) / name).string();
}

result<void> write(study::finding const& found, std::string const& folder) {
  auto const stem = stem_of(found.figures.name, folder);
  if (auto done = write_text(stem + ".json", to_json(found.figures, version)); !done)
    return done;
  if (auto done = write_text(stem + ".csv", to_csv(found.figures)); !done)
    return done;
  return write_text(stem + ".svg", to_svg(found.picture));
}

int complain(std::string const& what) {
  std::fputs(fmt::format("quarry study: {}\n", what).c_str(), stderr);
  return world_fault;
}

/// Makes the folder, if one was asked for, that is to have the files of these studies.
result<void> make_folder(std::string const& folder, std::vector<std::string_view> const& studies) {
  if (folder.empty())
    return {};
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return error{failed, fmt::format("{}: cannot make the folder: {}", folder, failed.message())};
  for (auto const name : studies)
    for (auto const* ending : {".json", ".csv", ".svg"})
      if (auto can = check_writable(stem_of(name, folder) + ending); !can)
        return can;
  return {};
}

/// To standard output, and as files if a folder was asked for.
result<void> report(study::finding const& found, std::string const& folder) {
  print(to_text(found.figures) + '\n');
  if (auto printed = all_printed(); !printed)
    return printed;
  return folder.empty() ? result<void>{} : write(found, folder);
}

int run(request& r) {
  std::vector<std::string_view> studies;
  for (channel_study const& one : study::channel_studies())
    if (is_asked_for(r.studies, one.name))
      studies.push_back(one.name);
  if (auto const made = make_folder(r.folder, studies); !made)
    return complain(made.error().what);
  progress_report asked("quarry study", "variants");
  for (channel_study const& one : study::channel_studies()) {
    if (!is_asked_for(r.studies, one.name))
      continue;
    study::finding found;
    {
      std::string const name(one.name);
      std::uint64_t const total = one.variants * r.what.programs.size();
      progress_line line(progress_line::place::terminal, name, total, "variants");
      asked.begin(name, total);
      r.what.step_done = [&] { line.update(++asked.done()); };
      found = one.run(r.what);
    }
    if (auto const said = report(found, r.folder); !said)
      return complain(said.error().what);
  }
  return 0;
}

struct aggregation_command {
  study::aggregation_request what;
  std::string folder;
};

int run(aggregation_command& r) {
  if (auto const made = make_folder(r.folder, {"aggregation"}); !made)
    return complain(made.error().what);
  progress_report asked("quarry study", "variants");
  asked.begin("aggregation", r.what.steps());
  study::finding found;
  {
    progress_line line(progress_line::place::terminal, "aggregation", r.what.steps(), "variants");
    r.what.step_done = [&] { line.update(++asked.done()); };
    found = study::study_aggregation(r.what);
  }
  auto const said = report(found, r.folder);
  return said ? 0 : complain(said.error().what);
}

void add_output(CLI::App& command, std::string& folder) {
  add_output_file(command, "-o,--output", folder,
                  "folder for JSON, CSV and SVG files; made if absent")
      ->type_name("DIR");
}

void add_aggregation(CLI::App& group, int& exit_status) {
  auto* command = group.add_subcommand(
      "aggregation", "SIMT-direct beside indirect aggregation: the thesis's Figure 3-9");
  command->footer(aggregation_examples);
  auto r = std::make_shared<aggregation_command>();
  add_number(*command, "--updates", r->what.updates, 64, std::uint64_t{1} << 40,
             "updates of all nodes");
  add_number(*command, "--table-size", r->what.log2_entries, 7, 30,
             "log2 of the whole table's entries");
  add_number(*command, "--nodes", r->what.most_nodes, 2, 64, "up to so many, a power of two");
  add_number(*command, "--repetitions", r->what.repetitions, 1, 1000,
             "timed runs, of which the fastest counts");
  add_output(*command, r->folder);
  command->callback([r, &exit_status] {
    if (!std::has_single_bit(r->what.most_nodes))
      throw CLI::ValidationError("--nodes",
                                 fmt::format("needs a power of two; got {}", r->what.most_nodes));
    need_memory("--table-size", sizeof(std::uint64_t) << r->what.log2_entries);
    exit_status = run(*r);
  });
}

void add_channels(CLI::App& group, int& exit_status) {
  auto* command = group.add_subcommand(
      "channels", "what channels cost and gain: the studies of the thesis's section 4.6");
  command->footer(channel_examples);
  auto r = std::make_shared<request>();
  std::string studies;
  for (channel_study const& one : study::channel_studies())
    studies += fmt::format("\n  {}: {}", one.name, one.summary);
  command->add_option("--study", r->studies, "which, by commas; all unless given:" + studies)
      ->type_name("NAMES")
      ->delimiter(',');
  std::string programs;
  for (channel_program const& one : study::channel_programs())
    programs +=
        fmt::format("\n  {}: size is {}, {} unless given{}", one.name, one.size_name, one.size,
                    one.thesis_size == 0 ? "" : fmt::format("; in the thesis {}", one.thesis_size));
  command->add_option("--program", r->programs, "which, by commas; all unless given:" + programs)
      ->type_name("NAMES")
      ->delimiter(',');
  command->add_option("--size", r->sizes, "of programs' inputs, by commas: queens=10")
      ->type_name("NAME=N")
      ->delimiter(',');
  command->add_flag("--thesis-sizes", r->thesis_sizes,
                    "the thesis's inputs: the counts of some take many minutes");
  add_number(*command, "--compute-units", r->what.compute_units, 1, 64,
             "of the emulated GPU, but in the study of them");
  add_number(*command, "--repetitions", r->what.repetitions, 1, 1000,
             "timed runs, of which the shortest counts");
  add_output(*command, r->folder);
  command->callback([r, &exit_status] {
    check(*r);
    exit_status = run(*r);
  });
}

} // namespace

void add_study_command(CLI::App& quarry, int& exit_status) {
  auto* group = quarry.add_subcommand("study", "repeat the studies of the papers");
  group->footer("Examples:\n"
                "  quarry study channels --output channels\n"
                "  quarry study aggregation --help\n");
  add_channels(*group, exit_status);
  add_aggregation(*group, exit_status);
  need_subcommand(*group, "study");
}

} // namespace quarry::command
