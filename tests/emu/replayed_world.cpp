// SPDX-License-Identifier: Apache-2.0
// A program of somebody else's, whose main() knows nothing of replays: prints what two
// explorations, "wrong" and "right", come to. Exit status 1 if one fails.
#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>

namespace {

using namespace quarry;
using emu::order;
using emu::scope;

verdict explore_message(char const* name, order publish) {
  return explore({.executions = 500, .detects_races = false, .name = name}, [publish](world& w) {
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
  });
}

} // namespace

int main() {
  try {
    auto const wrong = explore_message("wrong", order::relaxed);
    auto const right = explore_message("right", order::release);
    std::fputs((wrong.to_string() + right.to_string()).c_str(), stdout);
    return wrong && right ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
