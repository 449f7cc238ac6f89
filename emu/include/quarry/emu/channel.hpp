// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel_arrays.hpp>
#include <quarry/emu/channel_options.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/wavefront_yield.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <source_location>
#include <utility>

namespace quarry::emu {

/// A finite queue of small elements that work-items produce and whole wavefronts consume: lock-free
/// for its users, SIMT-direct, array-based.
///
/// talloc → fill → enq by producers; the aggregator, one actor, takes ranges of what is ready and
/// points consumers at them; deq → read → tfree by consumers; the aggregator gives space back in
/// the order in which it was allocated, `elements_per_done_count` at a time. An element is
/// available, reserved, ready, dispatched, done, in this order; under `explore` its state is
/// checked. A full channel refuses, or lets wait; enq waits for enqs that have begun before it.
///
/// Indices count elements for ever, modulo 2^IndexBits. With few bits a talloc that sleeps while
/// they wrap finds the tail that it had read, and takes what is in use (ABA): 64 bits do not wrap.
///
/// Shape    T a trivially copyable class; width a power of two up to 2^31, a multiple of
///          elements_per_done_count, at most a quarter of 2^IndexBits
/// Source   thesis §4.1.2, Figures 4-2 and 4-3, Table 4-1; differs: indices of 64 bits, and
///          reserve-tail is moved by an addition, because the control array always has room
template<class T, int IndexBits = 64>
class basic_channel : public channel_arrays<T, IndexBits> {
  using base = channel_arrays<T, IndexBits>;
  using base::check_dispatched;
  using base::check_owner;
  using base::control;
  using base::control_;
  using base::control_turn;
  using base::count_done;
  using base::data_;
  using base::head_;
  using base::index;
  using base::move;
  using base::oldest_done;
  using base::orders_;
  using base::publish;
  using base::reserve;
  using base::reserve_control;
  using base::reserve_lanes;
  using base::room_for;
  using base::share_;
  using base::slot;
  using base::states_;
  using base::stride_;
  using base::taken_;
  using base::width_;
  using base::wrap;
  using base::write_control;
  using typename base::state;

public:
  using element = T;
  /// Errors   std::invalid_argument – a shape outside the limits
  using base::base;

  // Producers: one actor

  /// `count` elements in a row, or none if there is no room for them.
  ///
  /// Errors   fault wrong_shape – more than most_at_once()
  template<class A>
  [[nodiscard]] std::optional<channel_elements> try_talloc(A& self, std::uint32_t count) {
    auto const first = reserve(self, count);
    if (!first)
      return std::nullopt;
    return channel_elements{this, *first, count};
  }
  /// The same, once there is room.
  template<class A>
  task<channel_elements> talloc(A& self, std::uint32_t count) {
    for (;;) {
      if (auto const mine = try_talloc(self, count))
        co_return *mine;
      task<> room = wait_for_room(self, count);
      co_await std::move(room);
    }
  }
  /// Where element `i` of those is.
  [[nodiscard]] global<T> at(channel_elements const& e, std::uint32_t i = 0) {
    return slot(e.first + i);
  }
  /// Makes them visible to the aggregator.
  ///
  /// Errors   fault misuse – elements of another channel
  template<class A>
  task<> enq(A& self, channel_elements e,
             std::source_location where = std::source_location::current()) {
    if (e.count == 0) {
      check_owner(e.channel, e.first, where);
      co_return;
    }
    std::uint64_t const from = begin_enq(self, e, where);
    co_await enq_turn(self, from);
    end_enq(self, from, e.count);
  }
  /// Its three parts, for who wants no coroutine for them: `co_await enq_turn(self, from)` between
  /// the others. Not for no elements.
  template<class A>
  [[nodiscard]] std::uint64_t
  begin_enq(A& self, channel_elements const& e,
            std::source_location where = std::source_location::current()) {
    check_owner(e.channel, e.first, where);
    return write_control(self, e, where);
  }
  template<class A>
  [[nodiscard]] auto enq_turn(A& self, std::uint64_t from) {
    return control_turn(self, from);
  }
  template<class A>
  void end_enq(A& self, std::uint64_t from, std::uint32_t count) {
    publish(self, from + count);
  }
  /// The same where nobody else enqueues meanwhile: there is nothing to wait for.
  template<class A>
  void enq_alone(A& self, channel_elements const& e,
                 std::source_location where = std::source_location::current()) {
    check_owner(e.channel, e.first, where);
    publish(self, write_control(self, e, where) + e.count);
  }

