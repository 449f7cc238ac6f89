// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/affine.hpp>
#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/collectives.hpp>
#include <quarry/emu/fine_grain_barrier.hpp>
#include <quarry/emu/lane_algorithms.hpp>
#include <quarry/emu/lane_memory.hpp>
#include <quarry/emu/lane_rows.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/emu/wavefront_collectives.hpp>
#include <quarry/emu/where.hpp>
#include <quarry/emu/work_group.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <source_location>

namespace quarry::emu {

/// What a wave kernel sees: one wavefront of `Size` lanes that go together. Lanes are values
/// (lanes<T, Size>); the exec mask is explicit and lives here, so that it survives a suspension.
///
/// Loads, stores, atomics and collectives act for the active lanes. Operations on a global<T> (one
/// address) act once for the wavefront.
///
/// Source   thesis §2.1, §2.3; design §3
template<memory_model M, int Size>
class basic_wavefront : public memory_operations<basic_wavefront<M, Size>, M>,
                        public wavefront_collectives<basic_wavefront<M, Size>, Size> {
  static_assert(Size == 32 || Size == 64, "a wavefront has 32 or 64 lanes");

public:
  static constexpr int size = Size;
  using memory_type = M;
  using index = linear_index<std::int64_t, Size>; ///< in the grid
  using local_index = linear_index<std::int32_t, Size>;
  template<class T>
  using lanes = emu::lanes<T, Size>;

  explicit basic_wavefront(wave_slot& slot) noexcept
      : slot_(slot), group_(*slot.group), active_(slot.items), port_(slot.context()) {}
  basic_wavefront(basic_wavefront const&) = delete;
  basic_wavefront& operator=(basic_wavefront const&) = delete;

  // Who it is

  /// The lanes' work-items in the grid, x fastest; consecutive in a one-dimensional grid.
  ///
  /// Errors   fault wrong_shape if the grid has more dimensions (use global_id(axis))
  [[nodiscard]] index
  global_id(std::source_location where = std::source_location::current()) const {
    if (group_.first_item < 0) [[unlikely]]
      wrong_shape(slot_, "global_id() of a grid with several dimensions", where);
    return index(local_id()) + group_.first_item;
  }
  /// The lanes' work-items in the group, x fastest.
  [[nodiscard]] local_index local_id() const noexcept {
    return local_index(static_cast<std::int32_t>(slot_.index * Size));
  }
  /// One coordinate of the lanes' work-items; axis 0 is x.
  ///
  /// Errors   fault wrong_shape – an axis that is not 0, 1 or 2
  [[nodiscard]] lanes<std::int32_t>
  local_id(int axis, std::source_location where = std::source_location::current()) const {
    if (axis < 0 || axis > 2) [[unlikely]]
      wrong_shape(slot_, "an axis that is not 0, 1 or 2", where);
    auto const at = local_id().to_lanes();
    auto const x = static_cast<std::int32_t>(group_.size.x);
    auto const y = static_cast<std::int32_t>(group_.size.y);
    return axis == 0 ? at % x : axis == 1 ? at / x % y : at / (x * y);
  }
  ///
  /// Errors   fault wrong_shape if they do not fit 31 bits: global_id() has 64; local_id()'s
  [[nodiscard]] lanes<std::int32_t>
  global_id(int axis, std::source_location where = std::source_location::current()) const {
    extent const per = group_.launch->config.work_items_per_group;
    std::uint32_t const first = axis == 0   ? group_.id.x * per.x
                                : axis == 1 ? group_.id.y * per.y
                                            : group_.id.z * per.z;
    if (first > (1U << 31U) - most_work_items_per_group) [[unlikely]]
      wrong_shape(slot_, "global_id(axis) from 2147482624 on", where);
    return local_id(axis, where) + static_cast<std::int32_t>(first);
  }

  /// Row and column in a group that is `Width` work-items wide (and so a tile of it).
  template<int Width>
  struct tile_index {
    row_broadcast<std::int32_t, Width, Size> row;
    tile_row<std::int32_t, Width, Size> column;
  };
  /// Errors   fault wrong_shape unless the group is Width work-items wide
  template<int Width>
  [[nodiscard]] tile_index<Width>
  tile(std::source_location where = std::source_location::current()) const {
    static_assert(Width > 0 && Size % Width == 0, "the width must divide the wavefront size");
    need_width(Width, where);
    return {{static_cast<std::int32_t>(slot_.index * (Size / Width)), 1}, {0, 0}};
  }

  [[nodiscard]] extent group_id() const noexcept { return group_.id; }
  [[nodiscard]] std::uint64_t linear_group_id() const noexcept { return group_.linear_id; }
  /// Work-items of this group, smaller at the edges of the grid.
  [[nodiscard]] extent group_size() const noexcept { return group_.size; }
  [[nodiscard]] extent group_count() const noexcept { return group_.launch->groups; }
  /// This wavefront's number in its group, and how many there are.
  [[nodiscard]] std::uint32_t index_in_group() const noexcept { return slot_.index; }
  [[nodiscard]] std::uint32_t waves_in_group() const noexcept { return group_.wave_count; }

  // Control flow

  [[nodiscard]] lane_mask active() const noexcept { return active_; }
  /// All lanes that have a work-item, active or not.
  [[nodiscard]] lane_mask items() const noexcept { return slot_.items; }

  /// `if (auto active = wf.where(cond)) { … }`: narrows the mask while the result lives. There is
  /// no else: write wf.where(!cond).
  template<lane_condition<Size> Condition>
  [[nodiscard]] mask_scope where(Condition const& cond) noexcept {
    return mask_scope(active_, this->as_mask(cond), left_);
  }
  /// `for (auto loop = wf.loop(); loop.keep(cond);) { … }`: a lane that has left stays out.
  [[nodiscard]] mask_loop loop() noexcept { return mask_loop(active_, left_); }
  /// A register whose assignments obey the mask.
  template<class T>
  [[nodiscard]] masked_variable<emu::lanes<T, Size>>
  variable(emu::lanes<T, Size> initial) noexcept {
    return masked_variable<emu::lanes<T, Size>>(active_, initial);
  }

  // Memory, a whole wavefront at a time

  template<class T, class Index>
  [[nodiscard]] QUARRY_ALWAYS_INLINE lanes<std::remove_const_t<T>>
  load(lane_address<T, Index> at,
       std::source_location where = std::source_location::current()) const {
    before_lanes(at, "load", where);
    if constexpr (M::may_explore)
      if (auto const* const port = port_.port()) {
        lanes<std::remove_const_t<T>> values{};
        port->begin_instruction();
        bool const is_done = for_each_row(at, active_, where, [&](cache_port::lane_row const& r) {
          port->load_row(r, reinterpret_cast<std::byte*>(&values) + r.first_lane * sizeof(T));
        });
        if (!is_done)
          for_each_address(at, [&](int lane, global<T> one) {
            values.set(lane, port->load(one.get(), std::nullopt, scope::work_item, where, lane));
          });
        return values;
      }
    return load_lanes<std::remove_const_t<T>, Size>(at.base, at.index, active_);
  }
  template<class T, class Index>
  QUARRY_ALWAYS_INLINE void
  store(lane_address<T, Index> at, std::type_identity_t<lanes<T>> const& value,
        std::source_location where = std::source_location::current()) const {
    before_lanes(at, "store", where);
    if constexpr (M::may_explore)
      if (auto const* const port = port_.port()) {
        port->begin_instruction();
        bool const is_done = for_each_row(at, active_, where, [&](cache_port::lane_row const& r) {
          port->store_row(r, reinterpret_cast<std::byte const*>(&value) + r.first_lane * sizeof(T));
        });
        if (is_done)
          return;
        return for_each_address(at, [&](int lane, global<T> one) {
          port->store(one.get(), value[lane], std::nullopt, scope::work_item, where, lane);
        });
      }
    store_lanes(at.base, at.index, value, active_);
  }
  /// The values of an index, converted to T: each lane's number, say.
  template<class T, class Index, std::integral I, int Width, int Step>
    requires std::is_arithmetic_v<T>
  QUARRY_ALWAYS_INLINE void
  store(lane_address<T, Index> at, affine<I, Width, Step, Size> value,
        std::source_location where = std::source_location::current()) const {
    store(at, convert<T>(value.to_lanes()), where);
  }
  /// The lanes will load from there soon, or wavefronts that come after them will. A hint, as PTX's
  /// prefetch.global.L1: the address need not be valid, and nothing can be told from it (under
  /// `explore` it does nothing at all).
  template<class T, class Index>
  QUARRY_ALWAYS_INLINE void prefetch(lane_address<T, Index> at) const noexcept {
    prefetch_lanes<std::remove_const_t<T>, Size>(at.base, at.index, active_);
  }
  using memory_operations<basic_wavefront, M>::prefetch;
  using memory_operations<basic_wavefront, M>::load;
  using memory_operations<basic_wavefront, M>::store;
  using memory_operations<basic_wavefront, M>::fetch_add;

  /// Each active lane adds to its address, one after the other; gives the old values. Which lane
  /// comes first is nobody's to rely on: `explore` has them go up or down.
  template<std::integral T, class Index>
  lanes<T> fetch_add(lane_address<T, Index> at, std::type_identity_t<lanes<T>> const& n, order o,
                     scope s, std::source_location where = std::source_location::current()) const {
    lanes<T> old{};
    for_each_atomically(at, where, [&](int lane, global<T> one) {
      old.set(lane, this->fetch_add(one, n[lane], o, s, where));
    });
    return old;
  }
  /// As fetch_add(), without the old values: what a histogram wants.
  template<std::integral T, class Index>
  void add(lane_address<T, Index> at, std::type_identity_t<T> n, order o, scope s,
           std::source_location where = std::source_location::current()) const {
    for_each_atomically(at, where,
                        [&](int, global<T> one) { this->fetch_add(one, n, o, s, where); });
  }

  /// The active lanes' values in consecutive elements from `first` on, without gaps.
  template<storable T>
  QUARRY_ALWAYS_INLINE void
  store_packed(global<T> first, std::type_identity_t<lanes<T>> const& value,
               std::source_location where = std::source_location::current()) const {
    auto const count = active_.count();
    if constexpr (M::checks)
      port_.before(first.get(), static_cast<std::size_t>(count) * sizeof(T),
                   count == 0 ? 0 : alignof(T), {where, "store"});
    if constexpr (M::may_explore)
      if (auto const* const port = port_.port()) {
        T* to = first.get();
        port->begin_instruction();
        return active_.for_each([&](int lane) {
          port->store(to++, value[lane], std::nullopt, scope::work_item, where, lane);
        });
      }
    if (active_.is_full(Size)) [[likely]] {
      store_lanes(first.get(), index(0), value, active_);
    } else {
      lanes<T> const some = value; // a copy: otherwise the lanes never lie in registers alone
      store_lanes(first.get(), index(0), compact(some, active_), lane_mask::first_n(count));
    }
  }

  /// A view of the group's LDS: the same for all its wavefronts, which must name their views in the
  /// same order. The contents are whatever was there. Each view begins at a multiple of 64
  /// bytes of what the launch has reserved.
  ///
  /// Errors   fault lds_out_of_bounds if the launch did not reserve enough
  template<class T, int Rows, int Columns = 1>
  [[nodiscard]] lds_view<T, Rows, Columns>
  lds(std::source_location where = std::source_location::current()) const {
    return lds_view<T, Rows, Columns>(
        reinterpret_cast<T*>(take_lds(slot_, std::uint64_t{Rows} * Columns * sizeof(T), where)));
  }

  // Work-group collectives

  /// Every wavefront of the group arrives before any goes on.
  [[nodiscard]] group_barrier
  barrier(std::source_location where = std::source_location::current()) {
    return group_barrier(slot_, where);
  }
  /// A barrier of those whom `how` brings together: the members of a fine-grain barrier, or the
  /// wavefronts that are in this block.
  template<divergence_mechanism D>
  [[nodiscard]] group_barrier_of<D>
  barrier_of(D how, std::source_location where = std::source_location::current()) {
    return group_barrier_of<D>(slot_, how, where);
  }
  /// The reduction over the active work-items of the whole group; inactive ones submit `op`'s
  /// identity, so that this is also software predication's collective (thesis §5.3.1).
  template<class T, class Op>
  [[nodiscard]] auto group_reduce(lanes<T> const& v, Op op,
                                  std::source_location where = std::source_location::current()) {
    return group_reduction<T, Op, converged>(slot_, emu::reduce(v, op, active_), op, {}, where);
  }
  /// The same from diverged control flow, by a mechanism of thesis §5.3.3: `reconverging`, or the
  /// fine-grain barrier that the active work-items have joined.
  template<class T, class Op, divergence_mechanism D>
  [[nodiscard]] auto group_reduce(lanes<T> const& v, Op op, D how,
                                  std::source_location where = std::source_location::current()) {
    return group_reduction<T, Op, D>(slot_, emu::reduce(v, op, active_), op, how, where);
  }
  /// Exclusive prefix sum over the group's active work-items into `out`, which may be `v`; gives
  /// the group's total. `out` lives until it is awaited; of inactive work-items it says nothing.
  template<class T, divergence_mechanism D = converged>
  [[nodiscard]] auto
  group_prefix_sum(lanes<T> const& v, lanes<T>& out, D how = {},
                   std::source_location where = std::source_location::current()) {
    T const total = emu::reduce(v, plus{}, active_);
    out = emu::exclusive_prefix_sum(v, active_);
    return group_prefix<T, Size, D>(slot_, total, out, how, where);
  }
  /// The value of the wavefront that submits one (`is_source`), for all; at most 8 bytes. Of
  /// several the highest wavefront's; of none T{}.
  template<class T, divergence_mechanism D = converged>
  [[nodiscard]] auto group_broadcast(T value, bool is_source, D how = {},
                                     std::source_location where = std::source_location::current()) {
    return group_broadcasting<T, D>(slot_, value, is_source, how, where);
  }
  /// Where this wavefront's `count` items stand among the group's, a `group_place`: the scalar part
  /// of a prefix sum.
  template<divergence_mechanism D = converged>
  [[nodiscard]] auto group_offset(std::uint32_t count, D how = {},
                                  std::source_location where = std::source_location::current()) {
    return group_offsets<D>(slot_, count, how, where);
  }
  /// Is it so for an active work-item of the group?
  template<lane_condition<Size> Condition, divergence_mechanism D = converged>
  [[nodiscard]] auto group_any(Condition const& cond, D how = {},
                               std::source_location where = std::source_location::current()) {
    return group_reduction<bool, bit_or, D>(slot_, this->any(cond), {}, how, where);
  }
  /// Is it so for all of them?
  template<lane_condition<Size> Condition, divergence_mechanism D = converged>
  [[nodiscard]] auto group_all(Condition const& cond, D how = {},
                               std::source_location where = std::source_location::current()) {
    return group_reduction<bool, bit_and, D>(slot_, this->all(cond), {}, how, where);
  }

  /// A fine-grain barrier that all work-items of the group have joined.
  [[nodiscard]] fine_grain_barrier make_fine_grain_barrier() {
    return fine_grain_barrier(group_, slot_.fine_grain_barriers_used++);
  }

  // For Quarry's own parts

  [[nodiscard]] M const& memory_port() const noexcept { return port_; }
  [[nodiscard]] wave_slot& slot() const noexcept { return slot_; }
  [[nodiscard]] lane_mask& exec_mask() noexcept { return active_; }

private:
  friend struct debug_layout_access;
  void need_width(int width, std::source_location where) const {
    if (group_.size.x != static_cast<std::uint32_t>(width)) [[unlikely]]
      wrong_shape(slot_, "tile<W>() of a group that is not W work-items wide", where);
  }

  template<class I, int W, int S>
  static lanes<I> as_lanes(affine<I, W, S, Size> const& i) noexcept {
    return i.to_lanes();
  }
  template<class I>
  static lanes<I> const& as_lanes(lanes<I> const& i) noexcept {
    return i; // NOLINT(*-const-ref-from-parameter): a kernel names it
  }

  template<class T, class Index, class F>
  void for_each_address(lane_address<T, Index> at, F&& f) const {
    auto const indices = as_lanes(at.index);
    active_.for_each([&](int lane) { f(lane, global<T>(at.base + indices[lane])); });
  }

  template<class T, class Index, class F>
  void for_each_atomically(lane_address<T, Index> at, std::source_location where, F&& f) const {
    check_lanes(at, "read-modify-write", where);
    if constexpr (M::checks)
      if (int const first = active_.first(); active_.any()) // aligned as all the others are
        port_.check_aligned(at.base + at.index[first], sizeof(T), sizeof(T),
                            {where, "read-modify-write", first});
    if constexpr (M::may_explore)
      if (auto const* const port = port_.port()) {
        auto const indices = as_lanes(at.index);
        return port->for_each_lane(active_,
                                   [&](int lane) { f(lane, global<T>(at.base + indices[lane])); });
      }
    for_each_address(at, f);
  }

  /// One decision point for the whole access.
  template<class T, class Index>
  void before_lanes(lane_address<T, Index> at, char const* what, std::source_location where) const {
    if constexpr (M::checks) {
      if (!active_.any())
        return;
      int const first = active_.first();
      port_.before(at.base + at.index[first], sizeof(T), alignof(T), // as all the others are
                   {where, what, first});
      check_lanes(at, what, where);
    }
  }
  /// Every lane's element, at once where all are in one allocation.
  template<class T, class Index>
  void check_lanes(lane_address<T, Index> at, char const* what, std::source_location where) const {
    if constexpr (M::checks) {
      if (!active_.any())
        return;
      auto const [lowest, highest] = ends_of(at, active_);
      if constexpr (M::may_explore)
        port_.tell_debugger(lowest, static_cast<std::size_t>(highest - lowest + 1) * sizeof(T));
      if (port_.covers(lowest, static_cast<std::size_t>(highest - lowest + 1) * sizeof(T)))
        return;
      auto const& indices = at.index;
      active_.for_each(
          [&](int lane) { port_.check(at.base + indices[lane], sizeof(T), {where, what, lane}); });
    }
  }

  wave_slot& slot_;
  work_group& group_;
  lane_mask active_;
  lane_mask left_; ///< lanes that have left the loops that run
  [[no_unique_address]] M port_;
};

/// Any wavefront: what a wave kernel's first parameter is (`any_wavefront auto& wf`).
template<class W>
concept any_wavefront = requires(W& w) {
  typename W::memory_type;
  { W::size } -> std::convertible_to<int>;
  { w.slot() } -> std::same_as<wave_slot&>;
  { w.exec_mask() } -> std::same_as<lane_mask&>;
};

/// A wavefront of 64 lanes that decides about its memory at run time, for code that is no template.
using wavefront = basic_wavefront<dynamic_memory, 64>;
static_assert(any_wavefront<wavefront>);
static_assert(sizeof(wavefront) <= wave_slot::storage_bytes);

} // namespace quarry::emu
