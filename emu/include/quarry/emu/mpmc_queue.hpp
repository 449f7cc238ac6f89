// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/slot_turns.hpp>
#include <quarry/task.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace quarry::emu {

/// An array queue for any number of producers and consumers. reserve → fill → publish;
/// peek → read → release. At most one actor is in a slot at a time: tickets order the producers of
/// a slot, and its consumers; the full bit orders the two that have a valid ticket.
///
/// In order for one producer and one consumer. With several, two elements may change places: an
/// index and a slot's ticket are taken one after the other.
///
/// A slot that was reserved must be published, one that was peeked released; a consumer that has
/// claimed a slot must take what comes there.
///
/// Shape    a power of two of slots, 1 to 2^IndexBits; payloads padded to whole cache lines
/// Source   thesis A.2.2, Table A-1 column MPMC
template<class T, int IndexBits = 32>
class mpmc_queue {
  struct alignas(64) padded {
    T payload;
  };

public:
  /// Errors   std::invalid_argument – a slot count outside the limits
  mpmc_queue(allocations& known, std::uint32_t slot_count, slot_orders orders = {},
             std::source_location where = std::source_location::current())
      : turns_(known, slot_count, orders, where),
        payloads_(known, slot_count, "mpmc_queue payloads", where) {}

  /// A free slot, once it is this producer's turn in it.
  template<class A>
  task<slot_claim> reserve(A& self) {
    slot_claim const mine = turns_.claim_write(self);
    co_await turns_.write_turn(self, mine);
    co_await turns_.empty(self, mine);
    co_return mine;
  }
  template<class A>
  void publish(A& self, slot_claim mine,
               std::source_location where = std::source_location::current()) {
    turns_.set_full(self, mine, where);
  }

  /// A filled slot, once it is this consumer's turn in it.
  template<class A>
  task<slot_claim> peek(A& self) {
    slot_claim const mine = turns_.claim_read(self);
    co_await turns_.read_turn(self, mine);
    co_await turns_.filled(self, mine);
    co_return mine;
  }
  /// The first half of a peek that does not wait (Table A-1, footnote 2): the claim is kept and
  /// asked with is_ready() until its element is there.
  template<class A>
  [[nodiscard]] slot_claim claim(A& self) {
    return turns_.claim_read(self);
  }
  template<class A>
  [[nodiscard]] bool is_ready(A& self, slot_claim mine) {
    return turns_.is_filled_for(self, mine);
  }
  template<class A>
  void release(A& self, slot_claim mine,
               std::source_location where = std::source_location::current()) {
    turns_.set_empty(self, mine, where);
  }

  /// Where the element of a claimed slot is.
  [[nodiscard]] global<T> payload(slot_claim c) {
    return global<T>(&payloads_.global().get()[c.slot].payload);
  }

private:
  slot_turns<IndexBits> turns_;
  buffer<padded> payloads_;
};

} // namespace quarry::emu
