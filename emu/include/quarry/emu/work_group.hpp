// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/task.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <typeinfo>
#include <vector>

namespace quarry::emu {

class item_lanes;
class work_group;

/// How far a wavefront is in giving up its slot (thesis §4.4): it has asked for a restart, has no
/// slot any more, may have one again.
enum class yield_state : std::uint8_t { none, asked, parked, restarted };

/// One wavefront while it is resident: an actor, with room for what its kernel sees of it.
class wave_slot final : public actor {
public:
  [[nodiscard]] std::string name() const override;
  void on_done() noexcept override;
  [[nodiscard]] actor* on_ready() noexcept override;
  [[nodiscard]] memory_context context() noexcept;

  /// Nothing of the last wavefront here is left: a kernel is about to be called.
  QUARRY_ALWAYS_INLINE void begin() noexcept {
    lds_used = 0;
    fine_grain_barriers_used = 0;
    is_abandoned = false;
    failed_lane = -1;
  }

  work_group* group = nullptr;
  std::uint32_t index = 0;    ///< in the group
  lane_mask items;            ///< lanes that have a work-item
  std::uint32_t lds_used = 0; ///< bytes that this wavefront has named so far
  std::uint32_t fine_grain_barriers_used = 0;
  // Wavefront yield; guarded by its compute unit
  yield_state yields = yield_state::none;
  std::uint32_t yield_ticket = 0; ///< which of its restart contexts is valid
  cache_port* port = nullptr;     ///< when the execution is explored
  item_lanes* lanes = nullptr;    ///< of an item kernel that runs; for debuggers
  int failed_lane = -1; ///< of an item kernel: whose work-item threw `error`; -1: the wavefront
  task<> root;
  /// The basic_wavefront<M, Size> that the kernel works with lives here.
  static constexpr std::size_t storage_bytes = 192;
  alignas(64) std::array<std::byte, storage_bytes> storage;
};

/// What wavefronts of a group meet in. Two that wait in different ones never meet.
///
/// In diverged control flow, of several meetings at one source line the first of this list goes
/// first: an operation made of a prefix sum, a broadcast and a barrier (work_group_queue::push) is
/// over before wavefronts that come to it later begin it.
enum class meeting : std::uint8_t { barrier, broadcast, reduce, prefix_sum };
inline constexpr std::array<char const*, 4> meeting_names{
    "barrier", "work-group broadcast", "work-group reduce", "work-group prefix sum"};
[[nodiscard]] constexpr char const* to_string(meeting m) noexcept {
  return meeting_names[static_cast<std::size_t>(m)];
}

/// A meeting as it is told from others: what for and, where values are exchanged, of which type and
/// by which operation. Of each there is one object, kind_of<…>.
struct meeting_kind {
  meeting what;
  std::type_info const* values; ///< of void, if there are none
};
/// `Values`: for example void(T, Op).
template<meeting What, class Values = void>
inline constexpr meeting_kind kind_of{What, &typeid(Values)};

/// Where a wavefront waits in diverged control flow.
struct diverged_place {
  std::source_location where{};
  meeting_kind const* what = &kind_of<meeting::barrier>;
};

/// A fine-grain barrier's state (HSA PRM 9.4, thesis §5.3.3): which work-items take part, which
/// wavefronts have arrived.
struct fine_grain_barrier_state {
  std::vector<lane_mask> members; ///< per wavefront; one with no member lane is not waited for
  std::uint32_t arrived = 0;
  std::uint32_t participants = 0;         ///< of the last meeting
  meeting_kind const* expected = nullptr; ///< what those that have arrived have come for
  std::uint32_t bank = 0;
  std::array<std::array<std::array<std::byte, 16>, 32>, 2> values{};
};

/// One resident work-group: its wavefronts, its LDS and where they meet.
///
/// Belongs to a compute unit, which is a strand: nothing here is atomic. At most 32 wavefronts, a
/// bit each. A meeting completes when every wavefront has arrived; the last one goes on without
/// suspending. What wavefronts hand each other in a meeting lies in one of two banks, so that the
/// next meeting's values cannot overwrite one that is still being read.
class work_group {
public:
  using wave_bits = std::uint32_t;
  static constexpr std::size_t most_waves = 32;
  static constexpr std::size_t value_bytes = 16;

  work_group() = default;
  work_group(work_group const&) = delete;
  work_group& operator=(work_group const&) = delete;

  /// Wavefront `index` arrives; true when it is the last and goes on.
  QUARRY_ALWAYS_INLINE bool arrive(std::uint32_t index, meeting_kind const& m,
                                   std::source_location where) {
    if (arrived == 0)
      expected = &m;
    else if (expected != &m) [[unlikely]]
      meet_differently(index, m, {arrived, *expected}, where);
    arrived |= wave_bits{1} << index;
    if (arrived != all)
      return false;
    complete(all, index);
    return true;
  }

  /// As arrive(), but for the wavefronts that reach this place in diverged control flow: the
  /// meeting is completed by those that came when all others wait elsewhere or have ended (the
  /// work-group reconvergence stack of thesis §5.3.3).
  bool arrive_diverged(std::uint32_t index, meeting_kind const& m, std::source_location where);

