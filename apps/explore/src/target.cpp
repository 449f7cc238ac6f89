// SPDX-License-Identifier: Apache-2.0
#include "targets.hpp"

#include <quarry/explore/target.hpp>

#include <stdexcept>

namespace quarry::exploration {

std::span<target const> targets() {
  static std::vector<target> const all{spsc_target(), mpmc_target(), work_group_target(),
                                       gravel_target()};
  return all;
}

target const& find_target(std::string_view name) {
  std::string names;
  for (target const& t : targets()) {
    if (t.name == name)
      return t;
    names += (names.empty() ? "" : ", ") + t.name;
  }
  throw std::invalid_argument("no target '" + std::string(name) + "'; there are: " + names);
}

std::vector<weakening> find_weakenings(target const& t, std::string_view text) {
  std::vector<weakening> found;
  std::string names;
  for (weakening const& w : t.weakenings) {
    if (w.entry == text || w.name() == text)
      found.push_back(w);
    names += "\n  " + w.name();
  }
  if (found.empty())
    throw std::invalid_argument("target " + t.name + " has no entry '" + std::string(text) +
                                "'; there are:" + (names.empty() ? " none" : names));
  return found;
}

verdict explore_target(target const& t, weakening const* w, explore_options options) {
  options.name = w == nullptr ? t.name : t.name + " with " + w->name();
  options.most_decisions = t.most_decisions;
  return explore(options, [&](world& world_) { t.run(world_, w); });
}

} // namespace quarry::exploration
