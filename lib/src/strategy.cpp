// SPDX-License-Identifier: Apache-2.0
#include <quarry/boring.hpp>
#include <quarry/bytes.hpp>
#include <quarry/replay.hpp>
#include <quarry/strategy.hpp>
#include <quarry/swarm.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

namespace quarry {

static_assert(strategy<boring>);
static_assert(strategy<any_strategy>);

namespace {

template<strategy S, class... Arguments>
any_strategy make(Arguments&&... arguments) {
  return any_strategy(std::in_place_type<S>, std::forward<Arguments>(arguments)...);
}

error refusal(std::string what) {
  return {std::make_error_code(std::errc::invalid_argument), std::move(what)};
}

} // namespace

result<any_strategy> make_strategy(std::string_view name, strategy_options o) {
  try {
    if (name == swarm::name())
      return make<swarm>();
    if (name == random_walk::name())
      return make<random_walk>(o.rates);
    if (name == pct::name())
      return make<pct>(o.pct);
    if (name == replay::name())
      return make<replay>(std::move(o.recorded));
    if (name == bytes::name())
      return make<bytes>(o.bytes);
    if (name == boring::name())
      return make<boring>();
  } catch (std::invalid_argument const& e) {
    return refusal(e.what());
  }
  return refusal(fmt::format("there is no strategy '{}': swarm, random_walk, pct, replay, bytes "
                             "and boring are known",
                             name));
}

} // namespace quarry
