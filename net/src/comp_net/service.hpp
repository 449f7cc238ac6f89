// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../call_sites.hpp"
#include "../shmem/heap_access.hpp"
#include "overdue.hpp"

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/node.hpp>
#include <quarry/task.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace quarry::net::comp_net {

/// The network service: takes commands out of some of a node's rings and performs them through
/// shmem. It never waits: blocking operations become non-blocking ones, whose entries are marked
/// complete after a number of polling rounds, or as soon as there is nothing else to do.
///
/// Each ring has an shmem context of its own, so that nobody waits for another work-group's
/// operations (ComP-Net §4.1). Runs on one actor, whichever the configuration says.
///
/// Source   ComP-Net §4.2.1, Figure 6 (numbers below)
class network_service {
public:
  struct place {
    rings& queues;
    std::uint32_t first; ///< rings [first, last)
    std::uint32_t last;
    emu::global<ring_state> states;    ///< of all rings
    emu::global<std::uint32_t> failed; ///< told to work-groups that wait for memory
    std::uint32_t polling_rounds;
    open_contexts* contexts;
    std::span<wait_record> waits;  ///< of all rings
    emu::allocations const* known; ///< what commands may name
  };

  /// Errors   as shmem::node::make_context()
  static result<std::unique_ptr<network_service>> make(place const& p, shmem::node& network,
                                                       std::string name) {
    auto made = std::unique_ptr<network_service>(new network_service(p, network, std::move(name)));
    for (std::uint32_t ring = p.first; ring < p.last; ++ring) {
      auto context = network.make_context();
      if (!context)
        return context.error();
      made->served_.emplace_back(ring, std::move(*context));
    }
    return made;
  }

  [[nodiscard]] std::string name() const { return name_; }
  /// No work-group can post anything before it has woken the service.
  [[nodiscard]] bool may_sleep() const noexcept { return place_.contexts->count() == 0; }

  /// One round: at most one command of each ring. True if there was anything to do.
  template<class Core>
  task<bool> poll(Core& self) {
    co_return round(self);
  }
  /// Would poll() do anything? Natively it moves messages meanwhile: nobody else might.
  template<class Core>
  [[nodiscard]] bool has_work(Core& self) {
    static_cast<void>(network_.progress());
    // A turn for those who were asked: as long as the network answers for a wait, it is no stall.
    if (look_after_waits() || (!has_failed_ && network_.failure()) || has_orphans())
      return true;
    for (served_ring& r : served_)
      if (has_arrived(r) || (r.left != nullptr && is_left_alone(self, r)) ||
          (r.is_blocked ? is_over(r) : place_.queues.is_posted(self, r.number, r.reader)))
        return true;
    return false;
  }

private:
  /// A get that is on its way, where the bytes do not go to device memory directly.
  struct arriving {
    shmem::ticket when;
    std::byte* dest;
    std::vector<std::byte> bytes;
    std::source_location where; ///< for reports
  };
  struct served_ring {
    served_ring(std::uint32_t n, shmem::context c) : number(n), network(std::move(c)) {}
    std::uint32_t number;
    shmem::context network;
    ring_reader reader{};
    command now{}; ///< the one that is_blocked
    shmem::ticket when{};
    std::uint64_t fetched = 0;
    std::list<arriving> gets{};
    bool is_blocked = false; ///< the work-group waits: nothing more is taken
    bool must_retry = false; ///< there was no room: it has not even begun
    std::uint64_t taken = 0; ///< commands
    /// Not null: the launch of its context has ended.
    std::shared_ptr<std::atomic<std::uint32_t>> left{};
  };

  network_service(place const& p, shmem::node& network, std::string name)
      : place_(p), network_(network), name_(std::move(name)),
        waits_(network, p.waits, p.first, p.last - p.first) {}

  /// Of its own rings: nobody else would take them, and who is wanted for nothing never suspends.
  [[nodiscard]] bool has_orphans() {
    return place_.contexts->has_orphans(place_.first, place_.last);
  }
  /// True if it has asked the other pes.
  bool look_after_waits() {
    if (has_failed_ || !waits_.is_time())
      return false;
    return waits_.look(
        [this](std::uint32_t i) { return served_[i].is_blocked ? served_[i].taken : 0; },
        [this](std::uint32_t i) {
          command const& c = served_[i].now;
          std::string const name = to_string(c.what);
          bool const is_for_all = c.what == operation::quiet;
          return is_for_all ? name : fmt::format("{} to pe {}", name, c.pe);
        });
  }

