// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/item_collectives.hpp>
#include <quarry/emu/lane_call.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/emu/spin_watch.hpp>
#include <quarry/emu/work_group.hpp>

#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <utility>

namespace quarry::emu {

/// Who a work-item is, and its memory: what item coroutines and plain item functions have in
/// common.
template<class Self, memory_model M>
class work_item_identity : public memory_operations<Self, M> {
public:
  using memory_type = M;

  explicit work_item_identity(lane_slot& slot) noexcept
      : slot_(slot), port_(slot.lanes->wave().context()) {}
  work_item_identity(work_item_identity const&) = delete;
  work_item_identity& operator=(work_item_identity const&) = delete;

  /// The work-item's number in its group, x fastest.
  [[nodiscard]] std::uint32_t local_linear_id() const noexcept {
    return wave().index * group().launch->wavefront_size + static_cast<std::uint32_t>(slot_.lane);
  }
  [[nodiscard]] extent local_id() const noexcept {
    std::uint32_t const i = local_linear_id();
    extent const n = group().size;
    return {i % n.x, i / n.x % n.y, i / (n.x * n.y)};
  }
  /// Its lane in its wavefront, by which masks and shuffles count.
  [[nodiscard]] int lane() const noexcept { return slot_.lane; }
  [[nodiscard]] std::uint32_t wavefront_size() const noexcept {
    return group().launch->wavefront_size;
  }
  /// Its wavefront's number in the group, and how many there are.
  [[nodiscard]] std::uint32_t wavefront_in_group() const noexcept { return wave().index; }
  [[nodiscard]] std::uint32_t wavefronts_in_group() const noexcept { return group().wave_count; }
  [[nodiscard]] extent group_id() const noexcept { return group().id; }
  [[nodiscard]] std::uint64_t linear_group_id() const noexcept { return group().linear_id; }
  [[nodiscard]] extent group_size() const noexcept { return group().size; }
  [[nodiscard]] extent group_count() const noexcept { return group().launch->groups; }
  /// The work-item's position in the grid.
  [[nodiscard]] extent global_position() const noexcept {
    extent const per = group().launch->config.work_items_per_group;
    extent const at = local_id();
    return {group().id.x * per.x + at.x, group().id.y * per.y + at.y, group().id.z * per.z + at.z};
  }
  /// Its number in a grid of one dimension.
  ///
  /// Errors   fault wrong_shape – the grid has several
  [[nodiscard]] std::uint32_t
  global_id(std::source_location where = std::source_location::current()) const {
    if (!group().launch->is_linear()) [[unlikely]]
      wrong_shape(wave(), "global_id() of a grid with several dimensions", where);
    return group().id.x * group().launch->config.work_items_per_group.x + local_linear_id();
  }

  /// A view of the group's LDS, the same for all its work-items; name the views in the same order.
  /// Each begins at a multiple of 64 bytes of what the launch has reserved.
  template<class T, int Rows, int Columns = 1>
  [[nodiscard]] lds_view<T, Rows, Columns>
  lds(std::source_location where = std::source_location::current()) {
    wave().lds_used = lds_used_; // each work-item counts for itself
    auto* const at = take_lds(wave(), std::uint64_t{Rows} * Columns * sizeof(T), where);
    lds_used_ = wave().lds_used;
    return lds_view<T, Rows, Columns>(reinterpret_cast<T*>(at));
  }

  // For Quarry's own parts
  [[nodiscard]] M const& memory_port() const noexcept { return port_; }
  [[nodiscard]] lane_slot& slot() noexcept { return slot_; }

protected:
  [[nodiscard]] wave_slot& wave() const noexcept { return slot_.lanes->wave(); }
  [[nodiscard]] work_group& group() const noexcept { return *wave().group; }

