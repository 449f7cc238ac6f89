// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/operation_site.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace quarry::emu {
namespace {

/// What an operation of a kind can have, and how strong each is.
struct graded {
  order how;
  int strength;
};

std::span<graded const> orders_of(operation_kind k) noexcept {
  static constexpr graded load[] = {{order::relaxed, 0}, {order::acquire, 1}, {order::seq_cst, 3}};
  static constexpr graded store[] = {{order::relaxed, 0}, {order::release, 1}, {order::seq_cst, 3}};
  static constexpr graded update[] = {{order::relaxed, 0},
                                      {order::acquire, 1},
                                      {order::release, 1},
                                      {order::acq_rel, 2},
                                      {order::seq_cst, 3}};
  static constexpr graded fence[] = {
      {order::acquire, 1}, {order::release, 1}, {order::acq_rel, 2}, {order::seq_cst, 3}};
  static constexpr graded remote[] = {{order::release, 1}, {order::seq_cst, 3}};
  static constexpr graded collective[] = {{order::seq_cst, 3}};
  switch (k) {
  case operation_kind::load:
    return load;
  case operation_kind::store:
    return store;
  case operation_kind::update:
    return update;
  case operation_kind::fence:
    return fence;
  case operation_kind::remote:
    return remote;
  case operation_kind::collective:
    return collective;
  }
  return {};
}

bool has(order o, order side) noexcept {
  return o == side || o == order::acq_rel || o == order::seq_cst;
}

/// -1: plain.
int strength(operation_kind k, std::optional<order> o) noexcept {
  if (!o)
    return -1;
  for (graded const g : orders_of(k))
    if (g.how == effective(k, *o))
      return g.strength;
  return 0;
}

bool is_as_strong(order a, order than) noexcept {
  return (!has(than, order::acquire) || has(a, order::acquire)) &&
         (!has(than, order::release) || has(a, order::release));
}

constexpr scope scopes[] = {scope::work_group, scope::agent, scope::system};

std::string_view name_of(operation_kind k) noexcept {
  constexpr std::string_view names[] = {
      "load", "store", "update", "fence", "remote operation", "collective operation"};
  return names[static_cast<std::size_t>(k)];
}

std::string manner(std::optional<order> o, scope s) {
  return o ? fmt::format("{} {}", to_string(*o), to_string(s)) : std::string("plain");
}

} // namespace

order effective(operation_kind k, order o) noexcept {
  if (o == order::seq_cst || k == operation_kind::update || k == operation_kind::fence)
    return o;
  order const side = k == operation_kind::load ? order::acquire : order::release;
  return has(o, side) ? side : order::relaxed;
}

adjustment strongest(operation_site const& s) {
  bool const may_wait = s.what != operation_kind::remote || s.is_hosts;
  return {s, may_wait ? order::seq_cst : order::release, scope::system};
}

int cost_of(adjustment const& a) noexcept {
  operation_site const& s = a.at;
  auto const near = static_cast<int>(s.how ? s.far : scopes[0]); // a plain access has no scope
  return strength(s.what, a.how) - strength(s.what, s.how) + static_cast<int>(a.far) - near;
}

std::vector<adjustment> strengthened(operation_site const& s) {
  std::vector<adjustment> all;
  for (graded const g : orders_of(s.what))
    if (g.strength >= strength(s.what, s.how) && is_as_strong(strongest(s).how, g.how) &&
        (!s.how || is_as_strong(g.how, effective(s.what, *s.how))))
      for (scope const far : scopes)
        if (adjustment const a{s, g.how, far}; far >= s.far && cost_of(a) > 0)
          all.push_back(a);
  std::vector<adjustment> sorted;
  for (int cost = 1; sorted.size() < all.size(); ++cost)
    std::ranges::copy_if(all, std::back_inserter(sorted),
                         [cost](adjustment const& a) { return cost_of(a) == cost; });
  return sorted;
}

std::vector<adjustment> narrowed(operation_site const& s) {
  std::vector<adjustment> all;
  if (!s.how)
    return all;
  order const how = effective(s.what, *s.how);
  int const before = strength(s.what, s.how);
  int next = -1;
  for (graded const g : orders_of(s.what))
    if (g.strength < before && is_as_strong(how, g.how))
      next = std::max(next, g.strength);
  for (graded const g : orders_of(s.what))
    if (g.strength == next && g.strength < before && is_as_strong(how, g.how))
      all.push_back({s, g.how, s.far});
  for (std::size_t i = 1; i < std::size(scopes); ++i)
    if (scopes[i] == s.far)
      all.push_back({s, *s.how, scopes[i - 1]});
  return all;
}

std::string to_string(operation_site const& s) {
  if (s.is_of_network())
    return fmt::format("{} {}", quarry::to_string(s.where), name_of(s.what));
  return fmt::format("{} {} {}", quarry::to_string(s.where), name_of(s.what), manner(s.how, s.far));
}

std::string to_string(adjustment const& a) {
  if (a.at.is_of_network())
    return fmt::format("{} -> with a {} before it", to_string(a.at),
                       a.how == order::seq_cst ? "quiet() of every context" : "fence()");
  return fmt::format("{} -> {}", to_string(a.at), manner(a.how, a.far));
}

} // namespace quarry::emu
