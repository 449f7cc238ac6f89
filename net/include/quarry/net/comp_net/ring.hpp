// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/ring_orders.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace quarry::net::comp_net {

/// A work-group's view of its ring: the write index, and a copy of the read index that is refreshed
/// only when the ring seems full. Nobody else's, so that neither is atomic; it lies in LDS.
///
/// Source   ComP-Net §4.2.1, Figure 6
struct ring_writer {
  std::uint32_t write = 0;
  std::uint32_t read = 0;
};

/// The service's view of a ring.
struct ring_reader {
  std::uint32_t read = 0;
  bool has_taken = false; ///< the entry at `read`; it is not complete yet
};

/// The rings between a GPU's work-groups and its network service: one a work-group, so that each
/// has one producer, a work-group's leading wavefront, and one consumer, the service.
///
/// Work-group: reserve → post, then, of a blocking operation, completed. Service: is_posted → take
/// → complete. An entry is 64 bytes: a command, what it brought back, and the status.
///
/// Shape    64 entries a ring unless it is said otherwise: a power of two, at most
///          2^(IndexBits - 1), so that a full ring is not an empty one
/// Source   ComP-Net §4.2.1, Figure 6; §5.1 (64 entries of 64 bytes)
template<int IndexBits>
class basic_rings {
  // Two at least: a writer that knows by the status that an entry is complete may be one ahead of
  // the shared read index.
  static_assert(IndexBits >= 2 && IndexBits <= 32);
  static constexpr std::uint32_t wrap =
      IndexBits == 32 ? ~0U : (std::uint32_t{1} << (IndexBits % 32)) - 1;

public:
  static constexpr std::uint32_t usual_entries = 64;

  /// Errors   std::invalid_argument – no ring, or a number of entries outside the limits
  basic_rings(emu::allocations& known, std::uint32_t ring_count,
              std::uint32_t entry_count = usual_entries, ring_orders const& orders = {})
      : ring_count_(checked_rings(ring_count)), entry_count_(checked_entries(entry_count)),
        orders_(orders),
        entries_(known, std::size_t{ring_count} * entry_count, "comp_net ring entries"),
        read_indices_(known, ring_count, "comp_net read indices") {}

  [[nodiscard]] std::uint32_t ring_count() const noexcept { return ring_count_; }
  [[nodiscard]] std::uint32_t entry_count() const noexcept { return entry_count_; }
  [[nodiscard]] ring_orders const& orders() const noexcept { return orders_; }

  // The work-group's side, for its leader alone

  /// ① True if the ring does not seem full.
  [[nodiscard]] bool has_room(ring_writer const& mine) const noexcept {
    return in_flight(mine) < entry_count_;
  }
  /// ① Refreshes the copy of the read index until there is room.
  template<class A>
  task<> wait_for_room(A& self, std::uint32_t ring, ring_writer& mine,
                       std::source_location where = std::source_location::current()) {
    auto const has_moved = [this, write = mine.write](std::uint32_t read) {
      return has_room({write, read});
    };
    mine.read =
        co_await self.wait_until(read_index(ring), has_moved, orders_.refresh_read_index, where);
  }
  /// ②–④ Fills the next entry and hands it over. There must be room. Gives the entry's index.
  ///
  /// Errors   fault out_of_bounds – a ring overflow: the caller did not look for room
  template<class A>
  std::uint32_t post(A& self, std::uint32_t ring, ring_writer& mine, command const& c,
                     std::source_location where = std::source_location::current()) {
    if (!has_room(mine)) [[unlikely]]
      overflow(ring, where);
    self.store(field(ring, mine.write, &entry::what), c, where);
    self.store(field(ring, mine.write, &entry::status), posted, orders_.post_status, where);
    return std::exchange(mine.write, (mine.write + 1) & wrap);
  }
  /// ⑤ Waits until the service has completed the entry; is_failed() of what it gives.
  template<class A>
  [[nodiscard]] auto completed(A& self, std::uint32_t ring, std::uint32_t index,
                               std::source_location where = std::source_location::current()) {
    auto const is_complete = [](std::uint8_t status) { return status != posted; };
    return self.wait_until(field(ring, index, &entry::status), is_complete, orders_.await_status,
                           where);
  }
  /// True if the operation was given up: the job has failed.
  [[nodiscard]] static constexpr bool is_failed(std::uint8_t status) noexcept {
    return status == failed;
  }
  /// ⑤ Polls on the status of every entry between the read and the write index. False if one of
  /// the operations was given up.
  template<class A>
  task<bool> all_completed(A& self, std::uint32_t ring, ring_writer& mine,
                           std::source_location where = std::source_location::current()) {
    bool is_good = true;
    for (; mine.read != mine.write; mine.read = (mine.read + 1) & wrap)
      is_good &= !is_failed(co_await completed(self, ring, mine.read, where));
    co_return is_good;
  }
  /// What a completed operation brought back.
  template<class A>
  [[nodiscard]] std::uint64_t reply(A& self, std::uint32_t ring, std::uint32_t index,
                                    std::source_location where = std::source_location::current()) {
    return self.load(field(ring, index, &entry::reply), where);
  }

