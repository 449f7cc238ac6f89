// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/channel_orders.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace quarry::emu {

/// How a wavefront reserves elements (thesis Figure 4-15): each of its work-items for itself, or
/// one for all of them (Figure 4-3).
enum class channel_reservation : std::uint8_t { per_work_item, per_wavefront };

struct channel_options {
  std::uint32_t width = 1024; ///< elements
  std::uint32_t elements_per_done_count = 64;
  channel_reservation reservation = channel_reservation::per_wavefront;
  /// No two elements share a cache line: what a linked list would do to memory (Figure 4-15).
  bool is_padded = false;
  channel_orders orders{};
  std::string name = "channel";
};

/// What a channel has done; counted under deterministic schedulers, where the counts are exact.
struct channel_counts {
  std::uint64_t allocated = 0;    ///< elements
  std::uint64_t reservations = 0; ///< that found room
  std::uint64_t refusals = 0;     ///< that found none
  std::uint64_t exchanges = 0;    ///< compare-and-swaps, those that failed, too
  std::uint64_t additions = 0;    ///< other atomic updates
  std::uint64_t most = 0;         ///< elements that were in the channel at the same time
};

/// Elements that an actor has allocated and not yet enqueued: `count` in a row, from `first` on.
struct channel_elements {
  void const* channel = nullptr;
  std::uint32_t first = 0; ///< position in the data array; positions wrap at the width
  std::uint32_t count = 0;
};
/// The same for the work-items of a wavefront, a row each.
template<int Size>
struct wave_elements {
  void const* channel = nullptr;
  lanes<std::uint32_t, Size> first{};
  lanes<std::uint32_t, Size> count{};
  lane_mask got{}; ///< those that have elements
};

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
class basic_channel {
  static_assert(std::is_trivially_copyable_v<T> && std::is_class_v<T>);
  static_assert(IndexBits >= 3 && IndexBits <= 64);
  static constexpr std::uint64_t wrap = ~std::uint64_t{0} >> (64 - IndexBits);

public:
  using element = T;

