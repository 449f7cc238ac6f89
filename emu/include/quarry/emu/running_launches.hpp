// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/launch_state.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace quarry::emu {

/// Launches that a service of the command processor has started, each with a note of its own, until
/// the service has taken note of their end. Belongs to the core that polls the service.
///
/// On destruction those that still run are waited for, or given up: when nobody goes on all that
/// have their places, and the second time all others, which that has not helped.
template<class Note>
class running_launches {
public:
  explicit running_launches(agent_core& gpu) noexcept : agent_(gpu) {}
  running_launches(running_launches const&) = delete;
  running_launches& operator=(running_launches const&) = delete;
  ~running_launches() {
    int in_vain = 0;
    for (entry const& e : running_) {
      outcome const end = agent_.wait(*e.launch);
      if (auto const& f = end.get_fault(); f && nobody_goes_on(f->what))
        stop(*f, ++in_vain > 1); // natively each would be waited for until a stall of its own
    }
  }

  /// Starts a prepared launch. If it throws, that has not begun.
  void start(std::shared_ptr<launch_state> l, Note note) {
    running_.push_back({std::move(l), std::move(note)});
    launch_state& started = *running_.back().launch;
    // The thread that runs the core goes on with a single group itself.
    try {
      agent_.start(started, started.group_count == 1 ? native_scheduler::wake_workers::no
                                                     : native_scheduler::wake_workers::yes);
    } catch (...) {
      running_.pop_back();
      throw;
    }
  }
  /// Ends them all, with this fault; or those only of which no group waits for its place.
  void stop(fault const& f, bool all = true) {
    for (entry const& e : running_)
      if (!e.launch->is_done() && (all || e.launch->unclaimed_count() == 0))
        agent_.stop(*e.launch, f);
  }
  [[nodiscard]] bool is_empty() const noexcept { return running_.empty(); }
  [[nodiscard]] bool any_ended() const {
    return std::any_of(running_.begin(), running_.end(),
                       [](entry const& e) { return e.launch->is_done(); });
  }
  /// finished(launch, note) for each that has ended, which is forgotten then. True if any has.
  template<class F>
  bool finish(F const& finished) {
    auto const ended = std::partition(running_.begin(), running_.end(),
                                      [](entry const& e) { return !e.launch->is_done(); });
    bool const any = ended != running_.end();
    for (auto e = ended; e != running_.end(); ++e) {
      agent_.retire(*e->launch, true);
      finished(std::as_const(*e->launch), std::as_const(e->note));
    }
    running_.erase(ended, running_.end());
    return any;
  }

private:
  [[nodiscard]] static bool nobody_goes_on(fault::kind k) noexcept {
    return k == fault::kind::deadlock || k == fault::kind::not_resident || k == fault::kind::stall;
  }
  struct entry {
    std::shared_ptr<launch_state> launch;
    Note note;
  };
  agent_core& agent_;
  std::vector<entry> running_;
};

} // namespace quarry::emu
