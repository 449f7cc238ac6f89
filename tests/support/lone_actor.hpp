// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/task.hpp>

#include <string>
#include <utility>

namespace quarry_test {

/// An actor without strand and scheduler, resumed by hand.
class lone_actor final : public quarry::actor {
public:
  std::string name() const override { return "lone"; }
  void on_done() noexcept override {}
};

/// Runs a task that suspends only for a moment, if at all.
template<class T>
T run_alone(quarry::task<T> root) {
  lone_actor a;
  root.start_on(a);
  while (a.state != quarry::actor_state::done)
    a.resume();
  return std::move(root).result();
}

} // namespace quarry_test
