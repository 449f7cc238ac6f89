// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/fine_grain_barrier.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/reductions.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/task.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <source_location>

namespace quarry::emu {

// How the wavefronts of a work-group collective find each other (thesis §5.3.2, Table 5-1).

/// All wavefronts of the group arrive, those without active work-items too: converged control flow,
/// or software predication (§5.3.1).
struct converged {};
/// Those that are in this block arrive; the others wait in another meeting or at a fine-grain
/// barrier, or have ended: the work-group reconvergence stack (§5.3.3). One that waits for anything
/// else may still come: it is waited for.
struct reconverging_t {};
inline constexpr reconverging_t reconverging{};
// The third is a fine_grain_barrier (§5.3.3, Table 5-1c).

template<class D>
concept divergence_mechanism = std::same_as<D, converged> || std::same_as<D, reconverging_t> ||
                               std::same_as<D, fine_grain_barrier>;

/// What all work-group collectives share: one wavefront's arrival, and its wait for the others.
/// Only the wavefront itself awaits them: in a child of its (when_all, a nursery) one that would
/// have to wait is a fault (misuse).
template<divergence_mechanism D>
class group_meeting {
public:
  group_meeting(wave_slot& w, meeting_kind const& what, D how, std::source_location where) noexcept
      : wave_(w), what_(what), where_(where), how_(how) {}

  QUARRY_ALWAYS_INLINE bool await_ready() {
    if constexpr (std::same_as<D, converged>)
      return group().arrive(wave_.index, what_, where_);
    else if constexpr (std::same_as<D, reconverging_t>)
      return group().arrive_diverged(wave_.index, what_, where_);
    else
      return group().arrive_at(how_.state(), wave_.index, what_, where_);
  }
  template<task_promise P>
  QUARRY_ALWAYS_INLINE void await_suspend(std::coroutine_handle<P> h) {
    if (h.promise().self != &wave_) [[unlikely]]
      refuse_child();
    wave_.wait_for(to_string(what_.what), where_);
    if constexpr (!std::same_as<D, fine_grain_barrier>)
      if (group().decides) [[unlikely]]
        group().complete_if_all_wait();
  }

protected:
  /// await_ready() of a meeting to which each wavefront brings a value. Not before: another meeting
  /// may take place between the call and the await.
  template<class T>
  QUARRY_ALWAYS_INLINE bool arrive_with(T const& value) {
    put(value);
    return await_ready();
  }

  [[nodiscard]] work_group& group() const noexcept { return *wave_.group; }

  template<class T>
  void put(T const& value) {
    if constexpr (std::same_as<D, fine_grain_barrier>)
      __builtin_memcpy(how_.state().values[how_.state().bank][wave_.index].data(), &value,
                       sizeof(T));
    else
      group().put(wave_.index, value);
  }
  /// Converged: everybody else has come to this meeting. (Who comes to another is told by
  /// arrive().)
  [[nodiscard]] bool is_last_to_come() const noexcept {
    work_group::wave_bits const mine = work_group::wave_bits{1} << wave_.index;
    return (group().arrived | mine) == group().all &&
           (group().arrived == 0 || group().expected == &what_);
  }
  /// Converged: what wavefront `i`, which has come, has put for the meeting.
  template<class T>
  [[nodiscard]] T offered(std::uint32_t i) const noexcept {
    T value;
    __builtin_memcpy(&value, group().values[group().bank][i].data(), sizeof(T));
    return value;
  }
  /// Calls f(wavefront index, its value) for each wavefront of the meeting, ascending.
  template<class T, class F>
  void for_each_value(F&& f) const {
    auto const& banks = [this]() -> auto const& {
      if constexpr (std::same_as<D, fine_grain_barrier>)
        return how_.state();
      else
        return group();
    }();
    for (std::uint32_t rest = banks.participants; rest != 0; rest &= rest - 1) {
      auto const i = static_cast<std::uint32_t>(std::countr_zero(rest));
      T value;
      __builtin_memcpy(&value, banks.values[banks.bank ^ 1][i].data(), sizeof(T));
      f(i, value);
    }
  }

  wave_slot& wave_;
  meeting_kind const& what_;
  std::source_location where_;
  [[no_unique_address]] D how_;

private:
  /// The wavefront has not arrived: nobody wakes it out of what it waits in itself.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_child() {
    auto const take_back = [bit = work_group::wave_bits{1} << wave_.index](auto& arrived) {
      arrived &= ~bit;
    };
    if constexpr (std::same_as<D, converged>)
      take_back(group().arrived);
    else if constexpr (std::same_as<D, reconverging_t>)
      take_back(group().diverged);
    else
      take_back(how_.state().arrived);
    awaited_by_child(to_string(what_.what), where_);
  }
};

