// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/emu/queue_orders.hpp>

#include <bit>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace quarry::emu {

/// Orders and scopes of the queues whose slots have tickets: mpmc_queue and work_group_queue.
struct slot_orders {
  access write_index{order::relaxed, scope::system};
  access write_ticket{order::relaxed, scope::system};
  /// Acquire: pairs with count_served; the consumer before has read what the producer overwrites.
  access producer_awaits_turn{order::acquire, scope::system};
  access producer_awaits_empty{order::acquire, scope::system};
  /// Release: the payload is visible before the full bit.
  access set_full{order::release, scope::system};
  access read_index{order::relaxed, scope::system};
  access read_ticket{order::relaxed, scope::system};
  access consumer_awaits_turn{order::acquire, scope::system};
  /// Acquire: pairs with set_full.
  access consumer_awaits_full{order::acquire, scope::system};
  access clear_full{order::release, scope::system};
  /// Release: the payload has been read, and the full bit cleared, before the next turn begins.
  access count_served{order::release, scope::system};

  static constexpr named_access<slot_orders> entries[] = {
      {"write_index", &slot_orders::write_index},
      {"write_ticket", &slot_orders::write_ticket},
      {"producer_awaits_turn", &slot_orders::producer_awaits_turn},
      {"producer_awaits_empty", &slot_orders::producer_awaits_empty},
      {"set_full", &slot_orders::set_full},
      {"read_index", &slot_orders::read_index},
      {"read_ticket", &slot_orders::read_ticket},
      {"consumer_awaits_turn", &slot_orders::consumer_awaits_turn},
      {"consumer_awaits_full", &slot_orders::consumer_awaits_full},
      {"clear_full", &slot_orders::clear_full},
      {"count_served", &slot_orders::count_served},
  };
};

/// A place in a slot's order of producers or of consumers.
struct slot_claim {
  std::uint32_t slot;
  std::uint32_t ticket;
};

