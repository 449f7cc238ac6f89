// SPDX-License-Identifier: Apache-2.0
// museum find|clean|table [--seeds N] [--executions N] [CASE…]: see --help.
#include "exhibit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string_view>

using namespace quarry_test;

namespace {

constexpr char const* help = R"(museum COMMAND [OPTION…] [CASE…]

  find   every wrong twin is found at default settings, as what it is, within 10 s, and fails again
         when repeated; every right twin passes as many executions as the wrong ones may take
  clean  every right twin passes all executions that there are, if these are no more than half of
         --executions; else that many random ones
  table  how many executions the wrong twins take, from 20 seeds; as Markdown

  --seeds N        of the table
  --executions N   of `clean`; 100 000 if not given
)";

struct request {
  std::string command;
  std::uint64_t seeds = 20;
  std::uint64_t executions = 100'000;
  std::set<std::string> cases; ///< none: all
};

/// Whatever takes longer has not been found.
constexpr double most_seconds = 10;

std::vector<exhibit> museum() {
  std::vector<exhibit> all;
  for (auto const& room : {slot_exhibits(), packet_exhibits(), counter_exhibits(),
                           barrier_exhibits(), network_exhibits()})
    all.insert(all.end(), room.begin(), room.end());
  auto const number = [](exhibit const& e) { return std::stoi(e.number); };
  std::sort(all.begin(), all.end(), [&](auto& a, auto& b) { return number(a) < number(b); });
  return all;
}

bool fail(exhibit const& e, twin const& t, std::string const& why) {
  fmt::print("FAILED  case {}, {}: {}\n", e.number, t.name, why);
  return false;
}

/// Whether a wrong twin may be found so: as a race, or by what it does.
bool may_be(twin const& t, std::string const& kind, bool detects_races) {
  return detects_races ? t.found_as.contains(kind) : kind == t.effect;
}

/// All in all; without optimisation, where it takes longest to try what mends a bug, until it was
/// found.
double seconds_of(quarry::verdict const& v) {
#ifdef __OPTIMIZE__
  return v.seconds;
#else
  return v.exploring_seconds;
#endif
}

bool find(exhibit const& e, twin const& t) {
  if (t.what == twin::kind::right) {
    auto const v = quarry::explore({.name = t.name}, t.run);
    return v && v.inconclusive == 0 ? true : fail(e, t, v.to_string());
  }
  bool good = true;
  for (bool const detects_races : {true, false}) {
    auto const v = quarry::explore({.detects_races = detects_races, .name = t.name}, t.run);
    if (!v.failure || !v.failure->is_repeatable || seconds_of(v) > most_seconds)
      good = fail(e, t, v.to_string());
    else if (!may_be(t, v.failure->kind, detects_races))
      good = fail(e, t, "not what it is to be found as:\n" + v.to_string());
  }
  return good;
}

bool clean(exhibit const& e, twin const& t, std::uint64_t executions) {
  if (t.what != twin::kind::right)
    return true;
  for (char const* const strategy : {"exhaustive", "swarm"}) {
    auto const v = quarry::explore(
        {.executions = strategy == std::string_view("swarm") ? executions : executions / 2,
         .strategy = strategy,
         .reduces = strategy == std::string_view("exhaustive"),
         .name = e.number + ", " + t.name},
        t.run);
    if (!v || (v.inconclusive != 0 && strategy != std::string_view("exhaustive")))
      return fail(e, t, v.to_string());
    fmt::print("{} ({})\n", v.to_string().substr(0, v.to_string().find('\n')), strategy);
    if (v.is_complete)
      break;
  }
  return true;
}

struct effort {
  std::vector<std::uint64_t> executions; ///< sorted
  std::set<std::string> kinds;
  double seconds = 0; ///< the longest
};

