// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/allocations.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/packet_processor.hpp>
#include <quarry/emu/user_queue.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace quarry::emu {

/// The way of agent::launch: a user-mode queue of the agent's own. Hosts put a dispatch packet into
/// it for each launch, a core of the command processor starts them in that order, whichever host
/// they are from, and counts their signals down when they have ended.
///
/// Unlike those of other queues, its packets name launches that have been prepared, and a fault in
/// one launch is no business of the next one.
class launch_queue {
public:
  explicit launch_queue(agent_core& agent);

  /// True if the caller runs on the core that takes the packets: it starts its launches itself.
  [[nodiscard]] bool is_here() const noexcept { return processor_.is_here(); }
  /// Hands a prepared launch over. Waits for room; if there is none to come, the launch has ended
  /// with that fault.
  void submit(std::shared_ptr<launch_state> l);
  /// Runs whatever there is until the launch's signal is counted down. One whose wavefronts cannot
  /// go on is given up.
  outcome wait(launch_state& l);
  /// The kernel of a launch that nobody has taken yet, if there is one.
  [[nodiscard]] std::optional<std::string> a_queued_kernel();
  /// True when wait() would return at once.
  [[nodiscard]] bool has_ended(launch_state const& l);

private:
  template<class Host>
  [[nodiscard]] static bool has_ended(Host const& host, launch_state const& l);
  [[nodiscard]] std::optional<fault> hand_over(packet const& p);
  void await_end(launch_state& l);
  [[nodiscard]] std::shared_ptr<launch_state> take(std::uint64_t kernel_object);
  [[nodiscard]] bool is_queued(launch_state const& l);

  static constexpr std::uint32_t slots = 64;

  agent_core& agent_;
  allocations memory_; ///< the queue's own: no kernel may touch it, no report of one names it
  user_queue queue_;
  std::mutex producing_; ///< natively: guards its producers' side
  std::mutex mutex_;     ///< guards what follows
  std::uint64_t last_submitted_ = 0;
  /// By kernel object: their numbers, in the order of their submission.
  std::map<std::uint64_t, std::shared_ptr<launch_state>> submitted_;
  packet_processor processor_; ///< last, so first to go: it takes from submitted_
};

} // namespace quarry::emu
