// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::emu {

class launch_queue;

/// How launches come from hosts to the compute units.
enum class launch_path : std::uint8_t {
  /// By packets; straight where a scheduler decides, for which each word of a packet is a decision.
  automatic,
  packets,  ///< by a queue of the agent's own, through a core of the command processor
  straight, ///< the host's thread hands them to the compute units
};

/// The part of an agent that is no template: its compute units, its launches, its memory's bounds.
class agent_core {
public:
  /// Errors   std::invalid_argument – a machine that cannot exist, naming the number and the limits
  agent_core(executor& scheduler, machine const& m, bool checks_bounds,
             launch_path launches = launch_path::automatic);
  agent_core(agent_core const&) = delete;
  agent_core& operator=(agent_core const&) = delete;
  /// The process ends if a launch runs, or has not begun, or a service of the command processor is
  /// left; of an explored execution such a launch is a finding.
  ~agent_core();

  /// Completes and checks a launch's shape. For a host, see leave_if_abandoned().
  ///
  /// Errors   std::invalid_argument; std::logic_error – sequential_scheduler::need_own_thread()
  void prepare(launch_state& l) const;
  /// Launches what is prepared, by the agent's path; join() must follow.
  void launch(std::shared_ptr<launch_state> l, native_scheduler::wake_workers wake);
  /// Runs compute units until it has ended, faults included. For a host, see leave_if_abandoned().
  outcome join(launch_state& l);
  /// The same where nobody may throw.
  void join_quietly(launch_state& l) noexcept;
  /// True when join() would return at once.
  [[nodiscard]] bool has_ended(launch_state const& l);

  /// Hands a prepared launch to the compute units; it must be waited for before it is destroyed. If
  /// this throws it has not begun; where its groups find no places, for want of memory, it has
  /// failed.
  void start(launch_state& l, native_scheduler::wake_workers wake);
  /// Runs compute units until a launch that was started has ended.
  outcome wait(launch_state& l);
  /// Forgets a launch that has ended. `by_core`: a core of the command processor sees that it has.
  void retire(launch_state& l, bool by_core = false);
  /// Ends a launch that runs, with this fault. From any actor.
  void stop(launch_state& l, fault f);
  /// The same where nobody can go on: the fault says who waits for what. Nothing if it ends
  /// meanwhile.
  void give_up(launch_state& l);
  /// Runs whatever there is until `is_over()`; otherwise what says that it cannot come to that.
  template<class F>
  [[nodiscard]] std::optional<fault>
  wait_until(std::string_view what, F const& is_over,
             std::source_location where = std::source_location::current()) {
    if (run_until_settled([](void const* f) -> bool { return (*static_cast<F const*>(f))(); },
                          &is_over, where))
      return std::nullopt;
    fault f = stuck(what);
    if (native_ != nullptr && is_over()) // meanwhile: the report waits for those that are busy
      return std::nullopt;
    return f;
  }
  /// What says that `what` is waited for in vain, and who waits for what.
  [[nodiscard]] fault stuck(std::string_view what);
  /// Throws `abandoned` where the execution has been given up while a host waited, which would
  /// never come to an end by trying again: nobody runs any more, and it comes to no decision
  /// points. Not while the host unwinds.
  void leave_if_abandoned() const;
  /// f(core): the calling host's own way to memory.
  template<class F>
  decltype(auto) with_host(F const& f) {
    if (actor* const self = exploring_host())
      return f(basic_core<interleaving_memory>({self, &scheduler_, nullptr}));
    return f(basic_core<native_memory>({}));
  }

  [[nodiscard]] command_processor& processor();
  // Which kernels packets may name

  /// Gives its number, which no other one has had.
  [[nodiscard]] std::uint64_t note_loaded(kernel_code const& code);
  void note_unloaded(std::uint64_t kernel_object) noexcept;
  [[nodiscard]] std::optional<kernel_code> find_loaded(std::uint64_t kernel_object);

  // For debuggers: user-mode queues that its command processor serves
  [[nodiscard]] debug_agent const& debug_entry() const noexcept { return debug_; }
  void add_queue(debug_queue& q);
  void remove_queue(debug_queue& q) noexcept;

  /// Deterministic schedulers: whether there is, or has been, a wavefront of that address.
  [[nodiscard]] bool has_wave(std::uint64_t address) const noexcept;
  [[nodiscard]] executor& scheduler() const noexcept { return scheduler_; }
  [[nodiscard]] machine const& shape() const noexcept { return machine_; }
  [[nodiscard]] bool checks_bounds() const noexcept { return checks_bounds_; }
  [[nodiscard]] allocations& known() noexcept { return known_; }
  [[nodiscard]] allocations const& known() const noexcept { return known_; }
  [[nodiscard]] std::uint32_t compute_unit_count() const noexcept { return machine_.compute_units; }

private:
  friend class compute_unit;
  /// For its end, and for who sees to what a fault has left behind.
  outcome wait_for_all_of(launch_state& l);
  compute_unit::placed for_each_launch(compute_unit& by);
  [[nodiscard]] bool has_unclaimed();
  void need_no_launches();
  void find_launches();
  [[nodiscard]] std::optional<std::string> a_launch();
  void wake_units();
  /// Deterministic schedulers: places as many groups as fit, and makes their wavefronts ready.
  void place_everywhere();
  void place(std::uint64_t groups, bool is_alone, native_scheduler::wake_workers wake);
  void forget(launch_state& l);
  void evict_everywhere(launch_state& l);
  void let_go(wave_slot& w);
  [[nodiscard]] launch_queue& launches_by_packets();
  [[nodiscard]] bool run_until_settled(bool (*is_over)(void const*), void const* argument,
                                       std::source_location where);
  [[nodiscard]] actor* exploring_host() const noexcept;

  executor& scheduler_;
  native_scheduler* native_;         ///< scheduler_, if it is native
  sequential_scheduler* sequential_; ///< scheduler_, if it is sequential
  machine machine_;
  bool checks_bounds_;
  bool is_launched_by_packets_;
  allocations known_;
  std::mutex mutex_; ///< guards launches_, loaded_ and debug_
  debug_agent debug_;
  std::vector<launch_state*> launches_;
  std::map<std::uint64_t, kernel_code> loaded_; ///< by number
  std::uint64_t last_loaded_ = 0;
  /// Last, so first to go: a unit may still look for launches while another one is destroyed.
  std::vector<std::unique_ptr<compute_unit>> units_;
  std::size_t next_unit_ = 0; ///< gets the next group, if a deterministic scheduler places it
  std::unique_ptr<command_processor> processor_; ///< once somebody asks for it
  std::once_flag has_launch_queue_;
  std::unique_ptr<launch_queue> launch_queue_; ///< once there is a launch for it
};

} // namespace quarry::emu