  lane_slot& slot_;

private:
  std::uint32_t lds_used_ = 0;
  [[no_unique_address]] M port_;
};

/// What an item kernel sees: one work-item, a coroutine. It co_awaits where lanes meet or wait;
/// what cannot wait is a plain call.
///
/// Source   thesis §2.1
template<memory_model M>
class basic_work_item : public work_item_identity<basic_work_item<M>, M>,
                        public item_collectives<basic_work_item<M>, M> {
public:
  using work_item_identity<basic_work_item, M>::work_item_identity;

private:
  friend class item_collectives<basic_work_item, M>;
  template<lane_call C>
  [[nodiscard]] auto meet(typename C::value_type value, std::source_location where) {
    return lane_await<C>(this->slot_, value, where);
  }
};

/// What a plain item function sees: one work-item that may block anywhere. Its fiber costs
/// something only when it does.
template<memory_model M>
class basic_plain_work_item : public work_item_identity<basic_plain_work_item<M>, M>,
                              public item_collectives<basic_plain_work_item<M>, M> {
  using identity = work_item_identity<basic_plain_work_item, M>;

public:
  using identity::identity;
  using identity::load;
  using identity::store;

  /// An atomic load. As other atomic operations: a plain loop may spin on it, see has_left().
  template<storable T>
    requires atomically_storable<std::remove_const_t<T>>
  std::remove_const_t<T> load(global<T> at, order o, scope s,
                              std::source_location where = std::source_location::current()) {
    auto const value = identity::load(at, o, s, where);
    if constexpr (M::may_explore)
      if (auto const* const port = this->memory_port().port())
        watch(*port, at, value, o, s, where);
    return value;
  }
  template<storable T>
  auto load(global<T> at, access a, std::source_location where = std::source_location::current()) {
    return load(at, a.how, a.far, where);
  }
  // Plain stores are work, which a spin is not, and so are loads of one place after the other.
  template<storable T>
  T load(global<T> at, std::source_location where = std::source_location::current()) const {
    has_changed_ = has_changed_ || at.get() != last_loaded_;
    last_loaded_ = at.get();
    return identity::load(at, where);
  }
  template<storable T>
  void store(global<T> at, std::type_identity_t<T> value,
             std::source_location where = std::source_location::current()) const {
    has_changed_ = true;
    identity::store(at, value, where);
  }

  /// Blocks until `is_met(value)`; gives the value.
  template<storable T, class Predicate>
  auto wait_until(global<T> at, Predicate is_met, order o, scope s,
                  std::source_location where = std::source_location::current()) {
    auto wait = identity::wait_until(at, std::move(is_met), o, s, where);
    while (!wait.await_ready()) { // again where it is woken: it may be too late by then
      wait.poll_on(this->slot_);
      this->slot_.lanes->block(this->slot_);
    }
    return wait.await_resume();
  }
  template<storable T, class Predicate>
  auto wait_until(global<T> at, Predicate is_met, access a,
                  std::source_location where = std::source_location::current()) {
    return wait_until(at, std::move(is_met), a.how, a.far, where);
  }

  // For Quarry's own parts

  /// An atomic operation outside explored executions has seen `old` at `at`, and left `now`.
  ///
  /// Who keeps seeing the same values of at most four words, and does no work meanwhile, gives way
  /// until one of them changes; who works, now and then.
  template<class T>
  void has_left(global<T> at, std::remove_const_t<T> old, std::remove_const_t<T> now,
                std::source_location where) {
    auto const bits = bits_of(old);
    if (bits != bits_of(now)) {
      has_changed_ = true;
      return;
    }
    if (--until_told_ != 0) [[likely]]
      return;
    lane_slot& slot = this->slot_;
    if (std::exchange(has_changed_, false))
      slot.spin.changes();
    until_told_ = slot.lanes->watch_for_spin(slot, {at.get(), bits, sizeof(T)}, where);
  }
  /// The same of a store, which has not seen what was there.
  void has_stored() noexcept { has_changed_ = true; }

private:
  friend class item_collectives<basic_plain_work_item, M>;
  template<lane_call C>
  auto meet(typename C::value_type value, std::source_location where) {
    return lane_block<C>(this->slot_, value, where);
  }
  template<class T>
  static std::uint64_t bits_of(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  /// An explored atomic load has seen `value`.
  template<storable T>
  void watch(cache_port const& port, global<T> at, std::remove_const_t<T> value, order o, scope s,
             std::source_location where) {
    lane_slot& slot = this->slot_;
    switch (slot.explored.sees(at.get(), bits_of(value), port.operation_count())) {
    case spin_watch::advice::go_on:
      return;
    case spin_watch::advice::give_way:
      slot.stay_ready("give way", where);
      return slot.lanes->block(slot);
    case spin_watch::advice::wait:
      wait_until(at, [value](auto v) { return bits_of(v) != bits_of(value); }, o, s, where);
    }
  }

  // Of the watch for spins; here, where they are in registers.
  std::uint32_t until_told_ = spin_watch::first;
  mutable bool has_changed_ = false; ///< or worked, see load()
  mutable void const* last_loaded_ = nullptr;
};

/// Any work-item of an item coroutine.
template<class W>
concept any_work_item = std::same_as<W, basic_work_item<typename W::memory_type>>;
/// Any work-item of a plain item function.
template<class W>
concept any_plain_work_item = std::same_as<W, basic_plain_work_item<typename W::memory_type>>;

/// For plain item functions that are no templates.
using work_item = basic_plain_work_item<dynamic_memory>;

} // namespace quarry::emu
