// SPDX-License-Identifier: Apache-2.0
#include "repetition.hpp"

#include <fmt/core.h>

#include <string_view>

namespace quarry {
namespace {

std::string_view races_of(bool detects, bool is_direct) {
  return !detects ? "off" : is_direct ? "direct" : "indirect";
}

template<class T>
std::string other_option(std::string_view what, T const& recorded, T const& here) {
  return recorded == here
             ? ""
             : fmt::format(
                   "the failure was recorded with {} {}, here it is {}: the former counts\n", what,
                   recorded, here);
}

} // namespace

replay_file record_of(explore_options const& options, std::uint64_t seed) {
  replay_file file;
  file.name = options.name;
  file.build = build_id();
  file.seed = seed;
  file.detects_races = options.detects_races;
  file.direct_lint = options.direct_lint;
  file.most_decisions = options.most_decisions;
  return file;
}

std::string repeat_by(explore_options& o, replay_file const& recorded) {
  std::string text;
  if (recorded.build != build_id())
    text += "the replay file is of another build\n";
  text += other_option("most_decisions", recorded.most_decisions, o.most_decisions);
  text += other_option("races", races_of(recorded.detects_races, recorded.direct_lint),
                       races_of(o.detects_races, o.direct_lint));
  o.replays = recorded.choices;
  o.detects_races = recorded.detects_races;
  o.direct_lint = recorded.direct_lint;
  o.most_decisions = recorded.most_decisions;
  o.shrinks = o.diagnoses = false;
  o.keeps_failures = false;
  return text;
}

std::string difference(choice_record const& recorded, choice_record const& run) {
  if (recorded.count() == run.count() && recorded.trace_hash() == run.trace_hash())
    return "";
  std::string const what =
      recorded.count() == run.count()
          ? fmt::format(
                "its {} choices are others than the recorded ones (trace {:#018x}, recorded "
                "{:#018x})",
                run.count(), run.trace_hash(), recorded.trace_hash())
          : fmt::format("it made {} choices, recorded are {}", run.count(), recorded.count());
  return fmt::format("the execution is not the recorded one: {}\n", what);
}

} // namespace quarry
