// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/emu/packet.hpp>
#include <quarry/emu/queue_orders.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace quarry::emu {

/// Orders and scopes of the user-mode queue, one entry an operation.
struct user_queue_orders {
  access reserve{order::relaxed, scope::system};
  /// Acquire: the command processor has read the slot before its next producer writes it.
  access producer_reads_read_index{order::acquire, scope::system};
  /// Acquire: what the producers before wrote goes on with this one's doorbell.
  access producer_awaits_turn{order::acquire, scope::system};
  /// Release: the packet is visible before the doorbell says so.
  access ring_doorbell{order::release, scope::system};
  /// Acquire: pairs with ring_doorbell.
  access processor_reads_doorbell{order::acquire, scope::system};
  /// Release: pairs with producer_reads_read_index.
  access release_read_index{order::release, scope::system};

  static constexpr named_access<user_queue_orders> entries[] = {
      {"reserve", &user_queue_orders::reserve},
      {"producer_reads_read_index", &user_queue_orders::producer_reads_read_index},
      {"producer_awaits_turn", &user_queue_orders::producer_awaits_turn},
      {"ring_doorbell", &user_queue_orders::ring_doorbell},
      {"processor_reads_doorbell", &user_queue_orders::processor_reads_doorbell},
      {"release_read_index", &user_queue_orders::release_read_index},
  };
};

/// A packet that is being written.
struct packet_claim {
  std::uint64_t index;
};

/// Told when a doorbell rang, so that it need not poll. Only where memory is the host's own.
class doorbell_listener {
public:
  virtual void rang() noexcept = 0;

protected:
  ~doorbell_listener() = default;
};

/// A user queue goes before its packet processor: ends the process, or is a failure of the
/// execution that is explored.
void queue_goes_first(std::string const& name);

/// A ring of packets from any number of producers, hosts and kernels, to one command processor.
/// reserve → fill → commit; next → read → release.
///
/// Reservation and publication are separate: producers may fill their packets in any order, the
/// doorbell rings for them in the order of their reservations. A valid header is therefore never
/// found above an old body, which is what a doorbell of somebody else could do to a queue whose
/// packets are published by their own headers (ROCm/rocm-systems PR#10367, #10377).
///
/// Shape    slots: a power of two; slots and the producers that wait for one are together at
///          most 2^IndexBits
/// Source   HSA PRM 1.2 §2.9, differs: the doorbell is the commit index, headers publish nothing
template<int IndexBits = 64>
class basic_user_queue {
  static_assert(IndexBits >= 1 && IndexBits <= 64);
  static constexpr std::uint64_t wrap = ~std::uint64_t{0} >> (64 - IndexBits);

public:
  /// Errors   std::invalid_argument – a slot count outside the limits
  basic_user_queue(allocations& known, std::uint32_t slot_count, user_queue_orders orders = {},
                   std::string name = "user queue",
                   std::source_location where = std::source_location::current())
      : slot_count_(checked(slot_count)), orders_(orders), name_(std::move(name)), known_(&known),
        slots_(known, slot_count, name_ + " packets", where),
        indices_(known, 3, name_ + " indices", {}, where) {}

  basic_user_queue(basic_user_queue const&) = delete;
  basic_user_queue& operator=(basic_user_queue const&) = delete;
  ~basic_user_queue() {
    if (is_served_)
      queue_goes_first(name_);
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }
  /// Where its memory is known.
  [[nodiscard]] allocations const& known() const noexcept { return *known_; }

  // Producers

  /// The next packet, once there is room for it. Must be committed: behind the packet of a producer
  /// that ends before, of a launch with a fault that waits here say, none is ever taken.
  template<class A>
  task<packet_claim> reserve(A& self) {
    packet_claim const mine{self.fetch_add(write_index(), 1, orders_.reserve) & wrap};
    auto const has_room = [this, mine](std::uint64_t read) { return fits(mine.index, read); };
    static_cast<void>(
        co_await self.wait_until(read_index(), has_room, orders_.producer_reads_read_index));
    co_return mine;
  }
  /// The next packet, or none if the queue is full.
  template<class A>
  [[nodiscard]] std::optional<packet_claim> try_reserve(A& self) {
    std::uint64_t at = self.load(write_index(), orders_.reserve);
    for (;;) {
      std::uint64_t const read = self.load(read_index(), orders_.producer_reads_read_index);
      if (!fits(at & wrap, read)) {
        // A read index beyond it: what was read of the write index is an old value.
        std::uint64_t const ahead = (read - at) & wrap;
        if (ahead == 0 || ahead > slot_count_)
          return std::nullopt;
        std::uint64_t const newest = self.fetch_add(write_index(), 0, orders_.reserve);
        if (newest == at)
          return std::nullopt;
        at = newest;
        continue;
      }
      if (self.compare_exchange(write_index(), at, at + 1, orders_.reserve))
        return packet_claim{at & wrap};
    }
  }
  /// Where a reserved packet is to be stored.
  [[nodiscard]] global<packet> slot(packet_claim mine) {
    return slots_.global() + (mine.index & (slot_count_ - 1));
  }
  /// Hands the packet over, once those reserved before it have been.
  template<class A>
  task<> commit(A& self, packet_claim mine) {
    auto const is_turn = [mine](std::uint64_t rung) { return (rung & wrap) == mine.index; };
    static_cast<void>(co_await self.wait_until(doorbell(), is_turn, orders_.producer_awaits_turn));
    ring(self, mine);
  }
  /// The same, if it is its turn.
  template<class A>
  [[nodiscard]] bool try_commit(A& self, packet_claim mine) {
    if (!is_turn(self, mine))
      return false;
    ring(self, mine);
    return true;
  }
  // What the two wait for: only looks

