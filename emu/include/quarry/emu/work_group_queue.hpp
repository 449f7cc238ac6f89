// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/collectives.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/reductions.hpp>
#include <quarry/emu/slot_turns.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace quarry::emu {

/// What a producer says of its package, for the consumer.
struct package_header {
  std::uint32_t tag;   ///< the command; one for the package, as its messages come from one call
  std::uint32_t count; ///< messages
};

/// One wavefront's part of a package that its group has reserved.
struct package_place {
  std::uint32_t slot;
  std::uint32_t column; ///< of its first message
  std::uint32_t count;  ///< its messages; none: there is nothing to write or to publish
};

/// What a consumer finds in a package: row r of message c is word c of row(r).
template<class Word>
struct package_view {
  package_header header;
  global<Word> first;
  std::uint32_t columns;
  [[nodiscard]] global<Word> row(std::uint32_t r) const { return first + r * columns; }
};

template<class Queue, any_wavefront W>
class package_reservation;

/// Gravel's producer/consumer queue: work-groups on the GPU hand packages of messages to consumers.
/// reserve → write → publish, or push for all three; claim → view → release.
///
/// One reservation a work-group: one wavefront takes the tickets, and all its active work-items
/// write their messages into the slot, column by column, so that adjacent work-items write adjacent
/// words and nothing is padded. Consumers take a package as from an mpmc_queue.
///
/// Shape    `Rows` words a message; up to `columns` messages a package (the work-group's size); a
///          power of two of slots
/// Source   thesis §5.2.2, Figure 5-4; A.2.3, Table A-1 column Gravel; differs: the command is in
///          the package's header, not in each message's first row
template<class Word, int Rows, int IndexBits = 32>
class work_group_queue {
public:
  /// Errors   std::invalid_argument – a slot count outside the limits, or no column
  work_group_queue(allocations& known, std::uint32_t slot_count, std::uint32_t columns,
                   slot_orders orders = {},
                   std::source_location where = std::source_location::current())
      : columns_(checked(columns)), turns_(known, slot_count, orders, where),
        words_(known, std::size_t{slot_count} * Rows * columns, "work_group_queue packages", where),
        headers_(known, slot_count, "work_group_queue headers", where) {}

  /// A slot with a column for each active work-item of the group. A collective: all wavefronts
  /// come, one with no active work-items too. Nothing is reserved if no work-item is active.
  ///
  /// Awaited at once. Then every wavefront that has messages writes and publishes them, with the
  /// same active work-items as here.
  ///
  /// Suspends until all have come, and while the group's slot is not free yet
  /// Errors   fault wrong_shape – more active work-items than columns; wavefronts with messages of
  ///          different tags
  /// Source   differs from Figure 5-2b: the wavefront that comes last leads; it reserves before it
  ///          arrives, so that prefix sum and broadcast are one meeting
  template<any_wavefront W>
  [[nodiscard]] auto reserve(W& wf, std::uint32_t tag, converged = {},
                             std::source_location where = std::source_location::current()) {
    return package_reservation<work_group_queue, W>(*this, wf, tag, where);
  }
  /// The same for the wavefronts that find each other by `how`; one with no active work-items comes
  /// along, or stays away, as `how` allows.
  template<any_wavefront W, divergence_mechanism D>
    requires(!std::same_as<D, converged>)
  task<package_place> reserve(W& wf, std::uint32_t tag, D how,
                              std::source_location where = std::source_location::current()) {
    // Lines 1–6, Figure 5-2b: offsets by a prefix sum, one leader, its slot for everybody.
    auto const mine = static_cast<std::uint32_t>(wf.active().count());
    auto const place = co_await wf.group_offset(mine, how, where);
    if (place.total == 0)
      co_return package_place{};
    check(wf, place.total, where);
    slot_and_tag opened{0, tag};
    bool const leads = place.is_last && mine != 0;
    if (leads) {
      slot_claim const claim = turns_.claim_write(wf);
      co_await turns_.write_turn(wf, claim);
      co_await turns_.empty(wf, claim);
      open(wf, claim, {tag, place.total}, place.parts);
      opened.slot = claim.slot;
    }
    opened = co_await wf.group_broadcast(opened, leads, how, where);
    if (mine != 0 && opened.tag != tag) [[unlikely]]
      refuse_tags(wf, where);
    co_return package_place{opened.slot, place.before, mine};
  }