/// Who may be in which slot of an array queue: tickets, turns served and full bits, without
/// payloads.
///
/// Shape    a power of two of slots, 1 to 2^IndexBits, so that the indices wrap where they should;
///          tickets are counted modulo 2^IndexBits: fewer producers, and at most that many
///          consumers, may be at one slot at once
/// Source   thesis A.2.2, Table A-1 column MPMC (the numbers below are its lines)
template<int IndexBits>
class slot_turns {
  static_assert(IndexBits >= 1 && IndexBits <= 32);
  static constexpr std::uint32_t wrap =
      IndexBits == 32 ? ~0U : (std::uint32_t{1} << (IndexBits % 32)) - 1;

public:
  /// Errors   std::invalid_argument – a slot count outside the limits
  slot_turns(allocations& known, std::uint32_t slot_count, slot_orders const& orders,
             std::source_location where = std::source_location::current())
      : orders_(orders), slot_count_(checked(slot_count)),
        slots_(known, slot_count, "queue slots", where),
        indices_(known, 2, "queue indices", {}, where), history_(slot_count) {}

  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }

  template<class A>
  slot_claim claim_write(A& self) { // 1–4
    std::uint32_t const i = self.fetch_add(indices_[0], 1, orders_.write_index) & (slot_count_ - 1);
    std::uint32_t const ticket =
        self.fetch_add(at(i, &slot::write_ticket), 1, orders_.write_ticket);
    return {i, ticket & wrap};
  }
  template<class A>
  auto write_turn(A& self, slot_claim c) { // 5
    return self.wait_until(at(c.slot, &slot::served), is_turn(c), orders_.producer_awaits_turn);
  }
  template<class A>
  auto empty(A& self, slot_claim c) { // 6
    auto const is_empty = [](std::uint32_t full) { return full == 0; };
    return self.wait_until(at(c.slot, &slot::full), is_empty, orders_.producer_awaits_empty);
  }
  template<class A>
  void set_full(A& self, slot_claim c,
                std::source_location where = std::source_location::current()) { // 8
    if (self.is_explored()) {
      history& h = history_[c.slot];
      if (h.published++ != h.released)
        self.report_misuse("publishes a slot that is full already", where);
    }
    self.store(at(c.slot, &slot::full), 1, orders_.set_full);
  }

  /// How often claim_write() has been called so far, modulo 2^32.
  template<class A>
  [[nodiscard]] std::uint32_t claimed_writes(A& self) {
    return self.load(indices_[0], orders_.write_index);
  }

  /// Have the turns of the first `n` claims that claimed_writes() counts been served? Acquire:
  /// pairs with count_served.
  template<class A>
  [[nodiscard]] bool have_been_served(A& self, std::uint32_t n) {
    int const index_bits = std::countr_zero(slot_count_);
    for (std::uint32_t i = 0; i < slot_count_; ++i) {
      std::uint32_t const turns = ((n - i - 1) >> index_bits) + 1; // modulo 2^(32 - index_bits)
      std::uint32_t const served = self.load(at(i, &slot::served), orders_.consumer_awaits_turn);
      if (static_cast<std::int32_t>((served - turns) << index_bits) < 0)
        return false;
    }
    return true;
  }

  template<class A>
  slot_claim claim_read(A& self) { // 9–12
    std::uint32_t const i = self.fetch_add(indices_[1], 1, orders_.read_index) & (slot_count_ - 1);
    std::uint32_t const ticket = self.fetch_add(at(i, &slot::read_ticket), 1, orders_.read_ticket);
    return {i, ticket & wrap};
  }
  template<class A>
  auto read_turn(A& self, slot_claim c) { // 13
    return self.wait_until(at(c.slot, &slot::served), is_turn(c), orders_.consumer_awaits_turn);
  }
  template<class A>
  auto filled(A& self, slot_claim c) { // 14
    auto const is_full = [](std::uint32_t full) { return full != 0; };
    return self.wait_until(at(c.slot, &slot::full), is_full, orders_.consumer_awaits_full);
  }
  /// 13 and 14 without waiting.
  template<class A>
  [[nodiscard]] bool is_filled_for(A& self, slot_claim c) {
    std::uint32_t const served = self.load(at(c.slot, &slot::served), orders_.consumer_awaits_turn);
    if ((served & wrap) != c.ticket)
      return false;
    std::uint32_t const full = self.load(at(c.slot, &slot::full), orders_.consumer_awaits_full);
    return full != 0;
  }
  template<class A>
  void set_empty(A& self, slot_claim c,
                 std::source_location where = std::source_location::current()) { // 16–17
    if (self.is_explored()) {
      history& h = history_[c.slot];
      if (h.published == h.released)
        self.report_misuse("releases a slot that is empty: a second time, or before it was filled",
                           where);
      else if ((h.released++ & wrap) != c.ticket)
        self.report_misuse("releases a slot that another consumer holds", where);
    }
    self.store(at(c.slot, &slot::full), 0, orders_.clear_full);
    self.fetch_add(at(c.slot, &slot::served), 1, orders_.count_served);
  }

private:
  /// A line for the producers, one for the consumers and one for both.
  struct slot {
    alignas(64) std::uint32_t write_ticket;
    alignas(64) std::uint32_t read_ticket;
    alignas(64) std::uint32_t served;
    std::uint32_t full;
  };
  /// How often a slot was published and released. For `explore`, which runs on one thread.
  struct history {
    std::uint32_t published = 0;
    std::uint32_t released = 0;
  };

  static std::uint32_t checked(std::uint32_t n) {
    if (!std::has_single_bit(n) || n - 1 > wrap)
      throw std::invalid_argument("queue: " + std::to_string(n) +
                                  " slots; allowed are powers of two up to 2^" +
                                  std::to_string(IndexBits));
    return n;
  }
  static auto is_turn(slot_claim c) {
    return [c](std::uint32_t served) { return (served & wrap) == c.ticket; };
  }
  global<std::uint32_t> at(std::uint32_t i, std::uint32_t slot::* member) {
    return global<std::uint32_t>(&(slots_.global().get()[i].*member));
  }

  slot_orders orders_;
  std::uint32_t slot_count_;
  buffer<slot> slots_;
  index_lines<std::uint32_t> indices_;
  std::vector<history> history_;
};

} // namespace quarry::emu
