// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/grid.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/fiber.hpp>
#include <quarry/strand.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <source_location>
#include <vector>

namespace quarry::emu {

class agent_core;

/// One compute unit: a strand that runs the wavefronts of its resident work-groups.
///
/// A group is resident as a whole or not at all: it needs a slot for each wavefront, and its LDS.
/// One group runs until none of its wavefronts is ready; then those that poll are asked; then
/// another group is placed, until the slots are full (thesis §2.2; design §2 and §3). Groups of a
/// plain kernel, which never waits, are resident one after the other.
class compute_unit final : public strand {
public:
  compute_unit(agent_core& agent, executor& executor, machine const& m, std::uint32_t number);
  ~compute_unit() override;

  turn drain() override;
  void describe(report& into) const override;

  /// Deterministic schedulers: a wavefront has ended.
  void wave_done(wave_slot& w) noexcept;
  /// Deterministic schedulers: looks for groups whose wavefronts wait for each other for ever. True
  /// if something can go on afterwards.
  bool settle_groups();

  /// Ends the resident groups of a failed launch, and counts them as finished.
  void evict(launch_state& l);

  // Wavefront yield (thesis §4.4, Figure 4-11). On the unit's strand, but for restart().

  /// A restart context for this wavefront will be written: the ticket that it has to name.
  [[nodiscard]] std::uint32_t begin_yield(wave_slot& w);
  /// The wavefront waits and gives up its slot; its group keeps its LDS. False if it has been
  /// restarted already: it goes on. From await_suspend() only.
  [[nodiscard]] bool give_up_slot(wave_slot& w, std::source_location where, void const* on);
  /// Deterministic schedulers: whether there is, or has been, a wavefront of that address here.
  [[nodiscard]] bool has(std::uint64_t wave) const noexcept;
  /// The wavefront goes on as soon as there is a slot for it here. From any thread; nothing happens
  /// if the ticket is not valid any more, because the wavefront was evicted.
  void restart(wave_slot& w, std::uint32_t ticket);
  /// It has been restarted: itself, or null if there is no slot yet.
  [[nodiscard]] actor* come_back(wave_slot& w) noexcept;

  /// Fibers for plain item functions that may block.
  [[nodiscard]] fiber_pool& fibers() noexcept { return fibers_; }
  /// Room for the lanes of an item kernel's wavefront, reused.
  [[nodiscard]] std::unique_ptr<lane_slot[]> take_lanes();
  void give_lanes(std::unique_ptr<lane_slot[]> lanes);
  /// The same of lanes that did not come to their ends: nobody has them before the wake-ups that
  /// are in the inbox have come.
  void give_abandoned_lanes(std::unique_ptr<lane_slot[]> lanes);

private:
  friend class agent_core;
  enum class placed : std::uint8_t { yes, no_room, nothing_left };
  placed place_one();
  placed place_from(launch_state& l);
  void enter(work_group& g, launch_state& l);
  void reshape(work_group& g, extent size);
  work_group& idle_group();
  static void start(wave_slot& w) noexcept;
  void start_now(wave_slot& w);
  void run_ready(work_group& g);
  void run_plain(work_group& g);
  void run_claimed();
  void end_wave(work_group& g, wave_slot& w);
  void deliver_fault(work_group& g, wave_slot& w);
  bool ask_the_polling();
  void take_woken();
  [[nodiscard]] static bool has_yielded(work_group const& g) noexcept;
  bool run_resident();
  inline bool has_failed_to_settle(work_group& g);
  bool let_others_in();
  [[nodiscard]] bool must_look_again() const;
  void leave(std::size_t position);
  void count_ended(launch_state& l);
  void report_ended();
  void give_claims_back();
  [[nodiscard]] bool has_room(launch_state const& l) const noexcept;
  [[nodiscard]] static bool may_all_meet(launch_state const& l) noexcept;
  [[nodiscard]] std::uint64_t room_for(launch_state const& l) const noexcept;
  void enter_again(wave_slot& w);
  void park(std::size_t position);
  void evict_failed_parked();
  void void_tickets(launch_state const& l);
  void drop(work_group& g);

  struct claimed {
    launch_state* launch = nullptr;
    group_range range;
    extent id; ///< of range.first
  };
  /// Groups that have ended and that the launch has not been told of: an atomic operation for many.
  struct ended {
    launch_state* launch = nullptr;
    std::uint64_t count = 0;
  };

  agent_core& agent_;
  bool const decides_; ///< the scheduler does, slice by slice
  std::uint32_t const wavefront_size_;
  std::uint32_t free_slots_;
  std::uint32_t free_lds_;
  claimed claimed_;
  ended ended_;
  int turn_left_ = 0;  ///< what the present turn may still run
  int busy_turns_ = 0; ///< since the last time that no group was resident
  fiber_pool fibers_;
  std::vector<std::unique_ptr<lane_slot[]>> idle_lanes_;
  std::vector<std::unique_ptr<lane_slot[]>> leaving_lanes_; ///< one may still be in the inbox
  std::mutex yield_mutex_;            ///< guards yields and yield_ticket of the unit's wavefronts
  std::deque<wave_slot*> returning_;  ///< restarted, but there was no slot
  std::vector<work_group*> parked_;   ///< `native`: groups of which nothing can run
  std::vector<work_group*> resident_; ///< in the order in which they run
  std::vector<std::unique_ptr<work_group>> pool_; ///< all groups ever made here
  std::vector<work_group*> idle_;                 ///< those that are not resident
  debug_unit debug_;                              ///< lists the same as pool_
};

} // namespace quarry::emu