  /// Awaits that there may be room for `count` elements: where the channel says so, a wavefront
  /// gives up its slot meanwhile. `live_bytes`: of its registers, if it is known.
  template<class A>
  task<> wait_for_room(A& self, std::uint32_t count, std::uint32_t live_bytes = 0,
                       std::source_location where = std::source_location::current()) {
    if constexpr (any_wavefront<A>)
      if (restarts_ != nullptr) {
        wave_slot& wave = self.slot();
        auto allocated = restarts_->talloc(self, 1U);
        channel_elements const mine = co_await std::move(allocated);
        std::uint32_t const ticket = static_cast<compute_unit*>(wave.home)->begin_yield(wave);
        self.store(restarts_->at(mine), {.wave = reinterpret_cast<std::uint64_t>(&wave),
                                         .ticket = ticket,
                                         .bytes = live_bytes + std::uint32_t{sizeof(wave_slot)},
                                         .channel = number_,
                                         .count = count});
        task<> sent = restarts_->enq(self, mine);
        co_await std::move(sent);
        co_await wavefront_yield(wave, this, where);
        co_return;
      }
    typename base::template waiting_producer<A> waits(*this, self);
    co_await room_for(self, count);
    waits.end();
  }
  /// Wavefronts that find no room yield, and leave their restart contexts there, with this number.
  /// Before the channel is used. Borrowed.
  void yield_through(basic_channel<restart_context>& restarts, std::uint32_t number) noexcept {
    restarts_ = &restarts;
    number_ = number;
  }

  // Producers: the active work-items of a wavefront, `count` elements each

