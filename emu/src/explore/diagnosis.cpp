// SPDX-License-Identifier: Apache-2.0
#include "diagnosis.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace quarry {
namespace {

using emu::adjustment;
using emu::operation_site;

/// Takes out what is not needed: halves first, then ever smaller parts.
std::vector<adjustment> fewer(std::vector<adjustment> needed, still_fails const& fails) {
  for (std::size_t part = (needed.size() + 1) / 2; part != 0; part = part == 1 ? 0 : (part + 1) / 2)
    for (std::size_t at = 0; at < needed.size();) {
      std::vector<adjustment> without = needed;
      auto const first = without.begin() + static_cast<std::ptrdiff_t>(at);
      without.erase(first, first + static_cast<std::ptrdiff_t>(std::min(part, needed.size() - at)));
      if (without.empty() || fails(without))
        at += part;
      else
        needed = std::move(without);
    }
  return needed;
}

/// Makes each as weak as the others allow.
void weaken(std::vector<adjustment>& needed, still_fails const& fails) {
  for (adjustment& a : needed)
    for (adjustment const& weaker : strengthened(a.at)) {
      adjustment const strong = std::exchange(a, weaker);
      if (!fails(needed))
        break;
      a = strong;
    }
}

bool becomes_seq_cst(adjustment const& a) {
  return !a.at.is_of_network() && a.how == emu::order::seq_cst && a.at.how != emu::order::seq_cst;
}

/// How an operation can be stronger, the smallest change first: without becoming seq_cst, or by
/// that.
std::vector<adjustment> steps_of(operation_site const& s, bool by_seq_cst) {
  std::vector<adjustment> steps = strengthened(s);
  std::erase_if(steps, [&](adjustment const& a) { return becomes_seq_cst(a) != by_seq_cst; });
  return steps;
}

/// Of those that do alone in that way, the one that has to change least; the first of several.
std::optional<adjustment> one_alone(std::vector<adjustment> const& all, bool by_seq_cst,
                                    wider scopes, still_fails const& fails) {
  std::optional<adjustment> best;
  for (adjustment const& a : all) {
    std::vector<adjustment> const steps = steps_of(a.at, by_seq_cst);
    bool const last_decides = scopes == wider::never_fails && !steps.empty();
    if (last_decides && fails({steps.back()}))
      continue;
    for (adjustment const& step : steps) {
      if (best && cost_of(step) >= cost_of(*best))
        break;
      if ((last_decides && &step == &steps.back()) || !fails({step})) {
        best = step;
        break;
      }
    }
  }
  return best;
}

/// What is seq_cst orders more than what it was to, and may but make the failure rare: it comes
/// last.
std::optional<adjustment> one_alone(std::vector<adjustment> const& all, wider scopes,
                                    still_fails const& fails) {
  auto best = one_alone(all, false, scopes, fails);
  return best ? best : one_alone(all, true, scopes, fails);
}

/// Of several, which do together: as few as can be, each as weak as can be.
std::vector<adjustment> several(std::vector<adjustment> all, still_fails const& fails) {
  std::ranges::reverse(all); // what goes first is what stands first
  all = fewer(std::move(all), fails);
  weaken(all, fails);
  std::ranges::reverse(all);
  return all;
}

/// The same at no wider scope than that, but for those that have been so.
std::vector<adjustment> at_scope(std::vector<adjustment> all, emu::scope far) {
  for (adjustment& a : all)
    a.far = std::max(a.at.far, far);
  return all;
}

} // namespace

std::vector<adjustment> all_strongest(std::vector<operation_site> const& sites, bool plain_too) {
  std::vector<adjustment> all;
  for (operation_site const& s : sites)
    if (plain_too || !s.is_plain())
      all.push_back(strongest(s));
  return all;
}

mending mend(std::vector<operation_site> const& sites, wider scopes, still_fails const& fails) {
  for (bool const plain_too : {false, true}) {
    auto const all = all_strongest(sites, plain_too);
    if (all.empty() || (scopes == wider::never_fails && fails(all)))
      continue;
    if (auto const one = one_alone(all, scopes, fails))
      return {.changes = {*one}, .is_possible = true};
    if (scopes == wider::never_fails)
      return {.changes = several(all, fails), .is_possible = true};
    for (emu::scope const far : {emu::scope::work_group, emu::scope::agent, emu::scope::system})
      if (auto const those = at_scope(all, far); !fails(those))
        return {.changes = several(those, fails), .is_possible = true};
  }
  return {};
}

std::vector<adjustment> narrow(std::vector<operation_site> const& sites, still_fails const& fails) {
  std::vector<adjustment> possible;
  bool const has_gpus =
      std::any_of(sites.begin(), sites.end(), [](auto const& s) { return s.is_gpus; });
  // The caches do not tell the scope of all hosts from that of everybody.
  auto const is_known = [&](adjustment const& a) {
    return !(has_gpus && a.at.is_hosts && a.far == emu::scope::agent && a.at.far != a.far);
  };
  for (operation_site const& s : sites)
    for (adjustment const& weaker : narrowed(s))
      if (is_known(weaker) && !fails({weaker}))
        possible.push_back(weaker);
  return possible;
}

} // namespace quarry
