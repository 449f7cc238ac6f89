// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <type_traits>

namespace quarry::net::shmem {

class engine;
struct team_state;

/// Some of the job's pes, a stride apart, which do things together: every member calls the same
/// collectives in the same order. Borrowed from the node, which it does not outlive.
///
/// All collectives check that every member is in the same one, with the same sizes, and begin
/// together: nobody writes into a member's destination before that member has come.
///
/// `where`, which is the caller's line, names a call in reports of an explored job.
///
/// Errors   as context; net_errc::mismatched_collective – a member is in another one;
///          std::errc::device_or_resource_busy – another thread of this pe is in one of this team
/// Source   OpenSHMEM 1.5 §9.4, §9.9; differs: teams of stride only (no split_2d, no configuration,
///          no shared team), no contexts of a team, no alltoalls
class team {
public:
  /// False for who was left out of a split, and once the team, or a copy of it, was destroyed; such
  /// a team has no operations.
  [[nodiscard]] bool is_member() const noexcept;
  /// This pe's place in the team; 0 for who was left out.
  [[nodiscard]] std::uint32_t index() const noexcept;
  /// Its members; 0 for who was left out.
  [[nodiscard]] std::uint32_t size() const noexcept;
  /// The pe at a place. Shape    index < size()
  [[nodiscard]] pe at(std::uint32_t index) const noexcept;

  /// A team of every `stride`th of this team's members, `count` of them, beginning with `start`.
  /// All members of this team call it.
  ///
  /// Errors   net_errc::heap_exhausted – there are too many teams; std::errc::invalid_argument
  [[nodiscard]] result<team>
  split_strided(std::uint32_t start, std::uint32_t stride, std::uint32_t count,
                std::source_location where = std::source_location::current());
  /// All members call it; then the team is none any more.
  [[nodiscard]] result<void> destroy(std::source_location where = std::source_location::current());

  /// Returns when all members have come. Completes no operations.
  [[nodiscard]] result<void> sync(std::source_location where = std::source_location::current());
  /// The root's elements, everywhere, at the root too.
  template<element T>
  [[nodiscard]] result<void>
  broadcast(T* dest, std::type_identity_t<T> const* source, std::size_t count, std::uint32_t root,
            std::source_location where = std::source_location::current()) {
    return broadcast_bytes(dest, source, bytes_of(count, sizeof(T)), root, where);
  }
  /// Everybody's elements, in the order of the members. `source` may be its own place in `dest`,
  /// but not overlap it otherwise: that is refused at once, to this pe alone.
  ///
  /// Errors   std::errc::invalid_argument – an overlap
  template<element T>
  [[nodiscard]] result<void>
  fcollect(T* dest, std::type_identity_t<T> const* source, std::size_t count,
           std::source_location where = std::source_location::current()) {
    return fcollect_bytes(dest, source, bytes_of(count, sizeof(T)), where);
  }
  /// The same, but each member has a `count` of its own. What cannot be, all members are told when
  /// the counts are known.
  ///
  /// Errors   net_errc::outside_heap – everybody's together are too many for the heap from `dest`
  ///          on; std::errc::invalid_argument – an overlap, at any member
  template<element T>
  [[nodiscard]] result<void> collect(T* dest, std::type_identity_t<T> const* source,
                                     std::size_t count,
                                     std::source_location where = std::source_location::current()) {
    return collect_bytes(dest, source, bytes_of(count, sizeof(T)), where);
  }
  /// The i-th `count` elements go to member i; those from member i come to the i-th place. `dest`
  /// and `source` do not overlap.
  template<element T>
  [[nodiscard]] result<void>
  alltoall(T* dest, std::type_identity_t<T> const* source, std::size_t count,
           std::source_location where = std::source_location::current()) {
    return alltoall_bytes(dest, source, bytes_of(count, sizeof(T)), where);
  }
  /// Everybody's elements combined, one by one. `dest` may be `source`, but not overlap it
  /// otherwise. Members agree on every bit, also of floating point.
  template<reducible T>
  [[nodiscard]] result<void> reduce(reduction how, T* dest, std::type_identity_t<T> const* source,
                                    std::size_t count,
                                    std::source_location where = std::source_location::current()) {
    combiner* const c = combiner_of<T>(how);
    if (c == nullptr)
      return not_for_these(how);
    return reduce_bytes(dest, source, count, sizeof(T), {c, how, arithmetic_of<T>()}, where);
  }

private:
  friend class node;
  friend class engine;
  team(engine& e, std::shared_ptr<team_state> state) noexcept
      : engine_(&e), state_(std::move(state)) {}

  /// into[i] = combined(into[i], from[i])
  using combiner = void(void* into, void const* from, std::size_t count);
  struct combining {
    combiner* combine;
    reduction how;
    arithmetic of;
  };
  template<class T, reduction How>
  static void combine(void* into, void const* from, std::size_t count) {
    auto* const a = static_cast<T*>(into);
    auto const* const b = static_cast<T const*>(from);
    for (std::size_t i = 0; i < count; ++i)
      a[i] = combined(How, a[i], b[i]);
  }
  template<class T>
  static combiner* combiner_of(reduction how) noexcept;
  static error not_for_these(reduction how);

  result<void> broadcast_bytes(void* dest, void const* source, std::size_t bytes,
                               std::uint32_t root, std::source_location where);
  result<void> fcollect_bytes(void* dest, void const* source, std::size_t bytes,
                              std::source_location where);
  result<void> collect_bytes(void* dest, void const* source, std::size_t bytes,
                             std::source_location where);
  result<void> alltoall_bytes(void* dest, void const* source, std::size_t bytes,
                              std::source_location where);
  result<void> reduce_bytes(void* dest, void const* source, std::size_t count, std::size_t each,
                            combining const& with, std::source_location where);

  engine* engine_;
  std::shared_ptr<team_state> state_;
};

// Implementation

template<class T>
team::combiner* team::combiner_of(reduction how) noexcept {
  if (!combines<T>(how))
    return nullptr;
  switch (how) {
  case reduction::sum:
    return &combine<T, reduction::sum>;
  case reduction::product:
    return &combine<T, reduction::product>;
  case reduction::minimum:
    return &combine<T, reduction::minimum>;
  case reduction::maximum:
    return &combine<T, reduction::maximum>;
  case reduction::bit_and:
    return &combine<T, reduction::bit_and>;
  case reduction::bit_or:
    return &combine<T, reduction::bit_or>;
  case reduction::bit_xor:
    return &combine<T, reduction::bit_xor>;
  }
  return nullptr;
}

} // namespace quarry::net::shmem
