// SPDX-License-Identifier: Apache-2.0
// A program of somebody else's, whose main() knows nothing of replays: prints what two
// explorations, "wrong" and "right", come to. Exit status 1 if one fails. The first argument may
// ask for one of them alone, for "wrong" that "keeps-nothing", for one that "dies" with status 3,
// for one that "throws" what is no std::exception, with status 4, or for two whose names are
// "alike".
#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>
#include <unistd.h>

namespace {

using namespace quarry;
using emu::order;
using emu::scope;

void pass_message(world& w, order publish) {
  auto words = w.allocate<std::uint32_t>(32, "words");
  auto const data = words.global(), flag = words.global() + 16;
  w.start("writer", [=](world_core& self) {
    self.store(data, 42);
    self.store(flag, 1, publish, scope::system);
  });
  w.start("reader", [=, &w](world_core& self) {
    if (self.load(flag, order::acquire, scope::system) == 1)
      w.check(self.load(data) == 42, "the payload is stale");
  });
  w.join();
}

verdict explore_message(char const* name, order publish, bool keeps_failures = true) {
  return explore(
      {.executions = 500, .detects_races = false, .name = name, .keeps_failures = keeps_failures},
      [publish](world& w) { pass_message(w, publish); });
}

/// In some executions, as a test framework's assertion may.
void throw_a_number(world& w) {
  auto words = w.allocate<std::uint32_t>(1, "words");
  w.start("writer", [at = words.global()](world_core& self) {
    self.store(at, 1, order::release, scope::system);
  });
  w.start("thrower", [at = words.global()](world_core& self) {
    if (self.load(at, order::acquire, scope::system) == 0)
      throw 42;
  });
  w.join();
}

/// True if it is well.
bool show(verdict const& v) {
  std::fputs(v.to_string().c_str(), stdout);
  return static_cast<bool>(v);
}

} // namespace

int main(int argc, char** argv) {
  std::string_view const asked = argc > 1 ? argv[1] : "";
  if (asked == "dies")
    static_cast<void>(explore({.name = "dies"}, [](world&) { ::_exit(3); }));
  bool is_well = true;
  try {
    if (asked == "throws")
      static_cast<void>(explore({.name = "throws"}, &throw_a_number));
    if (asked == "alike")
      return show(explore_message("one two", order::relaxed)) +
             show(explore_message("one/two", order::relaxed));
    if (asked != "right")
      is_well = show(explore_message("wrong", order::relaxed, asked != "keeps-nothing"));
    if (asked != "wrong" && asked != "keeps-nothing")
      is_well = show(explore_message("right", order::release)) && is_well;
    return is_well ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (int) {
    return 4;
  }
}
