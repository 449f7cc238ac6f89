// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/global.hpp>
#include <quarry/net/comp_net/collective_calls.hpp>
#include <quarry/net/comp_net/context_handle.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/heap_wait.hpp>
#include <quarry/net/comp_net/leader.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <utility>

namespace quarry::net::comp_net {

/// A work-group's private communication context: OpenSHMEM from inside a kernel. Its words lie in
/// the work-group's LDS; what kernels hold is a small value that names them.
///
/// Every operation is a work-group collective: all wavefronts (or work-items) of the group call it
/// at the same place with the same arguments; there is a barrier of the group before it and after
/// it. The first wavefront puts a command into the group's ring and, in blocking operations, waits
/// for the network service.
///
/// `auto sent = ctx.put(wf, …); co_await std::move(sent);` in wave kernels (a task), and
/// `co_await ctx.put(wi, …);` in item kernels.
///
/// Addresses of symmetric objects are local ones, as shmem::node::malloc() gave them. Puts of up to
/// 8 bytes travel in the ring's entry. Between two fences operations arrive in any order.
///
/// Errors   fault out_of_bounds – a symmetric object outside the heap (put, wait_until, …), a pe
///          outside the job; wrong_shape – a context of another work-group, destroyed, or never
///          made; misaligned; exception – the job has failed, and why
/// Source   ComP-Net §4.1, Figure 5; OpenSHMEM 1.5 §9
class context {
public:
  /// Of LDS, that a launch reserves for it.
  static constexpr std::uint32_t lds_bytes = 64;
  static_assert(sizeof(context_words) <= lds_bytes);

  context() = default;

  /// The work-group's context. Names LDS, so all of the group come at the same place. Ended with
  /// destroy(), or else with the launch, which is not over before what it has begun; a work-group's
  /// number is its ring's.
  ///
  /// Errors   fault wrong_shape – there are fewer rings than work-groups, or a launch that runs at
  ///          the same time uses the ring; lds_out_of_bounds
  template<caller A>
  static task<context> init(A& self, device& net,
                            std::source_location where = std::source_location::current());
  /// quiet(), and the ring may have another context.
  template<caller A>
  [[nodiscard]] auto destroy(A& self,
                             std::source_location where = std::source_location::current()) {
    return start(self, destroy_call{}, where);
  }

  // One-sided operations. After a put the source may be reused, after a get the data are there; the
  // others (…_nbi) promise that of quiet() alone.

  template<shmem::element T, caller A>
  [[nodiscard]] auto put(A& self, emu::global<T> dest,
                         std::type_identity_t<emu::global<T const>> source, std::size_t count,
                         pe target, std::source_location where = std::source_location::current()) {
    return put_bytes(self, "put", dest.get(), source.get(), shmem::bytes_of(count, sizeof(T)),
                     target, command::is_blocking, where);
  }
  template<shmem::element T, caller A>
  [[nodiscard]] auto put_nbi(A& self, emu::global<T> dest,
                             std::type_identity_t<emu::global<T const>> source, std::size_t count,
                             pe target,
                             std::source_location where = std::source_location::current()) {
    return put_bytes(self, "put_nbi", dest.get(), source.get(), shmem::bytes_of(count, sizeof(T)),
                     target, 0, where);
  }
  /// A single element.
  template<shmem::element T, caller A>
    requires(sizeof(T) <= command::most_inline_bytes)
  [[nodiscard]] auto p(A& self, emu::global<T> dest, std::type_identity_t<T> value, pe target,
                       std::source_location where = std::source_location::current()) {
    command c = symmetric(operation::put, dest.get(), sizeof(T), target, "p", where);
    std::memcpy(&c.local, &value, sizeof value);
    c.flags = command::is_inline;
    return start(self, command_call{"p", c}, where);
  }
  template<shmem::element T, caller A>
  [[nodiscard]] auto get(A& self, emu::global<T> dest,
                         std::type_identity_t<emu::global<T const>> source, std::size_t count,
                         pe target, std::source_location where = std::source_location::current()) {
    return get_bytes(self, "get", dest.get(), source.get(), shmem::bytes_of(count, sizeof(T)),
                     target, command::is_blocking, where);
  }
  template<shmem::element T, caller A>
  [[nodiscard]] auto get_nbi(A& self, emu::global<T> dest,
                             std::type_identity_t<emu::global<T const>> source, std::size_t count,
                             pe target,
                             std::source_location where = std::source_location::current()) {
    return get_bytes(self, "get_nbi", dest.get(), source.get(), shmem::bytes_of(count, sizeof(T)),
                     target, 0, where);
  }
  /// A single element.
  template<class T, caller A>
    requires(sizeof(T) <= command::most_inline_bytes)
  [[nodiscard]] auto g(A& self, emu::global<T> source, pe target,
                       std::source_location where = std::source_location::current()) {
    command c = symmetric(operation::get, source.get(), sizeof(T), target, "g", where);
    c.flags = command::is_inline;
    return start(self, fetch_call<std::remove_const_t<T>>{"g", c}, where);
  }
  /// put(), and when all of it is there the signal, at the same pe. Does not wait; the source may
  /// be reused after quiet().
  template<shmem::element T, caller A>
  [[nodiscard]] auto put_signal_nbi(A& self, emu::global<T> dest,
                                    std::type_identity_t<emu::global<T const>> source,
                                    std::size_t count, emu::global<std::uint64_t> signal,
                                    std::uint64_t value, shmem::signal_op how, pe target,
                                    std::source_location where = std::source_location::current()) {
    return put_signal_bytes(self, "put_signal_nbi", dest.get(), source.get(),
                            shmem::bytes_of(count, sizeof(T)), {signal.get(), value, how}, target,
                            0, where);
  }
  /// The same; on return the source may be reused.
  template<shmem::element T, caller A>
  [[nodiscard]] auto put_signal(A& self, emu::global<T> dest,
                                std::type_identity_t<emu::global<T const>> source,
                                std::size_t count, emu::global<std::uint64_t> signal,
                                std::uint64_t value, shmem::signal_op how, pe target,
                                std::source_location where = std::source_location::current()) {
    return put_signal_bytes(self, "put_signal", dest.get(), source.get(),
                            shmem::bytes_of(count, sizeof(T)), {signal.get(), value, how}, target,
                            command::is_blocking, where);
  }