  /// Arrives at a fine-grain barrier; true when it is the last of the members.
  bool arrive_at(fine_grain_barrier_state& b, std::uint32_t index, meeting_kind const& m,
                 std::source_location where);
  /// The members have changed: completes the barrier if those left have all arrived.
  void recheck(fine_grain_barrier_state& b);
  [[nodiscard]] fine_grain_barrier_state& fine_grain_barrier(std::uint32_t number);

  template<class T>
  void put(std::uint32_t index, T const& value) noexcept {
    static_assert(sizeof(T) <= value_bytes && std::is_trivially_copyable_v<T>);
    __builtin_memcpy(values[bank][index].data(), &value, sizeof(T));
  }
  /// A value of the meeting that the caller has just been part of.
  template<class T>
  [[nodiscard]] T get(std::uint32_t index) const noexcept {
    T value;
    __builtin_memcpy(&value, values[bank ^ 1][index].data(), sizeof(T));
    return value;
  }

  /// Makes wavefronts ready that wait in a meeting.
  void wake(wave_bits who) {
    if (decides) [[unlikely]]
      wake_through_scheduler(who);
    else
      ready |= who;
  }

  /// `native`: the first wavefront that has not begun does.
  QUARRY_ALWAYS_INLINE wave_slot& begin_first_fresh() noexcept {
    wave_slot& w = waves[static_cast<unsigned>(std::countr_zero(fresh))];
    ready &= ~(fresh & -fresh);
    fresh &= fresh - 1;
    w.begin();
    return w;
  }

  /// Nothing of this group is ready or polling: completes a diverged meeting, or finds that the
  /// wavefronts that wait can never go on. Null if somebody outside may still wake them.
  [[nodiscard]] std::optional<fault> settle();

  /// The first half of settle(): deterministic schedulers do it as soon as a wavefront has parked
  /// or ended, for others that never wait (a consumer that yields) would put it off for ever.
  void complete_if_all_wait();

  /// "wavefront 2 (work-items 128..191) at barrier, kernel.hpp:12": one line a wavefront.
  [[nodiscard]] std::string describe_waves() const;
  /// Of a wavefront that waits in a meeting, or at a fine-grain barrier: who is missing there, and
  /// where those are; empty for others. "absent: wavefront 1 (wait_until at a.cpp:3)"
  [[nodiscard]] std::string absent_for(std::uint32_t index) const;
  [[nodiscard]] std::string name() const;
  void reserve_lds(std::size_t bytes);

  launch_state* launch = nullptr;
  extent id;      ///< in the grid
  extent size{0}; ///< work-items; smaller at the grid's edges
  std::uint64_t linear_id = 0;
  std::int64_t first_item = 0; ///< of a one-dimensional grid; -1 of others
  std::uint32_t wave_count = 0;
  std::byte* lds = nullptr;
  std::size_t lds_capacity = 0;
  bool decides = false;

  wave_bits all = 0;   ///< one bit a wavefront
  wave_bits ready = 0; ///< `native`: may run now
  wave_bits fresh = 0; ///< `native`: those that have no frame yet; it is made when they first run
  wave_bits polling = 0;
  wave_bits finished = 0;
  wave_bits yielded = 0;  ///< they have no slot
  wave_bits arrived = 0;  ///< at the meeting `expected`
  wave_bits diverged = 0; ///< at diverged meetings, each at its own place
  meeting_kind const* expected = nullptr;
  std::uint32_t bank = 0;
  wave_bits participants = 0;
  std::array<std::array<std::array<std::byte, value_bytes>, most_waves>, 2> values;
  std::array<diverged_place, most_waves> diverged_at;
  std::vector<fine_grain_barrier_state> fine_grain_barriers;
  std::array<wave_slot, most_waves> waves;
  debug_group debug{.self = this};
  bool is_parked = false; ///< `native`: all that have not finished have yielded

private:
  std::unique_ptr<std::byte[], void (*)(std::byte*)> lds_owner_{nullptr, nullptr};
  void complete(wave_bits who, std::uint32_t last) {
    arrived = 0;
    bank ^= 1;
    participants = who;
    if (decides) [[unlikely]]
      synchronise(who);
    wake(who & ~(wave_bits{1} << last));
  }
  /// Explored executions: what they did before the meeting is before what they do after it.
  void synchronise(wave_bits who);
  [[nodiscard]] wave_bits at_fine_grain_barriers() const noexcept;
  bool complete_first_diverged();
  void wake_through_scheduler(wave_bits who);
  struct those_waiting {
    wave_bits who;
    meeting_kind const& in;
  };
  [[noreturn]] void meet_differently(std::uint32_t index, meeting_kind const& m,
                                     those_waiting others, std::source_location where);
};

inline memory_context wave_slot::context() noexcept {
  launch_state const& l = *group->launch;
  return {this, l.scheduler, l.bounds, port};
}

/// Names `bytes` more of the group's LDS. Throws kernel_stop lds_out_of_bounds.
[[nodiscard]] std::byte* take_lds(wave_slot& w, std::uint64_t bytes, std::source_location where);
/// Throws kernel_stop wrong_shape.
[[noreturn]] void wrong_shape(wave_slot const& w, char const* what, std::source_location where);
/// The same: lane `by` asks lane `from`, or all do if it is -1.
[[noreturn]] void has_not_come(wave_slot const& w, char const* what, int by, std::int64_t from,
                               std::source_location where);

} // namespace quarry::emu