  template<class A>
  [[nodiscard]] bool has_room(A& self) {
    std::uint64_t const at = self.load(write_index(), orders_.reserve);
    std::uint64_t const read = self.load(read_index(), orders_.producer_reads_read_index);
    return fits(at & wrap, read);
  }
  template<class A>
  [[nodiscard]] bool is_turn(A& self, packet_claim mine) {
    std::uint64_t const rung = self.load(doorbell(), orders_.producer_awaits_turn);
    return (rung & wrap) == mine.index;
  }

  /// All of it.
  template<class A>
  task<> submit(A& self, packet p) {
    task<packet_claim> reserved = reserve(self);
    packet_claim const mine = co_await std::move(reserved);
    self.store(slot(mine), p);
    task<> committed = commit(self, mine);
    co_await std::move(committed);
  }

  // The command processor

  /// Is there a packet?
  template<class A>
  [[nodiscard]] bool is_ready(A& self) {
    std::uint64_t const rung = self.load(doorbell(), orders_.processor_reads_doorbell);
    return (rung & wrap) != next_;
  }
  /// Awaits the next packet.
  template<class A>
  task<global<packet>> peek(A& self) {
    auto const has_rung = [this](std::uint64_t rung) { return (rung & wrap) != next_; };
    static_cast<void>(
        co_await self.wait_until(doorbell(), has_rung, orders_.processor_reads_doorbell));
    co_return next();
  }
  /// The next packet, when is_ready() has said so.
  [[nodiscard]] global<packet> next() { return slots_.global() + (next_ & (slot_count_ - 1)); }
  /// Its index: so many were released before it, but for wrapping round.
  [[nodiscard]] std::uint64_t next_index() const noexcept { return next_; }
  /// Gives its slot back to the producers.
  template<class A>
  void release(A& self) {
    next_ = (next_ + 1) & wrap;
    self.store(read_index(), next_, orders_.release_read_index);
  }

  /// As a debugger sees it.
  void describe(debug_queue& into) {
    into.name = name_.c_str();
    into.packets = slots_.global().get();
    into.reserved = write_index().get();
    into.committed = doorbell().get();
    into.read = read_index().get();
    into.slots = slot_count_;
  }
  /// By one processor at a time.
  ///
  /// Errors   std::invalid_argument – another one takes its packets
  void begin_serving() {
    if (is_served_)
      throw std::invalid_argument(name_ + " has a packet processor already");
    is_served_ = true;
  }
  void end_serving() noexcept { is_served_ = false; }
  /// Null: nobody. Not while anybody commits.
  void tell(doorbell_listener* listener) noexcept { listener_ = listener; }

private:
  static std::uint32_t checked(std::uint32_t n) {
    if (!std::has_single_bit(n) || n > wrap)
      throw std::invalid_argument("user queue: " + std::to_string(n) +
                                  " packets; allowed are powers of two below 2^" +
                                  std::to_string(std::min(IndexBits, 32)));
    return n;
  }
  [[nodiscard]] bool fits(std::uint64_t index, std::uint64_t read) const noexcept {
    return ((index - read) & wrap) < slot_count_;
  }
  template<class A>
  void ring(A& self, packet_claim mine) {
    self.store(doorbell(), (mine.index + 1) & wrap, orders_.ring_doorbell);
    if (listener_ != nullptr)
      listener_->rang();
  }
  global<std::uint64_t> write_index() { return indices_[0]; }
  global<std::uint64_t> read_index() { return indices_[1]; }
  global<std::uint64_t> doorbell() { return indices_[2]; }

  std::uint32_t slot_count_;
  user_queue_orders orders_;
  std::string name_;
  allocations const* known_;
  buffer<packet> slots_;
  index_lines<std::uint64_t> indices_;
  std::uint64_t next_ = 0; ///< the command processor's own
  doorbell_listener* listener_ = nullptr;
  bool is_served_ = false;
};

using user_queue = basic_user_queue<>;

} // namespace quarry::emu
