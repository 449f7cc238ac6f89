// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "team_state.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quarry::net::shmem {

/// Something that all members of a collective must agree on: a number with its name, or one of
/// several things that have names.
struct agreed {
  agreed(std::string_view name, std::uint64_t number) noexcept
      : what(name), value(number), is_number(true) {}
  template<class Enumeration>
    requires std::is_enum_v<Enumeration>
  agreed(Enumeration one) noexcept // NOLINT(google-explicit-constructor): it lists as itself
      : what(to_string(one)), value(static_cast<std::uint64_t>(one)) {}

  std::string_view what;
  std::uint64_t value;
  bool is_number = false;
};
using agreement = std::initializer_list<agreed>;

/// One collective of a team, on one member: puts, signals and words to wait for, as users have
/// them, in the team's own memory.
///
/// Errors   std::errc::device_or_resource_busy – another thread of this pe is in one of the same
///          team
class team_work {
public:
  using combiner = void(void* into, void const* from, std::size_t count);

  team_work(engine& e, team_state& t, operation const& what)
      : engine_(e), team_(t), area_{e.memory().user_bytes + t.id * team_area::bytes(e.options())},
        what_(what), has_turn_(!std::atomic_ref(t.is_at_work).exchange(true)) {
    e.begin_on_host(emu::operation_kind::collective, what.where);
  }
  team_work(team_work const&) = delete;
  team_work& operator=(team_work const&) = delete;
  /// Where it ends in this member's heap, a host finds its own part, too.
  ~team_work() {
    if (engine_.decides())
      emu::bring_own_to_host();
    if (has_turn_) // release: the next one's thread sees what this one has left in the team
      std::atomic_ref(team_.is_at_work).store(false, std::memory_order_release);
  }

  struct vectors {
    std::uint64_t dest;
    std::uint64_t source;
    std::size_t count;
    std::size_t each;
    combiner* combine;
    [[nodiscard]] std::size_t bytes() const noexcept { return count * each; }
  };

  /// Returns when all members have come, to the same collective, about which they agree.
  /// Dissemination: in round k each member tells the one 2^k places further on.
  result<void> meet(collective what, agreement all = {}) { return meet_with(what, all, 0); }

  result<void> broadcast(std::uint64_t dest, std::uint64_t source, std::size_t bytes,
                         std::uint32_t root);
  result<void> fcollect(std::uint64_t dest, std::uint64_t source, std::size_t bytes);
  result<void> alltoall(std::uint64_t dest, std::uint64_t source, std::size_t bytes);
  /// As fcollect(), but each has as many bytes as it says.
  ///
  /// Errors   outside_heap – all together are too many for the heap; std::errc::invalid_argument –
  ///          some member's source overlaps its dest, as all are told
  result<void> collect(std::uint64_t dest, std::uint64_t source, std::size_t bytes);

  /// Meets the others, and combines everybody's elements.
  result<void> reduce(vectors const& v, agreement all);

  /// Everybody's words, as many of each, in the order of the members.
  ///
  /// Shape    mine.size() ≤ 8
  result<std::vector<std::uint64_t>> all_words(std::span<std::uint64_t const> mine);
  /// Forgets what an earlier team has left in the memory of `id`.
  void clear(std::uint32_t id);

private:
  [[nodiscard]] std::uint32_t after(std::uint32_t places) const noexcept {
    return (team_.index + places) % team_.count;
  }
  /// The member's memory.
  std::byte* here(std::uint64_t offset) { return engine_.memory().at(offset); }
  void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes);
  result<void> send(std::uint32_t member, std::uint64_t to, std::uint64_t from, std::size_t bytes);
  /// `count` more puts of others.
  result<void> receive(std::uint64_t count);
  result<void> wait_at_least(std::uint64_t offset, std::uint64_t value);
  [[nodiscard]] bool is_shared() const;

  /// into = into combined with from, elements of this member's heap.
  void combine(vectors const& v, std::uint64_t into, std::uint64_t from, std::size_t bytes);
  /// meet(), and on the way everybody's first `bytes` of the place for it are gathered.
  result<void> meet_with(collective what, agreement all, std::size_t bytes);

  // Ways to combine, before whose begin the members have met

  /// Few: gathered while they met.
  [[nodiscard]] bool is_gathered(vectors const& v) const;
  void combine_gathered(vectors const& v);
  /// More: each combines a part of all members' elements, and gives it to all.
  [[nodiscard]] bool fits_exchange(vectors const& v) const;
  result<void> reduce_by_exchange(vectors const& v);
  /// Many: round the ring, first to combine, then to spread.
  result<void> reduce_by_ring(vectors const& v);
  /// In one address space: each combines a part of all members' elements where they are.
  result<void> reduce_by_parts(vectors const& v);
  /// The same for few: all combine everybody's, which they have put where all can read them.
  void reduce_at_once(vectors const& v);
  [[nodiscard]] bool is_at_once(vectors const& v) const;
  [[nodiscard]] std::uint64_t offered(std::uint64_t meeting) const;

  [[nodiscard]] error out_of_turn() const;

  engine& engine_;
  team_state& team_;
  team_area area_;
  operation what_;
  bool has_turn_;
};

} // namespace quarry::net::shmem
