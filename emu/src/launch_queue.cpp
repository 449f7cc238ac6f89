// SPDX-License-Identifier: Apache-2.0
#include "launch_queue.hpp"

#include "explore/explored_memory.hpp"

#include <quarry/emu/loaded_kernel.hpp>
#include <quarry/emu/signal.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace quarry::emu {
namespace {

/// `explore` gets to know what is allocated there, as it knows the agent's memory.
allocations& told(allocations& memory, executor const& scheduler) {
  memory.tell(explored_memory::of(scheduler));
  return memory;
}

} // namespace

launch_queue::launch_queue(agent_core& agent)
    : agent_(agent), queue_(told(memory_, agent.scheduler()), slots, {}, "launch queue"),
      processor_(agent, queue_, {}, [this](std::uint64_t object) { return take(object); }) {}

void launch_queue::submit(std::shared_ptr<launch_state> l) {
  launch_state& mine = *l;
  mine.completion = std::make_shared<signal>(memory_, 1, "launch signal");
  dispatch_packet p = packet_of(mine.config, {packet_type::kernel_dispatch}, mine.kernel);
  p.completion_signal = mine.completion->handle();
  processor_.await_end(mine);
  {
    std::lock_guard const lock(mutex_);
    p.kernel_object = ++last_submitted_;
    submitted_.emplace(p.kernel_object, std::move(l));
  }
  std::optional<fault> stuck;
  try {
    stuck = hand_over(p);
  } catch (abandoned) {
    return; // its kernel may run already: wait() ends it
  }
  if (!stuck)
    return;
  static_cast<void>(take(p.kernel_object));
  mine.fail(std::move(*stuck));
  agent_.with_host([&](auto const& host) { host.store(mine.completion->word(), -1); });
}

/// Natively one host at a time: nobody gives up between its reservation and its doorbell, for
/// which all others would wait for ever.
std::optional<fault> launch_queue::hand_over(packet const& p) {
  if (agent_.scheduler().decides()) // a lock would be held at decision points
    return processor_.submit(p).get_fault();
  basic_core<native_memory> const host({});
  for (;;) {
    {
      std::lock_guard const lock(producing_);
      if (auto const mine = queue_.try_reserve(host)) {
        host.store(queue_.slot(*mine), p);
        static_cast<void>(queue_.try_commit(host, *mine)); // it is its turn
        return std::nullopt;
      }
    }
    if (auto stuck = agent_.wait_until("wait for room in " + queue_.name(),
                                       [&] { return queue_.has_room(host); }))
      return stuck;
  }
}

outcome launch_queue::wait(launch_state& l) {
  try {
    await_end(l);
  } catch (abandoned) { // by a look at its signal: no launch outlives its host
    await_end(l);       // which throws once, and now does not wait
  }
  if (auto* const memory = explored_memory::of(agent_.scheduler()))
    memory->to_host(); // as after every launch
  return outcome(l.first_fault);
}

void launch_queue::await_end(launch_state& l) {
  // The host is asked whether it is over while others run: it is to be itself then.
  agent_.with_host([&](auto const& host) {
    while (std::optional<fault> const stuck =
               agent_.wait_until(l.kernel, [&] { return has_ended(host, l); }, l.config.where)) {
      bool const was_over = l.is_done();
      if (is_queued(l)) // no wavefront will begin
        agent_.stop(l, {stuck->what, l.kernel,
                        fmt::format("no core of the command processor comes to its packet\n{}\n{}",
                                    stuck->report, l.describe())});
      else if (!was_over)
        agent_.give_up(l);
      if (was_over || is_queued(l))
        break; // the core that should take note of it is stuck itself
    }
  });
}

bool launch_queue::has_ended(launch_state const& l) {
  return agent_.with_host([&](auto const& host) { return has_ended(host, l); });
}

template<class Host>
bool launch_queue::has_ended(Host const& host, launch_state const& l) {
  return host.load(l.completion->word(), order::acquire, scope::system) <= 0;
}

bool launch_queue::is_queued(launch_state const& l) {
  std::lock_guard const lock(mutex_);
  return std::ranges::any_of(submitted_, [&](auto const& s) { return s.second.get() == &l; });
}

std::optional<std::string> launch_queue::a_queued_kernel() {
  std::lock_guard const lock(mutex_);
  if (submitted_.empty())
    return std::nullopt;
  return submitted_.begin()->second->kernel;
}

std::shared_ptr<launch_state> launch_queue::take(std::uint64_t kernel_object) {
  std::lock_guard const lock(mutex_);
  auto const found = submitted_.extract(kernel_object);
  return found.empty() ? nullptr : std::move(found.mapped());
}

} // namespace quarry::emu
