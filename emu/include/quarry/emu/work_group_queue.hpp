// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/collectives.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/reductions.hpp>
#include <quarry/emu/slot_turns.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <cstdint>
#include <source_location>

namespace quarry::emu {

/// What a producer says of its package, for the consumer.
struct package_header {
  std::uint32_t tag;   ///< the command; one for the package, as its messages come from one call
  std::uint32_t count; ///< messages
};

/// What a consumer finds in a package: row r of message c is word c of row(r).
template<class Word>
struct package_view {
  package_header header;
  global<Word> first;
  std::uint32_t columns;
  [[nodiscard]] global<Word> row(std::uint32_t r) const { return first + r * columns; }
};

/// Gravel's producer/consumer queue: work-groups on the GPU hand packages of messages to consumers.
///
/// One reservation a work-group: its leader takes the tickets, and all its active work-items write
/// their messages into the slot, column by column, so that adjacent work-items write adjacent words
/// and nothing is padded. Consumers take a package as from an mpmc_queue.
///
/// Shape    `Rows` words a message; up to `columns` messages a package (the work-group's size); a
///          power of two of slots
/// Source   thesis §5.2.2, Figure 5-4; A.2.3, Table A-1 column Gravel
template<class Word, int Rows, int IndexBits = 32>
class work_group_queue {
public:
  /// Errors   std::invalid_argument – a slot count outside the limits
  work_group_queue(allocations& known, std::uint32_t slot_count, std::uint32_t columns,
                   slot_orders orders = {})
      : columns_(columns), turns_(known, slot_count, orders),
        words_(known, std::size_t{slot_count} * Rows * columns, "work_group_queue packages"),
        headers_(known, slot_count, "work_group_queue headers") {}

  /// Writes a message for each active work-item of the group: message[r] is row r, at most Rows of
  /// them. A collective: the wavefronts find each other by `how`; one with no active work-items
  /// comes along (or stays away, as `how` allows). Nothing is reserved if no work-item is active.
  ///
  /// `message` must live until the push is over.
  /// Errors   fault wrong_shape – more active work-items than columns
  /// Suspends while the group's slot is not free yet
  /// Source   differs: the command is in the package's header, not in each message's first row
  template<any_wavefront W, int Used, divergence_mechanism D = converged>
  task<> push(W& wf, std::uint32_t tag, lanes<Word, W::size> const (&message)[Used], D how = {},
              std::source_location where = std::source_location::current()) {
    static_assert(Used <= Rows);
    // Lines 1–6, Figure 5-2b: offsets by a prefix sum, one leader, its slot for everybody.
    std::uint32_t const mine = static_cast<std::uint32_t>(wf.active().count());
    auto const place = co_await wf.group_offset(mine, how, where);
    if (place.total == 0)
      co_return;
    if (place.total > columns_) [[unlikely]]
      wrong_shape(wf.slot(), "push() of more messages than a package has columns", where);
    slot_claim claim{};
    bool const leads = place.is_last && mine != 0;
    if (leads) {
      claim = turns_.claim_write(wf);
      co_await turns_.write_turn(wf, claim);
      co_await turns_.empty(wf, claim);
      wf.store(headers_.global() + claim.slot, package_header{tag, place.total});
    }
    claim.slot = co_await wf.group_broadcast(claim.slot, leads, how, where);
    global<Word> const first = package(claim.slot) + place.before;
    for (int r = 0; r < Used; ++r)
      wf.store_packed(first + r * columns_, message[r]);
    co_await wf.barrier_of(how, where); // every message is written: lines 9–12
    if (leads)
      turns_.set_full(wf, claim);
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
    return {self.load(headers_.global() + c.slot), package(c.slot), columns_};
  }
  template<class A>
  void release(A& self, slot_claim c) {
    turns_.set_empty(self, c);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(Word); }

private:
  global<Word> package(std::uint32_t slot) {
    return words_.global() + std::size_t{slot} * Rows * columns_;
  }

  std::uint32_t columns_;
  slot_turns<IndexBits> turns_;
  buffer<Word> words_;
  buffer<package_header> headers_;
};

} // namespace quarry::emu
