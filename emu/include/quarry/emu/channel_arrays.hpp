// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/channel_options.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/lane_algorithms.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/wavefront.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace quarry::emu {

/// The three arrays of a channel with their indices, and what is done with them one step at a time:
/// what channel.hpp puts together.
///
/// Source   thesis §4.1.2, Figures 4-2 and 4-3
template<class T, int IndexBits>
class channel_arrays {
  static_assert(std::is_trivially_copyable_v<T> && std::is_class_v<T>);
  static_assert(IndexBits >= 3 && IndexBits <= 64);

public:
  /// Errors   std::invalid_argument – a shape outside the limits
  channel_arrays(allocations& known, channel_options const& o,
                 std::source_location where = std::source_location::current())
      : width_(checked(o)), share_(o.elements_per_done_count),
        stride_(o.is_padded ? padded_stride : 1), reservation_(o.reservation), orders_(o.orders),
        name_(o.name), data_(known, std::size_t{width_} * stride_, o.name + " data", where),
        control_(known, 2 * std::size_t{width_}, o.name + " control", where),
        done_(known, width_ / share_, o.name + " done counts", where),
        indices_(known, 5, o.name + " indices", {}, where), states_(width_, state::available) {}
  channel_arrays(channel_arrays const&) = delete;
  channel_arrays& operator=(channel_arrays const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] channel_counts const& counts() const noexcept { return counts_; }
  /// From the host, at any time.
  [[nodiscard]] channel_usage usage() const noexcept {
    std::uint64_t const head = indices_.peek(data_head), tail = indices_.peek(data_tail);
    return {static_cast<std::uint32_t>((tail - head) & wrap),
            static_cast<std::uint32_t>(indices_.peek(waiting_producers))};
  }
  /// Elements that talloc has given, and nobody has enqueued. Where no producer is at work.
  [[nodiscard]] std::uint64_t not_enqueued(bool is_explored) const noexcept {
    if (is_explored) // what the indices say is in caches
      return static_cast<std::uint64_t>(
          std::count(states_.begin(), states_.end(), state::reserved));
    return (indices_.peek(data_tail) - indices_.peek(reserve_tail)) & wrap;
  }
  /// The most elements that a single talloc can have: the rest of a done count that is in use
  /// cannot be given back.
  [[nodiscard]] std::uint32_t most_at_once() const noexcept { return width_ - share_ + 1; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return data_.size() * sizeof(T) + control_.size() * 4 + done_.size() * 4;
  }

  /// Elements in a row, by number. Has its own copy of the channel's shape: a loop that writes them
  /// need not load it again for each.
  class row {
  public:
    [[nodiscard]] global<T> operator[](std::uint32_t i) const noexcept {
      return data_ + std::size_t{(first_ + i) & last_} * stride_;
    }

  private:
    friend class channel_arrays;
    row(global<T> data, std::uint32_t first, std::uint32_t last, std::uint32_t stride) noexcept
        : data_(data), first_(first), last_(last), stride_(stride) {}
    global<T> data_;
    std::uint32_t first_;
    std::uint32_t last_; ///< position of the array
    std::uint32_t stride_;
  };
  [[nodiscard]] row row_of(channel_elements const& e) {
    return {data_.global(), e.first, width_ - 1, stride_};
  }

protected:
  static constexpr std::uint64_t wrap = ~std::uint64_t{0} >> (64 - IndexBits);
  /// Elements from one to the next that shares no cache line with it: each begins a line, or 64
  /// bytes after the last byte of the one before.
  static constexpr auto padded_stride = static_cast<std::uint32_t>(
      std::min(64 / std::gcd(std::size_t{64}, sizeof(T)), 1 + (63 + sizeof(T) - 1) / sizeof(T)));
  ~channel_arrays() = default;

  enum class state : std::uint8_t { available, reserved, ready, dispatched, done };
  enum which : std::uint8_t { data_head, data_tail, reserve_tail, control_tail, waiting_producers };