  template<class Core>
  bool round(Core& self) {
    if (!has_failed_ && network_.failure())
      tell_failure(self);
    bool any = network_.progress();
    static_cast<void>(look_after_waits());
    if (has_orphans())
      for (open_contexts::orphan& o : place_.contexts->take_orphans(place_.first, place_.last))
        served_[o.ring - place_.first].left = std::move(o.left);
    for (served_ring& r : served_) {
      if (has_arrived(r)) { // at once: a get that does not block may bring its data at any time
        store_arrived(self, r);
        any = true;
      }
      if (!r.is_blocked && place_.queues.is_posted(self, r.number, r.reader)) { // ①
        r.now = place_.queues.take(self, r.number, r.reader);
        ++r.taken;
        begin(self, r);
        any = true;
      }
      if (r.left != nullptr && is_left_alone(self, r)) {
        close(self, r);
        any = true;
      }
    }
    if (any && ++rounds_ < place_.polling_rounds)
      return true;
    rounds_ = 0;
    for (served_ring& r : served_)
      if (r.is_blocked && is_over(r)) {
        go_on(self, r);
        any = true;
      }
    return any;
  }

  /// All that a context has asked for whose launch is gone has been done, or given up.
  template<class Core>
  [[nodiscard]] bool is_left_alone(Core& self, served_ring& r) {
    return !r.is_blocked && r.gets.empty() && (has_failed_ || r.network.is_quiet()) &&
           !place_.queues.is_posted(self, r.number, r.reader);
  }
  /// As its work-group would have closed it.
  template<class Core>
  void close(Core& self, served_ring& r) {
    r.network.see_answers();
    place_.waits[r.number].end_if_begun();
    auto const met = place_.contexts->met(r.number);
    place_.contexts->closed(r.number);
    give_ring_back(self, place_.states, r.number,
                   {.write = r.reader.read, .barriers = met.barriers, .reductions = met.reductions},
                   place_.queues.orders());
    std::exchange(r.left, nullptr)->fetch_sub(1, std::memory_order_release);
  }

  /// ② Calls into shmem; ③, ④ if nobody waits for the operation.
  template<class Core>
  void begin(Core& self, served_ring& r) {
    r.must_retry = false;
    r.is_blocked = false;
    if (has_failed_)
      return place_.queues.give_up(self, r.number, r.reader);
    if (Core::memory_type::may_explore && !names_memory(r.now)) { // half of an entry, say
      self.report_misuse("takes a command that names no memory of the device",
                         std::source_location::current());
      return place_.queues.give_up(self, r.number, r.reader);
    }
    auto const begun = call(self, r);
    if (!begun) {
      r.is_blocked = r.must_retry = begun.error().code == std::errc::resource_unavailable_try_again;
      if (!r.must_retry)
        refuse(self, r);
      return;
    }
    r.when = *begun;
    r.is_blocked = must_wait(r.now);
    if (!r.is_blocked)
      place_.queues.complete(self, r.number, r.reader);
  }

  /// Has whatever it points to been allocated? The device checks that; a ring may tear it.
  [[nodiscard]] bool names_memory(command const& c) const {
    bool const points =
        c.what == operation::put || c.what == operation::put_signal || c.what == operation::get;
    return !points || c.has(command::is_inline) || c.bytes == 0 ||
           place_.known->contain(reinterpret_cast<void const*>(c.local), c.bytes);
  }

  /// A put's data have been copied or sent when it has begun.
  static bool must_wait(command const& c) noexcept {
    return c.has(command::is_blocking) && c.what != operation::put &&
           c.what != operation::put_signal && c.what != operation::fence;
  }

  [[nodiscard]] bool is_over(served_ring& r) {
    if (has_failed_ || r.must_retry)
      return true;
    if (r.now.what == operation::quiet)
      return r.network.is_quiet();
    return r.network.is_done(r.when);
  }

  template<class Core>
  void go_on(Core& self, served_ring& r) {
    if (r.must_retry || has_failed_)
      return begin(self, r);
    r.network.see_answers();
    r.is_blocked = false;
    store_arrived(self, r);
    place_.queues.complete(self, r.number, r.reader, r.fetched); // ③, ④
  }