  /// Errors   std::invalid_argument – a shape outside the limits
  basic_channel(allocations& known, channel_options const& o)
      : width_(checked(o)), share_(o.elements_per_done_count),
        stride_(o.is_padded ? std::max<std::uint32_t>(1, (64 + sizeof(T) - 1) / sizeof(T)) : 1),
        reservation_(o.reservation), orders_(o.orders), name_(o.name),
        data_(known, std::size_t{width_} * stride_, o.name + " data"),
        control_(known, 2 * std::size_t{width_}, o.name + " control"),
        done_(known, width_ / share_, o.name + " done counts"),
        indices_(known, 5, o.name + " indices"), states_(width_, state::available) {}
  basic_channel(basic_channel const&) = delete;
  basic_channel& operator=(basic_channel const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] channel_counts const& counts() const noexcept { return counts_; }
  /// The most elements that a single talloc can have: the rest of a done count that is in use
  /// cannot be given back.
  [[nodiscard]] std::uint32_t most_at_once() const noexcept { return width_ - share_ + 1; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return data_.size() * sizeof(T) + control_.size() * 4 + done_.size() * 4;
  }

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
      if (auto const first = reserve(self, count))
        co_return channel_elements{this, *first, count};
      self.fetch_add(index(waiting_producers), 1, orders_.count_waiting);
      co_await room_for(self, count);
      self.fetch_sub(index(waiting_producers), 1, orders_.count_waiting.how,
                     orders_.count_waiting.far);
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
    check_owner(e.channel, where);
    if (e.count == 0)
      co_return;
    std::uint64_t const from = write_control(self, e, where);
    co_await control_turn(self, from);
    publish(self, from + e.count);
  }
  /// The same where nobody else enqueues meanwhile: there is nothing to wait for.
  template<class A>
  void enq_alone(A& self, channel_elements const& e,
                 std::source_location where = std::source_location::current()) {
    check_owner(e.channel, where);
    publish(self, write_control(self, e, where) + e.count);
  }

  // Producers: the active work-items of a wavefront, `count` elements each

  template<any_wavefront W>
  [[nodiscard]] wave_elements<W::size> try_talloc(W& wf,
                                                  lanes<std::uint32_t, W::size> const& count) {
    wave_elements<W::size> e{this, {}, count, {}};
    reserve_lanes(wf, e);
    return e;
  }
  /// The same, once there is room: for all of them, or for some where each reserves for itself. Who
  /// holds elements waits for no others, or everybody might.
  template<any_wavefront W>
  task<wave_elements<W::size>> talloc(W& wf, lanes<std::uint32_t, W::size> count) {
    wave_elements<W::size> e{this, {}, count, {}};
    for (;;) {
      std::uint32_t const lacking = reserve_lanes(wf, e);
      if (lacking == 0 || e.got.any())
        co_return e;
      wf.fetch_add(index(waiting_producers), 1, orders_.count_waiting);
      co_await room_for(wf, lacking);
      wf.fetch_sub(index(waiting_producers), 1, orders_.count_waiting.how,
                   orders_.count_waiting.far);
    }
  }
  /// All three: fill(elements) writes those of the work-items that have them and are active then.
  /// Called more than once if they cannot have them all at once.
  template<any_wavefront W, class Fill>
  task<> send(W& wf, lanes<std::uint32_t, W::size> count, Fill fill) {
    for (lane_mask left = wf.active(); left.any();) {
      // No more than there can be room for.
      auto const before = emu::exclusive_prefix_sum(count, left);
      lane_mask fits{};
      left.for_each([&](int lane) {
        if (fits.empty() || before[lane] + count[lane] <= most_at_once())
          fits.set(lane);
      });
      auto const those = wf.where(fits);
      task<wave_elements<W::size>> allocated = talloc(wf, count);
      wave_elements<W::size> const e = co_await std::move(allocated);
      {
        auto const some = wf.where(e.got);
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
    check_owner(e.channel, where);
    auto const those = wf.where(e.got);
    lane_mask const active = wf.active();
    if (active.empty())
      co_return;
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
    std::uint64_t const tail = self.load(index(control_tail), orders_.aggregator_reads_tail);
    return static_cast<std::uint32_t>((tail - taken_) & wrap);
  }
  /// Takes `count` of them for a dispatch: their offsets, for deq(), begin at the result.
  [[nodiscard]] std::uint64_t take(std::uint32_t count) {
    return std::exchange(taken_, (taken_ + count) & wrap);
  }
  /// Producers that wait for room.
  template<class A>
  [[nodiscard]] std::uint32_t waiting(A& self) {
    return static_cast<std::uint32_t>(self.load(index(waiting_producers), orders_.count_waiting));
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
      self.store(index(data_head), head_, orders_.publish_head);
    return freed;
  }

  // Consumers: one actor

  /// The element that offset `off` of a dispatch stands for.
  template<class A>
  [[nodiscard]] global<T> deq(A& self, std::uint64_t off,
                              std::source_location where = std::source_location::current()) {
    return slot(take_position(self, off, where));
  }
  /// The element at this offset is not needed any more.
  template<class A>
  void tfree(A& self, std::uint64_t off,
             std::source_location where = std::source_location::current()) {
    std::uint32_t const position = self.load(control(off));
    move(self, position, state::dispatched, state::done, "frees", where);
    count_done(self, position, 1);
  }

  // Consumers: the active work-items of a wavefront, each with an offset of its own

  /// Positions, for field() and tfree().
  template<any_wavefront W>
  [[nodiscard]] lanes<std::uint32_t, W::size>
  deq(W& wf, lanes<std::uint32_t, W::size> const& off,
      std::source_location where = std::source_location::current()) {
    auto const position =
        wf.load(control_.global() + convert<std::int32_t>(off & (2 * width_ - 1)));
    if (wf.is_explored())
      wf.active().for_each([&](int lane) {
        move(wf, position[lane], state::ready, state::dispatched, "dequeues", where);
      });
    return position;
  }
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
      lane_mask same{};
      rest.for_each([&](int lane) {
        if (position[lane] / share_ == block)
          same.set(lane);
      });
      count_done(wf, block * share_, static_cast<std::uint32_t>(same.count()));
      rest = rest.without(same);
    }
  }

