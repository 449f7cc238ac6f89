// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/emu/queue_orders.hpp>
#include <quarry/task.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace quarry::emu {

/// Orders and scopes of the single-producer/single-consumer queue, one entry an operation.
struct spsc_orders {
  access producer_own_write_index{order::relaxed, scope::work_item};
  /// Acquire: the consumer has read the payload before the producer overwrites it.
  access producer_reads_read_index{order::acquire, scope::system};
  /// Release: the payload is visible before the index that hands it over.
  access publish_write_index{order::release, scope::system};
  access consumer_own_read_index{order::relaxed, scope::work_item};
  /// Acquire: pairs with publish_write_index.
  access consumer_reads_write_index{order::acquire, scope::system};
  /// Release: pairs with producer_reads_read_index.
  access release_read_index{order::release, scope::system};

  static constexpr named_access<spsc_orders> entries[] = {
      {"producer_own_write_index", &spsc_orders::producer_own_write_index},
      {"producer_reads_read_index", &spsc_orders::producer_reads_read_index},
      {"publish_write_index", &spsc_orders::publish_write_index},
      {"consumer_own_read_index", &spsc_orders::consumer_own_read_index},
      {"consumer_reads_write_index", &spsc_orders::consumer_reads_write_index},
      {"release_read_index", &spsc_orders::release_read_index},
  };
};

/// An array queue with one producer and one consumer, any actors. reserve → fill → publish;
/// peek → read → release. Slots are padded to whole cache lines.
///
/// Shape    `slot_count` slots hold slot_count - 1 elements; 2 to 2^IndexBits slots
/// Source   thesis A.2.1, Table A-1 column SPSC
template<class T, int IndexBits = 32>
class spsc_queue {
  static_assert(IndexBits >= 1 && IndexBits <= 32);
  struct alignas(64) padded {
    T payload;
  };

public:
  /// Errors   std::invalid_argument – a slot count outside the limits
  spsc_queue(allocations& known, std::uint32_t slot_count, spsc_orders orders = {},
             std::source_location where = std::source_location::current())
      : slot_count_(checked(slot_count)), orders_(orders),
        slots_(known, slot_count, "spsc_queue slots", where),
        indices_(known, 2, "spsc_queue indices", {}, where) {}

  /// The next free slot, once there is one. Producer only.
  template<class A>
  task<global<T>> reserve(A& self) {
    std::uint32_t const at = self.load(write_index(), orders_.producer_own_write_index);
    std::uint32_t const full = following(at);
    auto const has_room = [full](std::uint32_t read) { return read != full; };
    static_cast<void>(
        co_await self.wait_until(read_index(), has_room, orders_.producer_reads_read_index));
    reserved_ = at;
    co_return slot(at);
  }
  /// The next free slot, or null. Producer only.
  template<class A>
  [[nodiscard]] global<T> try_reserve(A& self) {
    std::uint32_t const at = self.load(write_index(), orders_.producer_own_write_index);
    std::uint32_t const read = self.load(read_index(), orders_.producer_reads_read_index);
    if (read == following(at))
      return global<T>();
    reserved_ = at;
    return slot(at);
  }
  /// Hands over the slot that was reserved last. Producer only.
  ///
  /// Errors   std::logic_error – none is reserved; under `explore` that is a failure, "misuse"
  template<class A>
  void publish(A& self, std::source_location where = std::source_location::current()) {
    std::uint32_t const at = std::exchange(reserved_, none);
    if (at == none) [[unlikely]]
      return misused(self, "publishes a slot that it has not reserved", where);
    self.store(write_index(), following(at), orders_.publish_write_index);
  }

  /// The oldest element, once there is one. Consumer only.
  template<class A>
  task<global<T>> peek(A& self) {
    std::uint32_t const at = self.load(read_index(), orders_.consumer_own_read_index);
    auto const is_filled = [at](std::uint32_t written) { return written != at; };
    static_cast<void>(
        co_await self.wait_until(write_index(), is_filled, orders_.consumer_reads_write_index));
    peeked_ = at;
    co_return slot(at);
  }
  /// The oldest element, or null. Consumer only.
  template<class A>
  [[nodiscard]] global<T> try_peek(A& self) {
    std::uint32_t const at = self.load(read_index(), orders_.consumer_own_read_index);
    std::uint32_t const written = self.load(write_index(), orders_.consumer_reads_write_index);
    if (written == at)
      return global<T>();
    peeked_ = at;
    return slot(at);
  }
  /// Gives the slot of the last peek back to the producer. Consumer only.
  ///
  /// Errors   std::logic_error – it has been given back; under `explore` that is a failure,
  /// "misuse"
  template<class A>
  void release(A& self, std::source_location where = std::source_location::current()) {
    std::uint32_t const at = std::exchange(peeked_, none);
    if (at == none) [[unlikely]]
      return misused(self, "releases a slot that it has not peeked at: a second time, say", where);
    self.store(read_index(), following(at), orders_.release_read_index);
  }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0}; ///< the index of no slot

  template<class A>
  static void misused(A& self, char const* what, std::source_location where) {
    self.report_misuse(what, where);
    if (!self.is_explored())
      throw std::logic_error(std::string("spsc_queue: somebody ") + what);
  }
  static std::uint32_t checked(std::uint32_t n) {
    if (n < 2 || std::uint64_t{n} > std::uint64_t{1} << IndexBits)
      throw std::invalid_argument("spsc_queue: " + std::to_string(n) +
                                  " slots; allowed are 2 to 2^" + std::to_string(IndexBits));
    return n;
  }
  [[nodiscard]] std::uint32_t following(std::uint32_t i) const noexcept {
    return i + 1 == slot_count_ ? 0 : i + 1;
  }
  global<T> slot(std::uint32_t i) { return global<T>(&slots_.global().get()[i].payload); }
  global<std::uint32_t> write_index() { return indices_[0]; }
  global<std::uint32_t> read_index() { return indices_[1]; }

  std::uint32_t slot_count_;
  spsc_orders orders_;
  buffer<padded> slots_;
  index_lines<std::uint32_t> indices_;
  alignas(64) std::uint32_t reserved_ = none; ///< the producer's alone
  alignas(64) std::uint32_t peeked_ = none;   ///< the consumer's alone
};

} // namespace quarry::emu
