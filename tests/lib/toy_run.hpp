// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quarry_test {

/// What an actor's step came to.
enum class toy_step : std::uint8_t { goes_on, yields, is_done };

/// What strategies are for, in small: actors that take one step after the other, as `c` says.
/// Returns who took the steps, an "a" for the first actor; at most `most` of them.
inline std::string toy_run(quarry::chooser& c, std::vector<std::function<toy_step()>> const& actors,
                           std::size_t most = 100'000) {
  std::vector<std::uint32_t> ready;
  for (std::uint32_t a = 0; a < actors.size(); ++a)
    ready.push_back(a);
  std::string who;
  while (!ready.empty() && who.size() < most) {
    unsigned const i = ready.size() > 1 ? c.pick_actor(ready) : 0;
    std::uint32_t const a = ready[i];
    ready.erase(ready.begin() + i);
    who.push_back(static_cast<char>('a' + a));
    toy_step const step = actors[a]();
    if (step == toy_step::yields)
      c.on_yield(a);
    if (step != toy_step::is_done)
      ready.insert(step == toy_step::yields ? ready.end() : ready.begin(), a);
  }
  return who;
}

/// `count` steps that do nothing.
inline std::function<toy_step()> toy_steps(unsigned count) {
  return [count]() mutable { return --count == 0 ? toy_step::is_done : toy_step::goes_on; };
}

/// A bug that takes three orderings: two actors of ten steps, and it shows only if "b" comes
/// between two certain neighbours of "a", and "a" goes on before "b" does.
class toy_bug {
public:
  /// Whether it showed.
  static bool run(quarry::chooser& c) {
    toy_bug b;
    toy_run(c, {[&] { return b.step_of_a(); }, [&] { return b.step_of_b(); }});
    return b.showed_;
  }

private:
  toy_step step_of_a() {
    ++a_;
    if (a_ == 5)
      place_ = 1;
    if (a_ == 6)
      has_seen_two_ = place_ == 2;
    return a_ == 10 ? toy_step::is_done : toy_step::goes_on;
  }
  toy_step step_of_b() {
    ++b_;
    if (b_ == 3 && place_ == 1 && a_ == 5)
      place_ = 2;
    if (b_ == 4)
      showed_ = has_seen_two_;
    return b_ == 10 ? toy_step::is_done : toy_step::goes_on;
  }

  int a_ = 0, b_ = 0;
  int place_ = 0;
  bool has_seen_two_ = false;
  bool showed_ = false;
};

} // namespace quarry_test
