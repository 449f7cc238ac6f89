// SPDX-License-Identifier: Apache-2.0
// kill MUTANT [FOLDER…]: runs the litmus tests of shapes.hpp, and those of FOLDER/expected.csv, on
// the cache machine that it is linked with. Succeeds if one of the own ones notices that it is a
// mutant; for the mutant `none`, if no test does.
#include "shapes.hpp"

#include <quarry/litmus/expected.hpp>
#include <quarry/litmus/parse.hpp>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string_view>

using namespace quarry;
using namespace quarry_test;

namespace {

litmus::verdict run(litmus::test const& t) {
  constexpr std::uint64_t most_states = 500'000;
  return litmus::explore(t, {.states = most_states}).what;
}

litmus::test parsed(shape const& s) {
  auto t = litmus::parse(s.text, s.name);
  if (!t || !t->unsupported.empty())
    throw std::runtime_error("the shape " + s.name +
                             " cannot be read: " + (t ? t->unsupported.front() : t.error().what));
  return *t;
}

unsigned count_own(unsigned& all) {
  unsigned noticed = 0;
  for (shape const& s : own_shapes()) {
    auto const found = run(parsed(s));
    ++all;
    if (found == s.expected)
      continue;
    ++noticed;
    std::printf("  %s: %s\n", s.name.c_str(), std::string(litmus::to_string(found)).c_str());
  }
  return noticed;
}

unsigned count_published(std::filesystem::path const& folder, unsigned& all) {
  unsigned noticed = 0;
  auto const rows = litmus::read_expectations(folder / "expected.csv");
  if (!rows)
    throw std::runtime_error(rows.error().what);
  for (auto const& row : *rows) {
    auto const t = litmus::read_test(row.test);
    if (!t)
      throw std::runtime_error(t.error().what);
    if (!t->unsupported.empty())
      continue;
    ++all;
    noticed += row.is_met_by(run(*t)) ? 0 : 1;
  }
  return noticed;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("kill MUTANT [FOLDER…]\n", stderr);
    return 2;
  }
  try {
    std::string_view const mutant = argv[1];
    unsigned own_count = 0, count = 0;
    unsigned const own = count_own(own_count);
    std::printf("%s: noticed by %u of %u own tests", argv[1], own, own_count);
    unsigned published = 0;
    for (int i = 2; i < argc; ++i)
      if (std::filesystem::is_directory(argv[i]))
        published += count_published(argv[i], count);
    std::printf(count == 0 ? ", no published ones are there\n" : ", by %u of %u published ones\n",
                published, count);
    return mutant == "none" ? own + published != 0 : own == 0;
  } catch (std::runtime_error const& e) {
    std::fprintf(stderr, "kill: %s\n", e.what());
    return 2;
  }
}
