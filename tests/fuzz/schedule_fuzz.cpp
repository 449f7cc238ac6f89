// SPDX-License-Identifier: Apache-2.0
// One execution of a target of `quarry explore`, whose choices are the fuzzer's bytes. A failure is
// explained and saved for `quarry replay`; then the process aborts, as fuzzers want it.
//
// QUARRY_FUZZ_TARGET names the target. Options, beside the fuzzer's own, are those of `quarry
// explore`: --weaken=NAME, --no-races, --failures=FOLDER.
#include <quarry/emu/replay_file.hpp>
#include <quarry/explore/target.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

using namespace quarry;

namespace {

struct request {
  exploration::target const* target = nullptr;
  std::optional<exploration::weakening> weakening{};
  bool detects_races = true;
  std::string folder = "quarry-failures";
};

request& asked() {
  static request one;
  return one;
}

verdict run(explore_options options) {
  request const& r = asked();
  options.keeps_failures = false; // an exploration for each input
  options.patience = {};          // the fuzzer has its own
  return exploration::explore_target(*r.target, r.weakening ? &*r.weakening : nullptr, options);
}

void save(verdict const& v) {
  if (!v.failure)
    return;
  request const& r = asked();
  replay_file const file{.name = v.name,
                         .build = build_id(),
                         .seed = 0,
                         .detects_races = r.detects_races,
                         .direct_lint = false,
                         .most_decisions = r.target->most_decisions,
                         .kind = v.failure->kind,
                         .where = v.failure->where,
                         .choices = v.failure->shrunk};
  std::filesystem::create_directories(r.folder);
  std::string const path = r.folder + "/" + r.target->name + "-fuzz.replay";
  if (auto const written = file.write(path); !written)
    std::fprintf(stderr, "%s\n", written.error().what.c_str());
  else
    std::fprintf(stderr, "  saved:  %s\n  replay: quarry replay %s\n", path.c_str(), path.c_str());
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are libFuzzer's
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  request& r = asked();
  r.target = &exploration::find_target(QUARRY_FUZZ_TARGET);
  for (int i = 1; i < *argc; ++i) {
    std::string_view const word = (*argv)[i];
    auto const value = word.substr(word.find('=') + 1);
    if (word.starts_with("--weaken="))
      r.weakening = exploration::find_weakenings(*r.target, value).front();
    else if (word == "--no-races")
      r.detects_races = false;
    else if (word.starts_with("--failures="))
      r.folder = value;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  bool const detects_races = asked().detects_races;
  verdict const v = run({.executions = 1,
                         .strategy = "bytes",
                         .bytes = std::span(data, size),
                         .detects_races = detects_races,
                         .shrinks = false,
                         .diagnoses = false});
  if (!v.failure)
    return v.inconclusive == 0 ? 0 : -1; // -1: of no use in the corpus
  verdict const again = run({.detects_races = detects_races, .replays = v.failure->found});
  verdict const& shown = again.failure ? again : v;
  std::fputs(shown.to_string().c_str(), stderr);
  save(shown);
  std::abort();
}
// NOLINTEND(readability-identifier-naming)