  /// What does not fit the job is a mistake that the device's checks let through: the job fails.
  template<class Core>
  void refuse(Core& self, served_ring& r) {
    tell_failure(self);
    place_.queues.give_up(self, r.number, r.reader);
  }
  template<class Core>
  void tell_failure(Core& self) {
    has_failed_ = true;
    self.store(place_.failed, 1U, place_.queues.orders().tell_failure);
  }

  template<class Core>
  result<shmem::ticket> call(Core& self, served_ring& r) {
    command const& c = r.now;
    symmetric_address const at{c.target};
    pe const target{c.pe};
    switch (c.what) {
    case operation::put:
      return r.network.put_nbi(at, payload(self, c), target, line_of(c));
    case operation::put_signal:
      return r.network.put_signal_nbi(at, payload(self, c), symmetric_address{c.extra}, c.operand,
                                      static_cast<shmem::signal_op>(c.kind), target, line_of(c));
    case operation::get:
      return begin_get(r, c.has(command::is_inline), Core::memory_type::may_explore);
    case operation::atomic:
      return r.network.atomic_nbi(static_cast<shmem::atomic_op>(c.kind), at, c.operand, c.extra,
                                  c.has(command::is_blocking) ? &r.fetched : nullptr, target,
                                  c.width, line_of(c));
    case operation::fence:
      r.network.fence();
      break;
    case operation::quiet:
      break;
    }
    return shmem::ticket{};
  }

  /// The kernel's, where it is known.
  static std::source_location line_of(command const& c) {
    return call_site(c.site).value_or(std::source_location::current());
  }

  /// The bytes that a put sends. Device memory itself where host and device memory are the same.
  template<class Core>
  std::span<std::byte const> payload(Core& self, command const& c) {
    if (c.has(command::is_inline))
      return std::as_bytes(std::span(&c.local, 1)).first(c.bytes);
    auto const* const from = reinterpret_cast<std::byte const*>(c.local); // NOLINT(*-int-to-ptr)
    if constexpr (!Core::memory_type::may_explore)
      return {from, c.bytes};
    copied_.resize(c.bytes);
    memory(self, line_of(c)).read(copied_.data(), from, c.bytes);
    return copied_;
  }

  result<shmem::ticket> begin_get(served_ring& r, bool is_inline, bool needs_copy) {
    command const& c = r.now;
    symmetric_address const from{c.target};
    r.fetched = 0;
    if (is_inline)
      return r.network.get_nbi(std::as_writable_bytes(std::span(&r.fetched, 1)).first(c.bytes),
                               from, pe{c.pe}, line_of(c));
    auto* const dest = reinterpret_cast<std::byte*>(c.local); // NOLINT(*-int-to-ptr)
    if (!needs_copy)
      return r.network.get_nbi({dest, c.bytes}, from, pe{c.pe}, line_of(c));
    r.gets.push_back({{}, dest, std::vector<std::byte>(c.bytes), line_of(c)});
    auto const begun = r.network.get_nbi(r.gets.back().bytes, from, pe{c.pe}, line_of(c));
    if (begun)
      r.gets.back().when = *begun;
    else
      r.gets.pop_back();
    return begun;
  }
  [[nodiscard]] static bool has_arrived(served_ring& r) {
    return std::any_of(r.gets.begin(), r.gets.end(),
                       [&](arriving const& a) { return r.network.is_done(a.when); });
  }
  /// Bytes that have come go where the work-group wants them.
  template<class Core>
  void store_arrived(Core& self, served_ring& r) {
    r.network.see_answers();
    r.gets.remove_if([&](arriving& a) {
      if (!r.network.is_done(a.when))
        return false;
      memory(self, a.where).write(a.dest, a.bytes.data(), a.bytes.size());
      return true;
    });
  }
  template<class Core>
  auto memory(Core& self, std::source_location where) {
    return shmem::heap_access<typename Core::memory_type>(self, network_.orders(), where);
  }

  place place_;
  shmem::node& network_;
  std::string name_;
  std::vector<served_ring> served_;
  std::vector<std::byte> copied_;
  std::uint32_t rounds_ = 0;
  bool has_failed_ = false;
  overdue_waits waits_;
};

} // namespace quarry::net::comp_net
