// SPDX-License-Identifier: Apache-2.0
#include <quarry/actor.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/strand.hpp>

namespace quarry {

actor::~actor() = default;

void actor::tell_all() noexcept {
  home->owner().tell_all(*this);
}

void actor::decide() {
  home->owner().decision_point(*this);
}

} // namespace quarry