private:
  enum class state : std::uint8_t { available, reserved, ready, dispatched, done };
  enum which : std::uint8_t { data_head, data_tail, reserve_tail, control_tail, waiting_producers };
  struct alignas(64) index_line {
    std::uint64_t value;
  };

  static std::uint32_t checked(channel_options const& o) {
    auto const refuse = [&](std::string const& why) {
      throw std::invalid_argument(o.name + ": " + why);
    };
    constexpr std::uint64_t most =
        IndexBits >= 33 ? std::uint64_t{1} << 31 : std::uint64_t{1} << (IndexBits - 2);
    if (!std::has_single_bit(o.width) || o.width > most)
      refuse("a width of " + std::to_string(o.width) + "; allowed are powers of two up to " +
             std::to_string(most));
    if (o.elements_per_done_count == 0 || o.width % o.elements_per_done_count != 0)
      refuse(std::to_string(o.elements_per_done_count) +
             " elements a done count; allowed are divisors of the width, " +
             std::to_string(o.width));
    return o.width;
  }

  [[nodiscard]] global<T> slot(std::uint64_t position) {
    return data_.global() + (position & (width_ - 1)) * stride_;
  }
  [[nodiscard]] global<std::uint32_t> control(std::uint64_t off) {
    return control_.global() + (off & (2 * std::uint64_t{width_} - 1));
  }
  [[nodiscard]] global<std::uint32_t> oldest_done() {
    return done_.global() + (head_ & (width_ - 1)) / share_;
  }
  [[nodiscard]] global<std::uint64_t> index(which w) {
    return global<std::uint64_t>(&indices_.global().get()[w].value);
  }

  void check_owner(void const* channel, std::source_location where) const {
    if (channel != this) [[unlikely]]
      throw kernel_stop{fault::kind::misuse,
                        name_ + ": enq of elements that talloc of another channel has given",
                        where};
  }
  /// The states of Figure 4-2; only watched where somebody explores.
  template<class A>
  void move(A& self, std::uint64_t position, state from, state to, char const* what,
            std::source_location where) {
    if (!self.is_explored())
      return;
    static constexpr char const* names[] = {"available", "reserved", "ready", "dispatched", "done"};
    state& now = states_[position & (width_ - 1)];
    if (now != from)
      self.report_misuse((std::string(what) + " element " +
                          std::to_string(position & (width_ - 1)) + " of " + name_ + ", which is " +
                          names[static_cast<int>(now)] + " and not " +
                          names[static_cast<int>(from)])
                             .c_str(),
                         where);
    now = to;
  }

  /// The position of the first of `count` elements (Figure 4-3, one actor's part).
  template<class A>
  std::optional<std::uint32_t>
  reserve(A& self, std::uint32_t count,
          std::source_location where = std::source_location::current()) {
    check_count(count, where);
    for (;;) {
      // The head first: the tail that belongs to it, or a later one, is visible then.
      std::uint64_t const head = self.load(index(data_head), orders_.producer_reads_head);
      std::uint64_t tail = self.load(index(data_tail), orders_.reads_tail);
      std::uint64_t const used = (tail + count - head) & wrap;
      if (used > width_) {
        counted(self, [](channel_counts& c) { ++c.refusals; });
        return std::nullopt;
      }
      counted(self, [](channel_counts& c) { ++c.exchanges; });
      std::uint64_t const next = (tail + count) & wrap;
      if (self.compare_exchange(index(data_tail), tail, next, orders_.reserve.how,
                                orders_.reserve.far)) {
        counted(self, [&](channel_counts& c) {
          ++c.reservations;
          c.allocated += count;
          c.most = std::max(c.most, used);
        });
        for (std::uint32_t i = 0; i < count; ++i)
          move(self, tail + i, state::available, state::reserved, "allocates", where);
        return static_cast<std::uint32_t>(tail & (width_ - 1));
      }
    }
  }

  /// For those active work-items that have none yet. What did not fit: a count to wait for, or 0.
  template<any_wavefront W>
  std::uint32_t reserve_lanes(W& wf, wave_elements<W::size>& e) {
    lane_mask const active = wf.active().without(e.got);
    if (active.empty())
      return 0;
    if (reservation_ == channel_reservation::per_work_item) {
      std::uint32_t lacking = 0;
      active.for_each([&](int lane) {
        if (lacking != 0)
          return;
        if (auto const first = reserve(wf, e.count[lane])) {
          e.first.set(lane, *first);
          e.got.set(lane);
        } else {
          lacking = e.count[lane];
        }
      });
      return lacking;
    }
    auto const offset = emu::exclusive_prefix_sum(e.count, active);
    std::uint32_t const all = offset[active.last()] + e.count[active.last()];
    auto const first = reserve(wf, all);
    if (!first)
      return all;
    e.first = (offset + *first) & (width_ - 1);
    e.got = active;
    return 0;
  }

  void check_count(std::uint32_t count, std::source_location where) const {
    if (count > most_at_once()) [[unlikely]]
      throw kernel_stop{fault::kind::wrong_shape,
                        name_ + ": talloc of " + std::to_string(count) +
                            " elements at once; at most " + std::to_string(most_at_once()) +
                            " are ever free",
                        where};
  }

  /// Awaits that there may be room.
  template<class A>
  auto room_for(A& self, std::uint32_t count) {
    std::uint64_t const tail = self.load(index(data_tail), orders_.reads_tail);
    auto const has_room = [this, tail, count](std::uint64_t head) {
      return ((tail + count - head) & wrap) <= width_ || // or the tail is older than that
             ((tail - head) & wrap) > width_;
    };
    return self.wait_until(index(data_head), has_room, orders_.producer_reads_head);
  }

  /// Reserves entries of the control array and writes the elements' positions there.
  template<class A>
  std::uint64_t write_control(A& self, channel_elements const& e, std::source_location where) {
    std::uint64_t const from = reserve_control(self, e.count);
    for (std::uint32_t i = 0; i < e.count; ++i) {
      move(self, e.first + i, state::reserved, state::ready, "enqueues", where);
      self.store(control(from + i), (e.first + i) & (width_ - 1));
    }
    return from;
  }
  template<class A>
  std::uint64_t reserve_control(A& self, std::uint32_t count) {
    counted(self, [](channel_counts& c) { ++c.additions; });
    return self.fetch_add(index(reserve_tail), count, orders_.reserve_control) & wrap;
  }
  template<class A>
  auto control_turn(A& self, std::uint64_t from) {
    auto const is_turn = [from](std::uint64_t tail) { return tail == from; };
    return self.wait_until(index(control_tail), is_turn, orders_.awaits_control_turn);
  }
  template<class A>
  void publish(A& self, std::uint64_t to) {
    self.store(index(control_tail), to & wrap, orders_.publish_control_tail);
  }

  template<class A>
  std::uint32_t take_position(A& self, std::uint64_t off, std::source_location where) {
    std::uint32_t const position = self.load(control(off));
    move(self, position, state::ready, state::dispatched, "dequeues", where);
    return position;
  }
  template<class A>
  void count_done(A& self, std::uint32_t position, std::uint32_t count) {
    counted(self, [](channel_counts& c) { ++c.additions; });
    self.fetch_add(done_.global() + position / share_, count, orders_.count_done);
  }

  template<class A, class F>
  void counted(A&, F f) {
    if constexpr (A::memory_type::may_explore)
      f(counts_);
  }

  std::uint32_t width_;
  std::uint32_t share_;
  std::uint32_t stride_;
  channel_reservation reservation_;
  channel_orders orders_;
  std::string name_;
  buffer<T> data_;
  buffer<std::uint32_t> control_;
  buffer<std::uint32_t> done_;
  buffer<index_line> indices_;
  std::uint64_t head_ = 0;  ///< the aggregator's: what data_head says
  std::uint64_t taken_ = 0; ///< the aggregator's: the control array's head
  channel_counts counts_;
  std::vector<state> states_; ///< for `explore`, which runs on one thread
};

template<class T>
using channel = basic_channel<T>;

} // namespace quarry::emu
