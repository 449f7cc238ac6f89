// SPDX-License-Identifier: Apache-2.0
#include "weakening_table.hpp"

#include "exit_status.hpp"
#include "output/standard_output.hpp"
#include "processes/interrupt.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace quarry::command {
namespace {

using exploration::target;
using exploration::weakening;
using nlohmann::ordered_json;

constexpr int unnoticed = 1; ///< exit status

std::uint64_t quantile(std::vector<std::uint64_t> const& sorted, double q) {
  auto const place = std::llround(q * static_cast<double>(sorted.size() - 1));
  return sorted[static_cast<std::size_t>(place)];
}

/// How a weakening was found, from several seeds.
struct noticed {
  std::vector<std::uint64_t> needed; ///< executions, ascending; one for each seed that found it
  std::string kinds;
  [[nodiscard]] bool always(std::uint64_t runs) const { return needed.size() == runs; }
};

noticed look_for(weakening const& w, weakening_search const& how) {
  noticed found;
  for (std::uint64_t run = 0; run < how.runs && !interrupt::is_wanted(); ++run) {
    explore_options options = how.options;
    options.shrinks = options.diagnoses = false;
    options.keeps_failures = false;
    options.seed += run * 1'000'000'007;
    verdict const v = how.explore(&w, options);
    if (!v.divergence.empty()) // Quarry's own worlds keep nothing
      throw std::logic_error(v.name + ": " + v.divergence);
    if (!v.failure)
      continue;
    found.needed.push_back(v.failure->execution);
    if (found.kinds.find(v.failure->kind) == std::string::npos)
      found.kinds += (found.kinds.empty() ? "" : ", ") + v.failure->kind;
  }
  std::sort(found.needed.begin(), found.needed.end());
  return found;
}

bool is_indistinguishable(target const& t, weakening const& w) {
  auto const& listed = t.indistinguishable;
  return std::find(listed.begin(), listed.end(), w.name()) != listed.end();
}

void add_row(weakening const& w, noticed const& found, target const& t, weakening_search const& how,
             ordered_json& rows) {
  ordered_json row{{"target", t.name},
                   {"weakened", w.name()},
                   {"runs", how.runs},
                   {"executions", how.options.executions},
                   {"found", found.needed.size()},
                   {"as", found.kinds}};
  if (!found.needed.empty()) {
    row["median"] = quantile(found.needed, 0.5);
    row["p90"] = quantile(found.needed, 0.9);
  }
  if (is_indistinguishable(t, w))
    row["indistinguishable"] = true;
  rows.push_back(row);
  print(found.needed.empty()
            ? fmt::format("{:<62} {:<20} {:>5}\n", w.name(), "not by itself", 0)
            : fmt::format("{:<62} {:<20} {:>5} {:>8} {:>8}\n", w.name(), found.kinds,
                          found.needed.size(), quantile(found.needed, 0.5),
                          quantile(found.needed, 0.9)));
}

/// The first of the others together with which it is always noticed, from one seed first. False if
/// there is none.
bool add_together(weakening const& w, std::vector<weakening> const& others, target const& t,
                  weakening_search const& how, ordered_json& rows) {
  weakening_search once = how;
  once.runs = 1;
  for (weakening const& other : others) {
    weakening both = w;
    both.also = &other;
    if (other.entry == w.entry || !look_for(both, once).always(1))
      continue;
    auto const found = look_for(both, how);
    if (interrupt::is_wanted())
      return false;
    add_row(both, found, t, how, rows);
    return found.always(how.runs);
  }
  return false;
}

} // namespace

int weaken_all(target const& t, weakening_search const& how, ordered_json& rows) {
  if (t.weakenings.empty())
    throw std::invalid_argument(t.name + " has nothing that can be weakened; quarry explore --list "
                                         "names what can be");
  print(fmt::format("{:<62} {:<20} {:>5} {:>8} {:>8}  {}\n", "weakened", "found as", "found",
                    "median", "p90", "in executions"));
  std::vector<weakening> alone; // those that nobody notices
  for (weakening const& w : t.weakenings) {
    auto const found = look_for(w, how);
    if (interrupt::is_wanted())
      return interrupt::exit_status();
    add_row(w, found, t, how, rows);
    if (!found.always(how.runs))
      alone.push_back(w);
  }
  int status = 0;
  for (weakening const& w : alone) {
    bool const is_listed = is_indistinguishable(t, w);
    if (is_listed)
      print(fmt::format("{:<62} indistinguishable: other entries order the same\n", w.name()));
    bool const is_noticed = add_together(w, alone, t, how, rows);
    if (interrupt::is_wanted())
      return status == unnoticed ? unnoticed : interrupt::exit_status();
    if (!is_listed && !is_noticed)
      status = unnoticed;
  }
  return status;
}

} // namespace quarry::command
