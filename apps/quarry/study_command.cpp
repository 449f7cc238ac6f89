// SPDX-License-Identifier: Apache-2.0
#include "study_command.hpp"

#include "build_info.hpp"
#include "checked_option.hpp"
#include "progress_line.hpp"
#include "text_file.hpp"

#include <quarry/study/channel_studies.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace quarry::command {
namespace {

using study::channel_program;
using study::channel_study;

constexpr int world_fault = 3;

constexpr char const* channel_examples =
    "Examples:\n"
    "  quarry study channels\n"
    "  quarry study channels --output channels --compute-units 4\n"
    "  quarry study channels --study reservations,divergence --program fibonacci --size 16\n"
    "Each study prints a table and, with --output, writes NAME.json, NAME.csv and NAME.svg.\n"
    "Counts are taken under a single-threaded deterministic scheduler and are the same at every\n"
    "run; times are wall clock under the native one, and say nothing of a busy machine.\n";

struct request {
  std::vector<std::string> studies;
  std::vector<std::string> programs;
  std::uint32_t size = 0; ///< 0: each program's own
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

void check(request& r) {
  check_names("--study", r.studies, study::channel_studies());
  check_names("--program", r.programs, study::channel_programs());
  r.what.programs.clear();
  for (channel_program const& p : study::channel_programs()) {
    if (!is_asked_for(r.programs, p.name))
      continue;
    std::uint32_t const size = r.size == 0 ? p.size : r.size;
    if (size < p.least || size > p.most)
      throw CLI::ValidationError("--size", fmt::format("read {}, allowed for {} is {} to {}", size,
                                                       p.name, p.least, p.most));
    r.what.programs.push_back({&p, size});
  }
}

result<void> write(study::finding const& found, std::string const& folder) {
  auto const stem = (std::filesystem::path(folder) / found.figures.name).string();
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

int run(request& r) {
  if (!r.folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(r.folder, failed);
    if (failed)
      return complain(fmt::format("{}: cannot make the folder: {}", r.folder, failed.message()));
  }
  for (channel_study const& one : study::channel_studies()) {
    if (!is_asked_for(r.studies, one.name))
      continue;
    study::finding found;
    {
      std::uint64_t done = 0;
      progress_line line(progress_line::place::terminal, std::string(one.name),
                         one.variants * r.what.programs.size(), "variants");
      r.what.step_done = [&] { line.update(++done); };
      found = one.run(r.what);
    }
    std::fputs((to_text(found.figures) + '\n').c_str(), stdout);
    if (std::fflush(stdout) != 0)
      return complain("standard output: cannot write");
    if (r.folder.empty())
      continue;
    if (auto const written = write(found, r.folder); !written)
      return complain(written.error().what);
  }
  return 0;
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
        fmt::format("\n  {}: size is {}, {} unless given", one.name, one.size_name, one.size);
  command->add_option("--program", r->programs, "which, by commas; all unless given:" + programs)
      ->type_name("NAMES")
      ->delimiter(',');
  add_number(*command, "--size", r->size, 1, 1U << 30, "of each program's input")
      ->default_str("the thesis's");
  add_number(*command, "--compute-units", r->what.compute_units, 1, 64,
             "of the emulated GPU, but in the study of them");
  add_number(*command, "--repetitions", r->what.repetitions, 1, 1000,
             "timed runs, of which the shortest counts");
  command
      ->add_option("-o,--output", r->folder, "folder for JSON, CSV and SVG files; made if absent")
      ->type_name("DIR");
  command->callback([r, &exit_status] {
    check(*r);
    exit_status = run(*r);
  });
}

} // namespace

void add_study_command(CLI::App& quarry, int& exit_status) {
  auto* group = quarry.add_subcommand("study", "repeat the studies of the papers");
  group->require_subcommand(1);
  add_channels(*group, exit_status);
}

} // namespace quarry::command
