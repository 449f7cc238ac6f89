// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/packet.hpp>
#include <quarry/emu/running_launches.hpp>
#include <quarry/emu/signal.hpp>
#include <quarry/emu/user_queue.hpp>
#include <quarry/task.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace quarry::emu {

/// The command processor's service for one user-mode queue: takes its packets in order and does
/// what they say.
///
/// Packets begin in their order; kernels of several overlap unless the barrier bit or a barrier
/// packet says otherwise. A packet ends with its release fence, and with its signal counted down.
/// A packet that cannot be done, or whose kernel had a fault, makes its signal -1; those after it
/// in the queue are not done any more, and their signals become -1 as well: nobody waits for ever.
/// Where several packets count in one signal, it is -1 as soon as one has failed: kernels of the
/// others may still run.
///
/// Source   HSA PRM 1.2 §2.9; design §6
class packet_processor final : private doorbell_listener {
public:
  using function = std::function<std::uint64_t(std::array<std::uint64_t, 4> const&)>;
  /// What service packets may call, by number; on the core's thread, so short.
  using functions = std::map<std::uint16_t, function>;
  /// Gives the launch that a kernel object names, once; null: it names a loaded kernel.
  using launches = std::function<std::shared_ptr<launch_state>(std::uint64_t kernel_object)>;

  /// Serves the queue from now on. Borrowed. A fault of one of the `prepared` launches stays its
  /// own.
  packet_processor(agent_core& gpu, user_queue& queue, functions known = {},
                   launches prepared = {});
  /// Kernels that it has started have ended then, or are given up: their signals are counted down
  /// no more. Packets that are in the queue, among them one that waits for others, stay there.
  ~packet_processor();

  /// On a host, without an actor: waits until the signal is 0 or negative, and runs whatever there
  /// is meanwhile.
  ///
  /// Errors   if the signal is negative, the queue's first fault, or bad_packet, if it was another
  ///          queue's packet that failed; a deadlock or a stall, if nobody can count it down
  outcome wait(signal& s);
  /// On a host: a packet of its own. Waits for room.
  ///
  /// Errors   a deadlock or a stall, if there is no room to come
  outcome submit(packet const& p);

  /// True if the caller runs on the core that takes the packets: none is taken while it waits.
  [[nodiscard]] bool is_here() const noexcept { return by_.is_here(core_); }
  [[nodiscard]] std::optional<fault> first_fault();
  /// The end of this launch, which a packet of the queue is going to start, is to wake the core.
  void await_end(launch_state& l) const noexcept;

  // A service

  template<class Core>
  task<bool> poll(Core& self);
  template<class Core>
  [[nodiscard]] bool has_work(Core& self);
  [[nodiscard]] bool may_sleep() const noexcept { return !is_blocked_; }
  [[nodiscard]] std::string const& name() const noexcept { return queue_.name(); }

private:
  /// What is to be done when the kernel that a packet has started has ended.
  struct packet_end {
    fence_scope release;
    std::uint64_t signal;
    std::uint64_t number; ///< the packet's
    bool was_prepared = false;
  };

  void rang() noexcept override { by_.wake(core_); }
  template<class Core>
  bool finish_dispatches(Core& self);
  template<class Core>
  bool take_packet(Core& self);
  template<class Core>
  [[nodiscard]] bool is_due(Core& self, packet const& p);
  template<class Core>
  [[nodiscard]] bool is_over(Core& self, barrier_packet const& p, bool all);
  void hold_up(bool holds);
  /// A line about the packet that waits for what is before it; empty if there is none.
  [[nodiscard]] std::string what_is_held_up();
  void tell_what_is_held_up(fault& f);
  [[nodiscard]] std::string place_of(std::uint64_t handle) const;
  template<class Core>
  void do_packet(Core& self, packet const& p);
  template<class Core>
  void call(Core& self, service_packet const& p);
  template<class Core>
  void complete(Core& self, packet_end const& e, bool good);
  void check(barrier_packet const& p) const;
  /// False: a prepared launch has failed for want of memory.
  [[nodiscard]] bool start(dispatch_packet const& p, packet_header h);
  [[nodiscard]] bool is_word(std::uint64_t address) const noexcept;
  void leave_queue();
  void blame(fault f);
  void note(fault f);

  agent_core& agent_;
  user_queue& queue_;
  functions functions_;
  launches prepared_;
  command_processor& by_;
  std::uint32_t const core_; ///< that serves
  std::uint64_t number_ = 0; ///< of the packet taken last
  running_launches<packet_end> running_;
  packet next_; ///< read already, waits for what is before it
  bool is_blocked_ = false;
  bool depends_on_failed_ = false; ///< next_ does, on a signal, as is_over() has looked last
  std::mutex mutex_;               ///< guards first_fault_ and is_held_up_
  std::optional<fault> first_fault_;
  bool is_held_up_ = false; ///< next_ waits, and stays as it is: for reports
  bool has_failed_ = false; ///< the core's own view of it
  debug_queue debug_;
  std::optional<command_processor::serving> serving_;
};

} // namespace quarry::emu