/// Made by wavefront::barrier().
class [[nodiscard]] group_barrier : public group_meeting<converged> {
public:
  group_barrier(wave_slot& w, std::source_location where) noexcept
      : group_meeting(w, kind_of<meeting::barrier>, {}, where) {}
  void await_resume() const noexcept {}
};

/// Made by wavefront::barrier_of(): a barrier of those whom the mechanism brings together.
template<divergence_mechanism D>
class [[nodiscard]] group_barrier_of : public group_meeting<D> {
public:
  group_barrier_of(wave_slot& w, D how, std::source_location where) noexcept
      : group_meeting<D>(w, kind_of<meeting::barrier>, how, where) {}
  void await_resume() const noexcept {}
};

/// Made by wavefront::group_reduce().
template<class T, class Op, divergence_mechanism D>
class [[nodiscard]] group_reduction : public group_meeting<D> {
public:
  static constexpr meeting_kind const& kind = kind_of<meeting::reduce, void(T, Op)>;
  group_reduction(wave_slot& w, T partial, Op op, D how, std::source_location where)
      : group_meeting<D>(w, kind, how, where), partial_(partial), op_(op) {}
  QUARRY_ALWAYS_INLINE bool await_ready() { return this->arrive_with(partial_); }
  T await_resume() const {
    T total = Op::template identity<T>();
    this->template for_each_value<T>(
        [&](std::uint32_t, T v) { total = static_cast<T>(op_(total, v)); });
    return total;
  }

private:
  T partial_;
  [[no_unique_address]] Op op_;
};

/// Made by wavefront::group_prefix_sum().
template<class T, int Size, divergence_mechanism D>
class [[nodiscard]] group_prefix : public group_meeting<D> {
public:
  static constexpr meeting_kind const& kind = kind_of<meeting::prefix_sum, void(T)>;
  group_prefix(wave_slot& w, T wave_total, lanes<T, Size>& out, D how, std::source_location where)
      : group_meeting<D>(w, kind, how, where), wave_total_(wave_total), out_(out) {}
  QUARRY_ALWAYS_INLINE bool await_ready() { return this->arrive_with(wave_total_); }
  T await_resume() const {
    T before{};
    T total{};
    this->template for_each_value<T>([&](std::uint32_t i, T v) {
      if (i < this->wave_.index)
        before = plus{}(before, v);
      total = plus{}(total, v);
    });
    out_ = out_ + before;
    return total;
  }

private:
  T wave_total_;
  lanes<T, Size>& out_;
};

/// Where a wavefront's active work-items stand among the group's.
struct group_place {
  std::uint32_t before; ///< active work-items of lower wavefronts
  std::uint32_t total;  ///< of the group
  std::uint32_t parts;  ///< wavefronts that have one
  bool is_last;         ///< no higher wavefront has one: the leader is here (thesis Figure 5-2b)
};

/// Made by wavefront::group_offset().
template<divergence_mechanism D>
class [[nodiscard]] group_offsets : public group_meeting<D> {
public:
  group_offsets(wave_slot& w, std::uint32_t count, D how, std::source_location where)
      : group_meeting<D>(w, kind_of<meeting::prefix_sum, group_place>, how, where), count_(count) {}
  QUARRY_ALWAYS_INLINE bool await_ready() { return this->arrive_with(count_); }
  group_place await_resume() const {
    group_place place{0, 0, 0, true};
    this->template for_each_value<std::uint32_t>([&](std::uint32_t i, std::uint32_t n) {
      if (i < this->wave_.index)
        place.before += n;
      if (i > this->wave_.index && n != 0)
        place.is_last = false;
      place.total += n;
      place.parts += n != 0 ? 1 : 0;
    });
    return place;
  }

private:
  std::uint32_t count_;
};

/// Made by wavefront::group_broadcast().
template<class T, divergence_mechanism D>
class [[nodiscard]] group_broadcasting : public group_meeting<D> {
  struct offer {
    T value;
    std::uint32_t is_source;
  };
  static_assert(sizeof(offer) <= work_group::value_bytes, "broadcast at most 8 bytes");

public:
  static constexpr meeting_kind const& kind = kind_of<meeting::broadcast, void(T)>;
  group_broadcasting(wave_slot& w, T value, bool is_source, D how, std::source_location where)
      : group_meeting<D>(w, kind, how, where), offer_{value, is_source ? 1U : 0U} {}
  QUARRY_ALWAYS_INLINE bool await_ready() { return this->arrive_with(offer_); }
  T await_resume() const {
    T chosen{};
    this->template for_each_value<offer>([&](std::uint32_t, offer o) {
      if (o.is_source != 0)
        chosen = o.value;
    });
    return chosen;
  }

private:
  offer offer_;
};

} // namespace quarry::emu