effort measure(twin const& t, bool detects_races, std::uint64_t seeds) {
  effort all;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    auto const v = quarry::explore({.seed = 1 + i * 1'000'000'007,
                                    .detects_races = detects_races,
                                    .shrinks = false,
                                    .diagnoses = false},
                                   t.run);
    all.seconds = std::max(all.seconds, v.seconds);
    if (!v.failure)
      continue;
    all.executions.push_back(v.failure->execution);
    all.kinds.insert(v.failure->kind);
  }
  std::sort(all.executions.begin(), all.executions.end());
  return all;
}

std::string cell(effort const& f, std::uint64_t seeds) {
  if (f.executions.size() < seeds)
    return fmt::format("found from {} seeds only", f.executions.size());
  std::string kinds;
  for (auto const& k : f.kinds)
    kinds += (kinds.empty() ? "" : ", ") + k;
  return fmt::format("{}: {} ({})", kinds, f.executions[(seeds - 1) / 2], f.executions.back());
}

bool add_row(exhibit const& e, twin const& t, std::uint64_t seeds, double& longest) {
  if (t.what == twin::kind::right)
    return true;
  bool good = true;
  std::string cells[2];
  for (bool const detects_races : {true, false}) {
    auto const f = measure(t, detects_races, seeds);
    good = good && f.executions.size() == seeds && f.seconds <= most_seconds &&
           std::all_of(f.kinds.begin(), f.kinds.end(),
                       [&](auto const& k) { return may_be(t, k, detects_races); });
    longest = std::max(longest, f.seconds);
    cells[detects_races ? 0 : 1] = cell(f, seeds);
  }
  fmt::print("| {} | {} ({}) | {} | {} | {} |\n", e.number, e.bug, e.source, t.name, cells[0],
             cells[1]);
  return good;
}

bool show(request const& r, exhibit const& e, double& longest) {
  bool good = true;
  for (twin const& t : e.twins)
    good = (r.command == "find"    ? find(e, t)
            : r.command == "clean" ? clean(e, t, r.executions)
                                   : add_row(e, t, r.seeds, longest)) &&
           good;
  return good;
}

int run(request const& r) {
  bool const is_table = r.command == "table";
  if (is_table)
    fmt::print("| case | bug | wrong twin | found as: median executions of {} seeds (most) | with "
               "the race detector off |\n|---|---|---|---|---|\n",
               r.seeds);
  bool good = true;
  double longest = 0;
  std::size_t seen = 0;
  for (exhibit const& e : museum()) {
    if (!r.cases.empty() && !r.cases.contains(e.number))
      continue;
    ++seen;
    good = show(r, e, longest) && good;
  }
  if (seen < r.cases.size())
    throw std::invalid_argument("no such case");
  if (is_table)
    fmt::print("\nThe longest search took {:.3f} s.\n", longest);
  return good ? 0 : 1;
}

std::uint64_t number(std::string const& text) {
  std::uint64_t n = 0;
  auto const end = text.c_str() + text.size();
  if (std::from_chars(text.c_str(), end, n).ptr != end || n == 0)
    throw std::invalid_argument("read '" + text + "', expected a number");
  return n;
}

request parse(std::vector<std::string> const& words) {
  request r;
  if (words.empty() || (words[0] != "find" && words[0] != "clean" && words[0] != "table"))
    throw std::invalid_argument("no such command");
  r.command = words[0];
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] == "--seeds" && i + 1 < words.size())
      r.seeds = number(words[++i]);
    else if (words[i] == "--executions" && i + 1 < words.size())
      r.executions = number(words[++i]);
    else
      r.cases.insert(words[i]);
  return r;
}

} // namespace

int main(int argc, char** argv) {
  ::setenv("QUARRY_FAILURES", "", 0); // half of what is here fails
  try {
    return run(parse({argv + 1, argv + argc}));
  } catch (std::invalid_argument const& e) {
    std::fputs(fmt::format("{}\n{}", e.what(), help).c_str(), stderr);
    return 2;
  }
}