  /// Writes word `row`, below Rows, of each active work-item's message: of those that reserved.
  template<any_wavefront W>
  QUARRY_ALWAYS_INLINE void write(W& wf, package_place at, int row,
                                  lanes<Word, W::size> const& words,
                                  std::source_location where = std::source_location::current()) {
    if (wf.is_explored()) {
      if (row < 0 || row >= Rows)
        return wf.report_misuse("writes a row of a message that messages do not have", where);
      if (static_cast<std::uint32_t>(wf.active().count()) != at.count)
        return wf.report_misuse("writes more or fewer messages than it has reserved", where);
    }
    wf.store_packed(package(at.slot) + row * columns_ + at.column, words);
  }
  /// This wavefront has written all its messages. The package leaves with the last one's.
  template<any_wavefront W>
  void publish(W& wf, package_place at,
               std::source_location where = std::source_location::current()) {
    // Acquire and release: the words of the group's other wavefronts are written before set_full.
    if (at.count != 0 &&
        wf.fetch_sub(unwritten(at.slot), 1, order::acq_rel, scope::work_group) == 1)
      turns_.set_full(wf, {at.slot, 0}, where);
  }

  /// All three: message[r] is row r, at most Rows of them. `message` must live until the push is
  /// over; then it has been written, though other wavefronts may still be writing theirs.
  template<any_wavefront W, int Used, divergence_mechanism D = converged>
  task<> push(W& wf, std::uint32_t tag, lanes<Word, W::size> const (&message)[Used], D how = {},
              std::source_location where = std::source_location::current()) {
    static_assert(Used <= Rows);
    package_place const at = co_await reserve(wf, tag, how, where);
    for (int r = 0; r < Used; ++r)
      write(wf, at, r, message[r]);
    publish(wf, at, where);
  }

  /// How many packages have been begun so far, modulo 2^32; of work-groups that come before the
  /// caller, none is missed.
  template<class A>
  [[nodiscard]] std::uint32_t claimed_writes(A& self) {
    return turns_.claimed_writes(self);
  }
  /// Have the first `n` of them, as claimed_writes() counts, been released?
  template<class A>
  [[nodiscard]] bool have_been_released(A& self, std::uint32_t n) {
    return turns_.have_been_served(self, n);
  }

  /// Consumers: as in mpmc_queue.
  template<class A>
  [[nodiscard]] slot_claim claim(A& self) {
    return turns_.claim_read(self);
  }
  template<class A>
  [[nodiscard]] bool is_ready(A& self, slot_claim c) {
    return turns_.is_filled_for(self, c);
  }
  /// Awaits the claimed package.
  template<class A>
  task<> ready(A& self, slot_claim c) {
    co_await turns_.read_turn(self, c);
    co_await turns_.filled(self, c);
  }
  template<class A>
  [[nodiscard]] package_view<Word> view(A& self, slot_claim c) {
    return {self.load(header(c.slot)), package(c.slot), columns_};
  }
  template<class A>
  void release(A& self, slot_claim c,
               std::source_location where = std::source_location::current()) {
    turns_.set_empty(self, c, where);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(Word); }

private:
  template<class Queue, any_wavefront W>
  friend class package_reservation;

  struct slot_and_tag {
    std::uint32_t slot;
    std::uint32_t tag;
  };
  /// A line of its own: a consumer reads one while a work-group counts in the next.
  struct alignas(64) header_line {
    package_header header;
    std::uint32_t unwritten; ///< wavefronts that have not written their messages yet
  };

  template<any_wavefront W>
  task<> wait_for_room(W& wf, slot_claim c) {
    co_await turns_.write_turn(wf, c);
    co_await turns_.empty(wf, c);
  }
  template<any_wavefront W>
  void open(W& wf, slot_claim c, package_header header_of_it, std::uint32_t writers) {
    wf.store(header(c.slot), header_of_it);
    wf.store(unwritten(c.slot), writers);
  }
  static std::uint32_t checked(std::uint32_t columns) {
    if (columns == 0)
      throw std::invalid_argument(
          "work_group_queue: packages of 0 columns; allowed are 1 and more");
    return columns;
  }
  template<any_wavefront W>
  void check(W& wf, std::uint32_t messages, std::source_location where) const {
    if (messages > columns_) [[unlikely]]
      wrong_shape(wf.slot(),
                  ("push() of " + std::to_string(messages) + " messages into a package of " +
                   std::to_string(columns_) + " columns")
                      .c_str(),
                  where);
  }
  template<class W>
  [[noreturn]] void refuse_tags(W& wf, std::source_location where) const {
    wrong_shape(wf.slot(), "push() of messages with different tags into one package", where);
  }

