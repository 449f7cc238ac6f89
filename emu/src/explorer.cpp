// SPDX-License-Identifier: Apache-2.0
// A world's own operations, and one execution of it.
#include "explorer.hpp"

#include <fmt/core.h>

#include <exception>
#include <utility>

namespace quarry {

executor& world::scheduler() noexcept {
  return implementation_.scheduler_;
}
world_core& world::host() noexcept {
  return implementation_.host_;
}
emu::allocations& world::known() noexcept {
  return implementation_.known_;
}
void world::start(std::string name, std::function<void(world_core&)> body) {
  implementation_.threads_.start(std::move(name), std::move(body));
}
void world::start_task(std::string name, std::function<task<>(world_core&)> body) {
  implementation_.threads_.start(std::move(name), std::move(body));
}
void world::join(std::source_location where) {
  implementation_.threads_.join(where);
  implementation_.memory_.to_host();
}
void world::check(bool holds, std::string_view what, std::source_location where) {
  if (!holds)
    implementation_.memory_.found(
        {"check", to_string(where), fmt::format("{}: {}\n", to_string(where), what)});
}

explorer::explorer(explore_options const& o, std::function<void(world&)> const& f)
    : function_(f), scheduler_({.most_decisions = o.most_decisions,
                                .when_nobody_can = [this] { return memory_.settle(); }}),
      memory_(scheduler_, {.detects_races = o.detects_races, .direct_lint = o.direct_lint}),
      threads_(scheduler_, memory_) {}

explorer::result explorer::run(chooser& choices, bool keeps_history) {
  scheduler_.begin(choices);
  memory_.begin(choices, keeps_history);
  try {
    scheduler_.run([&] {
      world::implementation parts(scheduler_, memory_, threads_);
      world w(parts);
      function_(w);
    });
  } catch (stall_error const& e) {
    memory_.found({"deadlock", "", e.what()});
  } catch (std::exception const& e) {
    memory_.found({"exception", "", e.what()});
  }
  return {memory_.first_finding(), scheduler_.is_out_of_decisions(), memory_.history()};
}

} // namespace quarry
