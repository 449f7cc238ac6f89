// SPDX-License-Identifier: Apache-2.0
#include "thrown_exceptions.hpp"

#include <algorithm>

namespace quarry::emu {
namespace {

template<class Condition>
thrown_exceptions::entry const* first(std::vector<thrown_exceptions::entry> const& all,
                                      Condition is_meant) noexcept {
  auto const i = std::find_if(all.begin(), all.end(), is_meant);
  return i == all.end() ? nullptr : &*i;
}

} // namespace

void thrown_exceptions::hear(std::exception_ptr const& what) noexcept {
  for (entry& e : all_)
    e.is_heard = e.is_heard || e.what == what;
}

thrown_exceptions::entry const*
thrown_exceptions::find(std::exception_ptr const& what) const noexcept {
  return first(all_, [&](entry const& e) { return e.what == what; });
}

thrown_exceptions::entry const*
thrown_exceptions::first_unheard(bool with_children) const noexcept {
  return first(all_, [&](entry const& e) { return !e.is_heard && (with_children || !e.is_child); });
}

} // namespace quarry::emu