  static std::uint32_t checked(channel_options const& o) {
    auto const refuse = [&](std::string const& why) {
      throw std::invalid_argument(o.name + ": " + why);
    };
    constexpr std::uint64_t most =
        IndexBits >= 33 ? std::uint64_t{1} << 31 : std::uint64_t{1} << (IndexBits - 2);
    if (!std::has_single_bit(o.width) || o.width > most)
      refuse("a width of " + std::to_string(o.width) + "; allowed are powers of two up to " +
             std::to_string(most));
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 31; // a member is 32 bits away
    if (std::uint64_t const bytes = (o.is_padded ? padded_stride : 1) * sizeof(T);
        o.width > most_bytes / bytes)
      refuse(std::to_string(o.width) + " elements of " + std::to_string(bytes) +
             " bytes, padding included; at most " + std::to_string(most_bytes) +
             " bytes go into a channel");
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
  [[nodiscard]] global<std::uint64_t> index(which w) { return indices_[w]; }

  void check_owner(void const* channel, std::uint32_t first, std::source_location where) const {
    if (channel != this) [[unlikely]]
      throw kernel_stop{fault::kind::misuse,
                        name_ + ": enq of element " + std::to_string(first) +
                            ", which talloc of another channel has given",
                        where};
  }
  /// Looked at where one thread runs: what has been dispatched only the aggregator knows.
  template<class A>
  void check_dispatched(A&, std::uint64_t off, std::source_location where) const {
    if constexpr (A::memory_type::may_explore) {
      std::uint64_t const ago = (taken_ - off) & wrap & 0xffff'ffffU; // lanes count in 32 bits
      if (ago == 0 || ago > 2 * std::uint64_t{width_}) [[unlikely]]
        throw kernel_stop{fault::kind::misuse,
                          name_ + ": deq of the element at offset " + std::to_string(off) +
                              ", which has not been dispatched",
                          where};
    }
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
      if (self.compare_exchange(index(data_tail), tail, next, orders_.reserve)) {
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
    // In 64 bits: counts that nobody can have must not add up to one that somebody can.
    std::uint64_t const sum = emu::reduce(convert<std::uint64_t>(e.count), plus{}, active);
    check_count(sum, std::source_location::current());
    auto const all = static_cast<std::uint32_t>(sum);
    auto const first = reserve(wf, all);
    if (!first)
      return all;
    auto const offset = emu::exclusive_prefix_sum(e.count, active);
    e.first = (offset + *first) & (width_ - 1);
    e.got = active;
    return 0;
  }

  void check_count(std::uint64_t count, std::source_location where) const {
    if (count > most_at_once()) [[unlikely]]
      throw kernel_stop{fault::kind::wrong_shape,
                        name_ + ": talloc of " + std::to_string(count) +
                            " elements at once; at most " + std::to_string(most_at_once()) +
                            " are ever free (of " + std::to_string(width_) + ", freed by " +
                            std::to_string(share_) + ": channel_options::elements_per_done_count)",
                        where};
  }

  /// Counts a producer among those that wait for room; a kernel's also where it is evicted.
  template<class A>
  class waiting_producer {
  public:
    waiting_producer(channel_arrays& c, A& self) : channel_(c), self_(self) {
      self.fetch_add(c.index(waiting_producers), 1, c.orders_.count_waiting);
    }
    waiting_producer(waiting_producer const&) = delete;
    waiting_producer& operator=(waiting_producer const&) = delete;
    /// An explored execution has ended with the eviction; a core may outlive the channel.
    ~waiting_producer() {
      if constexpr (!std::is_same_v<A, basic_core<typename A::memory_type>>)
        if (counts_ && !self_.is_explored())
          end(); // no decision point, for its actor is abandoned
    }
    void end() {
      self_.fetch_sub(channel_.index(waiting_producers), 1, channel_.orders_.count_waiting);
      counts_ = false;
    }

  private:
    channel_arrays& channel_;
    A& self_;
    bool counts_ = true;
  };
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
    if constexpr (!A::memory_type::may_explore)
      if (std::uint32_t const entry = static_cast<std::uint32_t>(from) & (2 * width_ - 1);
          entry + e.count <= 2 * width_ && e.first + e.count <= width_) [[likely]] {
        std::uint32_t* const to = control(entry).get();
        std::iota(to, to + e.count, e.first); // nothing wraps: rows, a register at a time
        return from;
      }
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
  void count_done(A& self, std::uint32_t position, std::uint32_t count,
                  std::source_location where) {
    counted(self, [](channel_counts& c) { ++c.additions; });
    auto const done = done_.global() + position / share_;
    if (self.fetch_add(done, count, orders_.count_done) + count > share_) [[unlikely]]
      throw kernel_stop{fault::kind::misuse,
                        name_ + ": tfree of element " + std::to_string(position) +
                            ": the elements of its done count have been freed already",
                        where};
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
  index_lines<std::uint64_t> indices_;
  std::uint64_t head_ = 0;  ///< the aggregator's: what data_head says
  std::uint64_t taken_ = 0; ///< the aggregator's: the control array's head
  channel_counts counts_;
  std::vector<state> states_; ///< for `explore`, which runs on one thread
};

} // namespace quarry::emu
