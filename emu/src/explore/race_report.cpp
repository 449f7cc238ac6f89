// SPDX-License-Identifier: Apache-2.0
// What a race looks like to whoever reads it.
#include "lane_site.hpp"
#include "race_detector.hpp"

#include <quarry/report.hpp>

#include <fmt/core.h>

namespace quarry::emu {

std::string_view to_string(race_detector::missing_edge m) noexcept {
  constexpr std::string_view names[] = {
      "no synchronisation at all", "no release",
      "release too narrow",        "no acquire",
      "acquire too narrow",        "atomics whose scopes do not include each other",
      "lanes of one instruction",  "ordered only through different scopes",
      "coarse-grained memory"};
  return names[static_cast<int>(m)];
}

namespace {

using access = race_detector::access;
using missing_edge = race_detector::missing_edge;

std::string describe(access const& a,
                     std::function<std::string(race_detector::actor_id)> const& name_of,
                     std::function<std::string(std::uintptr_t)> const& address_name) {
  constexpr std::string_view kinds[] = {"load", "store", "read-modify-write",
                                        "read-modify-write that did not write", "fence"};
  std::string const how = a.order ? fmt::format("{} {} at {} scope", to_string(*a.order),
                                                kinds[static_cast<int>(a.what)], to_string(a.scope))
                                  : fmt::format("plain {}", kinds[static_cast<int>(a.what)]);
  std::string const what =
      a.what == access::kind::fence
          ? ""
          : fmt::format(", {} bytes at {}", a.bytes,
                        address_name ? address_name(a.address) : fmt::format("{:#x}", a.address));
  return fmt::format("{}{}, {}: {}{}", name_of(a.actor), lane_text(a.at),
                     quarry::to_string(a.at.where), how, what);
}

/// Work-items of an item kernel, or calls of one lane after the other: no two lanes of one vector.
bool is_between_work_items(race_detector::race const& r) {
  return r.missing == missing_edge::same_instruction &&
         (r.first.what != r.second.what || !is_same_line(r.first.at.where, r.second.at.where));
}

std::string advice(race_detector::race const& r) {
  if (is_between_work_items(r))
    return "  needs    other bytes for each work-item; or a barrier between the two, or a release "
           "after the\n           first and an acquire of it before the second\n";
  switch (r.missing) {
  case missing_edge::no_synchronisation: {
    std::string text =
        fmt::format("  needs    a release after the first and an acquire of it before the "
                    "second, at {} scope or wider\n",
                    to_string(r.scope));
    if (r.first.order.has_value() != r.second.order.has_value())
      text += fmt::format("           or to be atomic both, at {} scope or wider\n",
                          to_string(r.scope));
    return text;
  }
  case missing_edge::same_instruction:
    return "  needs    other bytes for each lane, or atomic operations\n";
  case missing_edge::different_scopes:
    return fmt::format("  needs    releases and acquires of one scope all the way: {} or wider\n",
                       to_string(r.scope));
  case missing_edge::mid_kernel:
    return "  needs    a kernel that ends or begins between the two: only then does coarse-grained "
           "memory\n           pass from agent to agent, or from and to the host; or fine-grained "
           "memory\n";
  default:
    return {};
  }
}

} // namespace

std::string to_string(race_detector::race const& r,
                      std::function<std::string(race_detector::actor_id)> const& name_of,
                      std::function<std::string(std::uintptr_t)> const& address_name,
                      std::function<std::string(access const&)> const& more) {
  auto const party = [&](access const& a) {
    return describe(a, name_of, address_name) + '\n' + (more ? more(a) : std::string());
  };
  std::string text =
      fmt::format("race: {}\n  first    {}  second   {}",
                  is_between_work_items(r) ? "work-items of one wavefront" : to_string(r.missing),
                  party(r.first), party(r.second));
  for (race_detector::change const& c : r.changes)
    text += fmt::format("  missing  {} in {}\n           needs {}, {} scope or wider\n",
                        to_string(c.why), describe(c.what, name_of, address_name),
                        to_string(c.order), to_string(c.scope));
  return text + advice(r);
}

} // namespace quarry::emu
