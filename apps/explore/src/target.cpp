// SPDX-License-Identifier: Apache-2.0
#include "targets.hpp"

#include <quarry/explore/target.hpp>
#include <quarry/in_quotes.hpp>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace quarry::exploration {
namespace {

/// A target and what is weakened, in a verdict's name.
constexpr std::string_view between = " with ";

/// Each list with each of the weakenings of one more entry.
std::vector<std::vector<weakening>> with_each(target const& t,
                                              std::vector<std::vector<weakening>> const& lists,
                                              std::vector<weakening> const& more) {
  std::vector<std::vector<weakening>> all;
  for (auto const& those : lists)
    for (weakening const& w : more) {
      for (weakening const& other : those)
        if (other.entry == w.entry)
          throw std::invalid_argument(t.name + ": " + w.entry + " is weakened twice");
      all.push_back(those);
      all.back().push_back(w);
    }
  return all;
}

} // namespace

std::span<target const> targets() {
  static std::vector<target> const all = [] {
    std::vector<target> list{spsc_target(),
                             mpmc_target(),
                             work_group_target(),
                             aql_target(),
                             channel_target(),
                             flow_graph_target(),
                             channel_yield_target(),
                             cilk_target(),
                             cilk_hybrid_target(),
                             comp_net_ring_target(),
                             comp_net_host_ring_target(),
                             comp_net_target(),
                             comp_net_dgpu_target(),
                             comp_net_three_target(),
                             shmem_target(),
                             shmem_collectives_target(),
                             shmem_waits_target(),
                             gravel_target(),
                             gravel_direct_target(),
                             pagerank_target()};
    for (auto const& program : {allreduce_targets(), allreduce_three_targets(), ping_pong_targets(),
                                ping_pong_get_targets(), jacobi_targets(), sgd_targets()})
      list.insert(list.end(), program.begin(), program.end());
    return list;
  }();
  return all;
}

target const& find_target(std::string_view name) {
  std::string names;
  for (target const& t : targets()) {
    if (t.name == name)
      return t;
    names += (names.empty() ? "" : ", ") + t.name;
  }
  throw std::invalid_argument("no target " + in_quotes(name) + "; there are: " + names);
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

std::vector<std::vector<weakening>> find_together(target const& t, std::string_view text) {
  std::vector<std::vector<weakening>> all{{}};
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find('+', begin), text.size());
    all = with_each(t, all, find_weakenings(t, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  for (auto& those : all) // where they will stay
    for (std::size_t i = 1; i < those.size(); ++i)
      those[i - 1].also = &those[i];
  return all;
}

explored_target find_explored(std::string_view verdict_name) {
  auto const end = verdict_name.find(between);
  explored_target found{find_target(verdict_name.substr(0, end)), {}};
  if (end != verdict_name.npos)
    found.weakened = // a full name finds one list
        std::move(find_together(found.of, verdict_name.substr(end + between.size())).front());
  return found;
}

verdict explore_target(target const& t, weakening const* w, explore_options options) {
  if ((options.reduces || options.hashes_states) && !t.shares_only_memory) {
    std::string names;
    for (target const& other : targets())
      if (other.shares_only_memory)
        names += (names.empty() ? "" : ", ") + other.name;
    throw std::invalid_argument("the actors of " + t.name +
                                " share more than Quarry's memory, so that steps without a common "
                                "word may depend on each other; what can be reduced: " +
                                names);
  }
  options.name = w == nullptr ? t.name : t.name + std::string(between) + w->name();
  options.most_decisions = t.most_decisions;
  return explore(options, [&](world& world_) { t.run(world_, w); });
}

} // namespace quarry::exploration