  /// For all of them, or for those for whom there is room where each reserves for itself.
  ///
  /// Errors   fault wrong_shape – more than most_at_once(), of all that reserve together
  template<any_wavefront W>
  [[nodiscard]] wave_elements<W::size> try_talloc(W& wf,
                                                  lanes<std::uint32_t, W::size> const& count) {
    wave_elements<W::size> e{this, {}, count, {}};
    reserve_lanes(wf, e);
    return e;
  }
  /// The same, once there is room: for all of them, or for some where each reserves for itself. Who
  /// holds elements waits for no others, or everybody might. Errors as try_talloc().
  template<any_wavefront W>
  task<wave_elements<W::size>> talloc(W& wf, lanes<std::uint32_t, W::size> count) {
    wave_elements<W::size> e{this, {}, count, {}};
    for (;;) {
      std::uint32_t const lacking = reserve_lanes(wf, e);
      if (lacking == 0 || e.got.any())
        co_return e;
      task<> room = wait_for_room(wf, lacking);
      co_await std::move(room);
    }
  }
  /// All three: fill(elements) writes those of the work-items that have them and are active then.
  /// Called more than once if they cannot have them all at once.
  ///
  /// Errors   fault wrong_shape – a work-item's are more than most_at_once()
  template<any_wavefront W, class Fill>
  task<> send(W& wf, lanes<std::uint32_t, W::size> count, Fill fill) {
    for (lane_mask left = wf.active(); left.any();) {
      // No more than there can be room for.
      std::uint64_t sum = 0;
      lane_mask fits{};
      left.for_each([&](int lane) {
        sum += count[lane];
        if (fits.empty() || sum <= this->most_at_once())
          fits.set(lane);
      });
      auto const those = wf.where(fits);
      task<wave_elements<W::size>> allocated = talloc(wf, count);
      wave_elements<W::size> const e = co_await std::move(allocated);
      {
        auto const some = wf.where(e.got);
        if (auto const with_elements = wf.where(e.count > 0U))
          fill(e);
      }
      task<> sent = enq(wf, e);
      co_await std::move(sent);
      left = left.without(e.got);
    }
  }
  /// Member `m` of element `i` of each work-item's: to load from and to store to.
  template<class F, int Size>
  [[nodiscard]] auto at(wave_elements<Size> const& e, std::uint32_t i, F T::* m) {
    return field(e.first + i, m);
  }
  /// Those of the active work-items that have some.
  template<any_wavefront W>
  task<> enq(W& wf, wave_elements<W::size> e,
             std::source_location where = std::source_location::current()) {
    auto const those = wf.where(e.got);
    lane_mask const active = wf.active();
    if (active.empty())
      co_return;
    check_owner(e.channel, e.first[active.first()], where);
    auto const offset = emu::exclusive_prefix_sum(e.count, active);
    std::uint32_t const all = offset[active.last()] + e.count[active.last()];
    if (all == 0)
      co_return;
    std::uint64_t const from = reserve_control(wf, all);
    std::uint32_t most = 0;
    active.for_each([&](int lane) { most = std::max(most, e.count[lane]); });
    for (std::uint32_t i = 0; i < most; ++i) {
      auto const has = wf.where(e.count > i);
      auto const position = (e.first + i) & (width_ - 1);
      if (wf.is_explored())
        wf.active().for_each([&](int lane) {
          move(wf, position[lane], state::reserved, state::ready, "enqueues", where);
        });
      auto const entry = (offset + (static_cast<std::uint32_t>(from) + i)) & (2 * width_ - 1);
      wf.store(control_.global() + convert<std::int32_t>(entry), position);
    }
    co_await control_turn(wf, from);
    publish(wf, from + all);
  }

  // The aggregator: one actor

  /// Elements that are ready.
  template<class A>
  [[nodiscard]] std::uint32_t ready(A& self) {
    std::uint64_t const tail = self.load(index(base::control_tail), orders_.aggregator_reads_tail);
    return static_cast<std::uint32_t>((tail - taken_) & wrap);
  }
  /// Elements for which there is room.
  template<class A>
  [[nodiscard]] std::uint32_t room(A& self) {
    std::uint64_t const tail = self.load(index(base::data_tail), orders_.reads_tail);
    return width_ - static_cast<std::uint32_t>((tail - head_) & wrap);
  }
  /// Takes `count` of them for a dispatch: their offsets, for deq(), begin at the result.
  [[nodiscard]] std::uint64_t take(std::uint32_t count) {
    return std::exchange(taken_, (taken_ + count) & wrap);
  }
  /// Producers that wait for room.
  template<class A>
  [[nodiscard]] std::uint32_t waiting(A& self) {
    return static_cast<std::uint32_t>(
        self.load(index(base::waiting_producers), orders_.count_waiting));
  }
  /// Would reclaim() give anything back?
  template<class A>
  [[nodiscard]] bool can_reclaim(A& self) {
    return self.load(oldest_done(), orders_.aggregator_reads_done) == share_;
  }
  /// Gives back what is done, in the order in which it was allocated. How many elements.
  template<class A>
  std::uint32_t reclaim(A& self) {
    std::uint32_t freed = 0;
    while (freed < width_) {
      if (self.load(oldest_done(), orders_.aggregator_reads_done) != share_)
        break;
      self.store(oldest_done(), 0, orders_.clear_done);
      if (self.is_explored())
        for (std::uint32_t i = 0; i < share_; ++i)
          states_[(head_ + i) & (width_ - 1)] = state::available;
      head_ = (head_ + share_) & wrap;
      freed += share_;
    }
    if (freed != 0)
      self.store(index(base::data_head), head_, orders_.publish_head);
    return freed;
  }