  // Atomics, at the target. Those that bring nothing back do not wait.

  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_set(A& self, emu::global<T> at, std::type_identity_t<T> value,
                                pe target,
                                std::source_location where = std::source_location::current()) {
    return update(self, "atomic_set", shmem::atomic_op::set, at, value, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_add(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                                std::source_location where = std::source_location::current()) {
    return update(self, "atomic_add", shmem::atomic_op::add, at, n, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_inc(A& self, emu::global<T> at, pe target,
                                std::source_location where = std::source_location::current()) {
    return update(self, "atomic_inc", shmem::atomic_op::add, at, T{1}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_and(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                                std::source_location where = std::source_location::current()) {
    return update(self, "atomic_and", shmem::atomic_op::bit_and, at, n, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_or(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                               std::source_location where = std::source_location::current()) {
    return update(self, "atomic_or", shmem::atomic_op::bit_or, at, n, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_xor(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                                std::source_location where = std::source_location::current()) {
    return update(self, "atomic_xor", shmem::atomic_op::bit_xor, at, n, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_fetch(A& self, emu::global<T> at, pe target,
                                  std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_fetch", shmem::atomic_op::fetch, at, T{}, T{}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto
  atomic_fetch_add(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_fetch_add", shmem::atomic_op::add, at, n, T{}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto
  atomic_fetch_inc(A& self, emu::global<T> at, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_fetch_inc", shmem::atomic_op::add, at, T{1}, T{}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto
  atomic_fetch_and(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_fetch_and", shmem::atomic_op::bit_and, at, n, T{}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_fetch_or(A& self, emu::global<T> at, std::type_identity_t<T> n,
                                     pe target,
                                     std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_fetch_or", shmem::atomic_op::bit_or, at, n, T{}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto
  atomic_fetch_xor(A& self, emu::global<T> at, std::type_identity_t<T> n, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_fetch_xor", shmem::atomic_op::bit_xor, at, n, T{}, target, where);
  }
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto atomic_swap(A& self, emu::global<T> at, std::type_identity_t<T> value,
                                 pe target,
                                 std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_swap", shmem::atomic_op::set, at, value, T{}, target, where);
  }
  /// Stores `value` if `expected` is there; gives what was.
  template<shmem::atomic_word T, caller A>
  [[nodiscard]] auto
  atomic_compare_swap(A& self, emu::global<T> at, std::type_identity_t<T> expected,
                      std::type_identity_t<T> value, pe target,
                      std::source_location where = std::source_location::current()) {
    return fetch(self, "atomic_compare_swap", shmem::atomic_op::compare_swap, at, value, expected,
                 target, where);
  }

  // Order, and waiting

  /// Waits until a word of this pe's heap compares so. Gives the word.
  template<class T, caller A>
    requires shmem::atomic_word<std::remove_const_t<T>>
  [[nodiscard]] auto wait_until(A& self, emu::global<T> at, shmem::comparison how,
                                std::remove_const_t<T> value,
                                std::source_location where = std::source_location::current()) {
    using call = wait_call<std::remove_const_t<T>>;
    return start(self, call{handle_.own_words(at, 1, how, value, call::what, where)}, where);
  }
  /// Waits until all of so many words do.
  template<class T, caller A>
    requires shmem::atomic_word<std::remove_const_t<T>>
  [[nodiscard]] auto wait_until_all(A& self, emu::global<T> at, std::uint32_t count,
                                    shmem::comparison how, std::remove_const_t<T> value,
                                    std::source_location where = std::source_location::current()) {
    using call = wait_all_call<std::remove_const_t<T>>;
    return start(self, call{handle_.own_words(at, count, how, value, call::what, where)}, where);
  }
  /// Waits until any of so many words does, of 1 and more. Gives its index: of several one or
  /// another, so that calls again and again give each.
  template<class T, caller A>
    requires shmem::atomic_word<std::remove_const_t<T>>
  [[nodiscard]] auto wait_until_any(A& self, emu::global<T> at, std::uint32_t count,
                                    shmem::comparison how, std::remove_const_t<T> value,
                                    std::source_location where = std::source_location::current()) {
    using call = wait_any_call<std::remove_const_t<T>>;
    if (count == 0) [[unlikely]]
      context_handle::stop_no_words(call::what, where);
    return start(self, call{handle_.own_words(at, count, how, value, call::what, where)}, where);
  }
  /// Does the word compare so now? A work-group that asks again and again gives the others their
  /// turns, and ends with the job; but nobody looks after it: it ends in no timeout where its peer
  /// is there and says nothing.
  template<class T, caller A>
    requires shmem::atomic_word<std::remove_const_t<T>>
  [[nodiscard]] auto test(A& self, emu::global<T> at, shmem::comparison how,
                          std::remove_const_t<T> value,
                          std::source_location where = std::source_location::current()) {
    using call = test_call<std::remove_const_t<T>>;
    return start(self, call{handle_.own_words(at, 1, how, value, call::what, where)}, where);
  }
  /// A signal of this pe's heap as it is now, with what was put before it. As for test().
  template<caller A>
  [[nodiscard]] auto signal_fetch(A& self, emu::global<std::uint64_t const> signal,
                                  std::source_location where = std::source_location::current()) {
    using call = signal_fetch_call;
    handle_.check_own(signal, 1, call::what, where);
    return start(self, call{signal}, where);
  }
  /// What was asked for before arrives, at each pe, before what is asked for after it.
  template<caller A>
  [[nodiscard]] auto fence(A& self, std::source_location where = std::source_location::current()) {
    return start(self, command_call{"fence", {.what = operation::fence}}, where);
  }
  /// Waits until all that this context has asked for is done at its targets.
  template<caller A>
  [[nodiscard]] auto quiet(A& self, std::source_location where = std::source_location::current()) {
    return start(self, quiet_call{}, where);
  }
  /// quiet(), and waits for the work-groups of this number on all pes.
  template<caller A>
  [[nodiscard]] auto barrier_all(A& self,
                                 std::source_location where = std::source_location::current()) {
    return start(self, barrier_call{}, where);
  }
  /// The elements of the work-groups of this number on all pes, combined one by one, everywhere.
  /// `dest` and `source` are any device memory; they may be the same, but not overlap otherwise.
  /// Pes agree on every bit.
  ///
  /// Errors   fault wrong_shape – bits of floating-point numbers; an overlap; a pe that reduces
  ///          something else, or is in a barrier; out_of_bounds, where bounds are checked
  template<shmem::reducible T, caller A>
  [[nodiscard]] auto reduce(A& self, shmem::reduction how, emu::global<T> dest,
                            std::type_identity_t<emu::global<T const>> source, std::size_t count,
                            std::source_location where = std::source_location::current()) {
    if (!shmem::combines<T>(how)) [[unlikely]]
      context_handle::stop_not_for_these(how, where);
    context_handle::check_apart(dest.get(), source.get(), shmem::bytes_of(count, sizeof(T)), where);
    return start(self, reduce_call<T>{dest.get(), source.get(), count, how}, where);
  }

private:
  explicit context(context_handle const& h) noexcept : handle_(h) {}

  template<caller A, class Call>
  [[nodiscard]] auto start(A& self, Call call, std::source_location where) const {
    return handle_.start(self, call, where);
  }
  command symmetric(operation o, void const* at, std::size_t bytes, pe target, char const* what,
                    std::source_location where) const;
  template<class A>
  auto put_bytes(A& self, char const* name, void* dest, void const* source, std::size_t bytes,
                 pe target, std::uint8_t flags, std::source_location where) const {
    command c = symmetric(operation::put, dest, bytes, target, name, where);
    c.local = reinterpret_cast<std::uintptr_t>(source);
    return start(self, with_data(name, c, flags), where);
  }
  template<class A>
  auto get_bytes(A& self, char const* name, void* dest, void const* source, std::size_t bytes,
                 pe target, std::uint8_t flags, std::source_location where) const {
    command c = symmetric(operation::get, source, bytes, target, name, where);
    c.local = reinterpret_cast<std::uintptr_t>(dest);
    c.flags = flags;
    return start(self, command_call{name, c}, where);
  }
  struct signal_update {
    std::uint64_t* at;
    std::uint64_t value;
    shmem::signal_op how;
  };
  template<class A>
  auto put_signal_bytes(A& self, char const* name, void* dest, void const* source,
                        std::size_t bytes, signal_update signal, pe target, std::uint8_t flags,
                        std::source_location where) const {
    command c = symmetric(operation::put_signal, dest, bytes, target, name, where);
    c.local = reinterpret_cast<std::uintptr_t>(source);
    if (!shmem::exists(signal.how)) [[unlikely]]
      context_handle::stop_no_signal_op(signal.how, where);
    c.extra = handle_.net().offset_of(signal.at, sizeof *signal.at, "put_signal's signal", where);
    emu::check_alignment(signal.at, sizeof *signal.at, sizeof *signal.at, where);
    c.operand = signal.value;
    c.kind = static_cast<std::uint8_t>(signal.how);
    return start(self, with_data(name, c, flags), where);
  }
  /// Up to 8 bytes go into the entry, so that there is nothing to wait for.
  static command_call with_data(char const* name, command c, std::uint8_t flags) noexcept {
    if (c.bytes <= command::most_inline_bytes && c.bytes != 0)
      return {name, c, reinterpret_cast<std::byte const*>(c.local)}; // NOLINT(*-no-int-to-ptr)
    c.flags = flags;
    return {name, c};
  }

  template<shmem::atomic_word T>
  command atomic(char const* name, shmem::atomic_op op, emu::global<T> at, T operand, T expected,
                 pe target, std::source_location where) const {
    command c = symmetric(operation::atomic, at.get(), sizeof(T), target, name, where);
    emu::check_alignment(at.get(), sizeof(T), sizeof(T), where);
    std::memcpy(&c.operand, &operand, sizeof operand);
    std::memcpy(&c.extra, &expected, sizeof expected);
    c.bytes = 0; // the operand is in the entry
    c.kind = static_cast<std::uint8_t>(op);
    c.width = sizeof(T);
    return c;
  }
  template<class A, shmem::atomic_word T>
  auto update(A& self, char const* name, shmem::atomic_op op, emu::global<T> at, T operand,
              pe target, std::source_location where) const {
    return start(self, command_call{name, atomic(name, op, at, operand, T{}, target, where)},
                 where);
  }
  template<class A, shmem::atomic_word T>
  auto fetch(A& self, char const* name, shmem::atomic_op op, emu::global<T> at, T operand,
             T expected, pe target, std::source_location where) const {
    return start(self, fetch_call<T>{name, atomic(name, op, at, operand, expected, target, where)},
                 where);
  }

  context_handle handle_;
};

// Implementation

template<caller A>
task<context> context::init(A& self, device& net, std::source_location where) {
  emu::work_group& group = context_handle::group_of(self);
  if (group.linear_id >= net.queues().ring_count())
    throw emu::kernel_stop{emu::fault::kind::wrong_shape,
                           "work-group " + std::to_string(group.linear_id) +
                               " has no ring; the node has " +
                               std::to_string(net.queues().ring_count()),
                           where};
  context_handle const mine(net, self.template lds<context_words, 1>(where).get(), group);
  open_call const open{&net, mine.words(), static_cast<std::uint32_t>(group.linear_id)};
  auto opened = mine.start(self, open, where);
  if constexpr (emu::any_wavefront<A>)
    static_cast<void>(co_await std::move(opened));
  else
    static_cast<void>(co_await opened);
  co_return context(mine);
}

} // namespace quarry::net::comp_net