  global<package_header> header(std::uint32_t slot) {
    return global<package_header>(&headers_.global().get()[slot].header);
  }
  global<std::uint32_t> unwritten(std::uint32_t slot) {
    return global<std::uint32_t>(&headers_.global().get()[slot].unwritten);
  }
  global<Word> package(std::uint32_t slot) {
    return words_.global() + std::size_t{slot} * Rows * columns_;
  }

  std::uint32_t columns_;
  slot_turns<IndexBits> turns_;
  buffer<Word> words_;
  buffer<header_line> headers_;
};

// Implementation

/// Made by work_group_queue::reserve() in converged control flow: one meeting, no coroutine. Each
/// wavefront offers its tag and the number of its messages.
template<class Queue, any_wavefront W>
class [[nodiscard]] package_reservation : group_meeting<converged> {
public:
  package_reservation(Queue& queue, W& wf, std::uint32_t tag, std::source_location where)
      : group_meeting(wf.slot(), kind_of<meeting::prefix_sum, Queue>, {}, where), queue_(queue),
        wf_(wf), tag_(tag) {}
  package_reservation(package_reservation const&) = delete;

  bool await_ready() {
    put(offer{tag_, static_cast<std::uint32_t>(wf_.active().count())});
    if (!is_last_to_come())
      return group_meeting::await_ready();
    std::uint32_t const messages = count();
    if (messages == 0) {
      for (std::uint32_t i = 0; i < group().wave_count; ++i)
        group().put(i, package_place{}); // over what it has offered
      return group_meeting::await_ready();
    }
    queue_.check(wf_, messages, where_);
    claim_ = queue_.turns_.claim_write(wf_);
    if (has_room())
      return let_all_go();
    room_ = queue_.wait_for_room(wf_, claim_);
    return false;
  }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> h) {
    if (room_) // the others wait for us, so this one wait may be a coroutine
      std::move(room_).operator co_await().await_suspend(h);
    else
      group_meeting::await_suspend(h);
  }
  package_place await_resume() {
    if (room_) {
      std::move(room_).operator co_await().await_resume();
      let_all_go();
    }
    return group().template get<package_place>(wave_.index);
  }

private:
  struct offer {
    std::uint32_t tag;
    std::uint32_t count;
  };

  /// The messages of all wavefronts, which have one tag.
  std::uint32_t count() {
    std::uint32_t messages = 0;
    for (std::uint32_t i = 0; i < group().wave_count; ++i) {
      auto const o = offered<offer>(i);
      if (o.count == 0)
        continue;
      if (messages != 0 && o.tag != tag_) [[unlikely]]
        queue_.refuse_tags(wf_, where_);
      tag_ = o.tag;
      messages += o.count;
    }
    return messages;
  }
  bool has_room() {
    auto turn = queue_.turns_.write_turn(wf_, claim_);
    if (!turn.await_ready())
      return false;
    turn.await_resume();
    auto empty = queue_.turns_.empty(wf_, claim_);
    if (!empty.await_ready())
      return false;
    empty.await_resume();
    return true;
  }
  bool let_all_go() {
    std::uint32_t column = 0;
    std::uint32_t writers = 0;
    for (std::uint32_t i = 0; i < group().wave_count; ++i) {
      std::uint32_t const messages = offered<offer>(i).count;
      group().put(i, package_place{claim_.slot, column, messages});
      column += messages;
      writers += messages != 0 ? 1 : 0;
    }
    queue_.open(wf_, claim_, {tag_, column}, writers);
    return group_meeting::await_ready();
  }

  Queue& queue_;
  W& wf_;
  std::uint32_t tag_;
  slot_claim claim_{};
  task<> room_;
};

} // namespace quarry::emu