  // The service's side

  /// ① True if the next entry holds a command.
  template<class A>
  [[nodiscard]] bool is_posted(A& self, std::uint32_t ring, ring_reader const& mine,
                               std::source_location where = std::source_location::current()) {
    std::uint8_t const status =
        self.load(field(ring, mine.read, &entry::status), orders_.poll_status, where);
    return status == posted;
  }
  /// ① Waits for it.
  template<class A>
  [[nodiscard]] auto next_posted(A& self, std::uint32_t ring, ring_reader const& mine,
                                 std::source_location where = std::source_location::current()) {
    auto const is_there = [](std::uint8_t status) { return status == posted; };
    return self.wait_until(field(ring, mine.read, &entry::status), is_there, orders_.poll_status,
                           where);
  }
  /// ② The command of the next entry, which is_posted().
  template<class A>
  [[nodiscard]] command take(A& self, std::uint32_t ring, ring_reader& mine,
                             std::source_location where = std::source_location::current()) {
    mine.has_taken = true;
    return self.load(field(ring, mine.read, &entry::what), where);
  }
  /// ③, ④ Marks the entry as complete, with what it brought back, and gives it to the work-group.
  template<class A>
  void complete(A& self, std::uint32_t ring, ring_reader& mine, std::uint64_t reply = 0,
                std::source_location where = std::source_location::current()) {
    finish(self, ring, mine, reply, completed_well, where);
  }
  /// The same for an operation that is given up.
  template<class A>
  void give_up(A& self, std::uint32_t ring, ring_reader& mine,
               std::source_location where = std::source_location::current()) {
    finish(self, ring, mine, 0, failed, where);
  }

private:
  static constexpr std::uint8_t completed_well = 0; ///< also: nobody has used the entry yet
  static constexpr std::uint8_t posted = 1;
  static constexpr std::uint8_t failed = 2;

  template<class A>
  void finish(A& self, std::uint32_t ring, ring_reader& mine, std::uint64_t reply,
              std::uint8_t status, std::source_location where) {
    if (self.is_explored() && !mine.has_taken)
      self.report_misuse("completes a ring's entry that it has not taken", where);
    mine.has_taken = false;
    self.store(field(ring, mine.read, &entry::reply), reply, where);
    self.store(field(ring, mine.read, &entry::status), status, orders_.complete_status, where);
    mine.read = (mine.read + 1) & wrap;
    self.store(read_index(ring), mine.read, orders_.advance_read_index, where);
  }

  struct alignas(64) entry {
    command what;
    std::uint64_t reply;
    std::uint8_t status;
  };
  static_assert(sizeof(entry) == 64);

  static std::uint32_t checked_rings(std::uint32_t n) {
    if (n == 0)
      throw std::invalid_argument("comp_net: no rings; at least 1 is allowed");
    return n;
  }
  static std::uint32_t checked_entries(std::uint32_t n) {
    if (!std::has_single_bit(n) || n - 1 > wrap / 2)
      throw std::invalid_argument("comp_net: rings of " + std::to_string(n) +
                                  " entries; allowed are powers of two up to 2^" +
                                  std::to_string(IndexBits - 1));
    return n;
  }
  [[nodiscard]] static std::uint32_t in_flight(ring_writer const& mine) noexcept {
    return (mine.write - mine.read) & wrap; // a rolling difference: the indices wrap
  }
  [[noreturn]] void overflow(std::uint32_t ring, std::source_location where) const {
    throw emu::kernel_stop{emu::fault::kind::out_of_bounds,
                           "ring overflow: ring " + std::to_string(ring) + " has " +
                               std::to_string(entry_count_) + " entries, all of them in flight",
                           where};
  }
  template<class T>
  emu::global<T> field(std::uint32_t ring, std::uint32_t index, T entry::* member) {
    std::size_t const at = std::size_t{ring} * entry_count_ + (index & (entry_count_ - 1));
    return emu::global<T>(&(entries_.global().get()[at].*member));
  }
  emu::global<std::uint32_t> read_index(std::uint32_t ring) { return read_indices_[ring]; }

  std::uint32_t ring_count_;
  std::uint32_t entry_count_;
  ring_orders orders_;
  emu::buffer<entry> entries_;
  emu::index_lines<std::uint32_t> read_indices_;
};

/// What nodes use.
using rings = basic_rings<32>;

} // namespace quarry::net::comp_net