  // Consumers: one actor

  /// The element that offset `off` of a dispatch stands for.
  template<class A>
  [[nodiscard]] global<T> deq(A& self, std::uint64_t off,
                              std::source_location where = std::source_location::current()) {
    check_dispatched(self, off, where);
    std::uint32_t const position = self.load(control(off));
    move(self, position, state::ready, state::dispatched, "dequeues", where);
    return slot(position);
  }
  /// The element at this offset is not needed any more.
  template<class A>
  void tfree(A& self, std::uint64_t off,
             std::source_location where = std::source_location::current()) {
    std::uint32_t const position = self.load(control(off));
    move(self, position, state::dispatched, state::done, "frees", where);
    count_done(self, position, 1, where);
  }

  // Consumers: the active work-items of a wavefront, each with an offset of its own

  /// Positions, for field() and tfree().
  template<any_wavefront W>
  [[nodiscard]] lanes<std::uint32_t, W::size>
  deq(W& wf, lanes<std::uint32_t, W::size> const& off,
      std::source_location where = std::source_location::current()) {
    if constexpr (W::memory_type::may_explore)
      wf.active().for_each([&](int lane) { check_dispatched(wf, off[lane], where); });
    auto const position =
        wf.load(control_.global() + convert<std::int32_t>(off & (2 * width_ - 1)));
    if (wf.is_explored())
      wf.active().for_each([&](int lane) {
        move(wf, position[lane], state::ready, state::dispatched, "dequeues", where);
      });
    return position;
  }
  /// The same for the active ones of `W::size` elements in a row, from offset `off` on.
  template<any_wavefront W>
  [[nodiscard]] lanes<std::uint32_t, W::size>
  deq_row(W& wf, std::uint64_t off, std::source_location where = std::source_location::current()) {
    std::uint64_t const entry = off & (2 * std::uint64_t{width_} - 1);
    typename W::local_index const lane(0);
    if (wf.is_explored() || entry + W::size > 2 * std::uint64_t{width_})
      return deq(wf, convert<std::uint32_t>(lane.to_lanes()) + static_cast<std::uint32_t>(off),
                 where);
    return wf.load(control_.global() + entry + lane);
  }
  /// The element at this position.
  [[nodiscard]] global<T> at_position(std::uint32_t position) { return slot(position); }
  /// A member of the elements at these positions.
  template<class F, int Size>
  [[nodiscard]] auto field(lanes<std::uint32_t, Size> const& position, F T::* m) {
    static_assert(sizeof(T) % sizeof(F) == 0, "an element's size is a multiple of its members'");
    auto const scale = static_cast<std::uint32_t>(stride_ * (sizeof(T) / sizeof(F)));
    return global<F>(&(data_.global().get()->*m)) +
           convert<std::int32_t>((position & (width_ - 1)) * scale);
  }
  template<any_wavefront W>
  void tfree(W& wf, lanes<std::uint32_t, W::size> const& position,
             std::source_location where = std::source_location::current()) {
    if (wf.is_explored())
      wf.active().for_each([&](int lane) {
        move(wf, position[lane], state::dispatched, state::done, "frees", where);
      });
    // One addition for all work-items whose elements share a done count.
    for (lane_mask rest = wf.active(); rest.any();) {
      std::uint32_t const block = position[rest.first()] / share_;
      auto const in_block = position >> std::countr_zero(share_) == block; // a power of two
      lane_mask const same = in_block.bits() & rest;
      count_done(wf, position[rest.first()], static_cast<std::uint32_t>(same.count()), where);
      rest = rest.without(same);
    }
  }

private:
  basic_channel<restart_context>* restarts_ = nullptr;
  std::uint32_t number_ = 0; ///< that the restart contexts name
};

template<class T>
using channel = basic_channel<T>;

} // namespace quarry::emu
