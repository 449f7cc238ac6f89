// SPDX-License-Identifier: Apache-2.0
#include "cache_machine.hpp"

#include <quarry/litmus/search.hpp>

namespace quarry::litmus {

static_assert(memory_machine<emu::cache_machine>);

std::string_view to_string(verdict v) {
  switch (v) {
  case verdict::allowed:
    return "allowed";
  case verdict::forbidden:
    return "forbidden";
  case verdict::inconclusive:
    return "inconclusive";
  case verdict::no_end:
    break;
  }
  return "no end";
}

search_result explore(test const& t, exhaustive_search::limits most,
                      std::atomic<bool> const* interrupted) {
  return explore_on<emu::cache_machine>(t, most, interrupted);
}

} // namespace quarry::litmus
