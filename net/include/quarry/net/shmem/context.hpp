// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/net/symmetric_heap.hpp>
#include <quarry/result.hpp>
#include <quarry/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>

namespace quarry::net::shmem {

class engine;
struct context_state;

/// A stream of one-sided operations with an order of its own: fence() and quiet() act on it alone.
/// Made by node::make_context(), and does not outlive the node.
///
/// An address of a symmetric object is its local one, as node::malloc() gave it; the operations
/// without types take offsets in the heap. Aligned puts of 1, 2, 4 or 8 bytes arrive at once,
/// others byte by byte in any order. Between two fences operations arrive in any order.
///
/// `where`, which is the caller's line, names an operation in reports of an explored job.
///
/// Everything may be called from any thread and actor of the node, but the blocking calls (those
/// that are not named …_nbi, is_…, fence): these are for host threads.
///
/// Errors   net_errc::outside_heap, no_such_pe, misaligned – of the caller, and only of this call
///          peer_lost, timeout, bad_frame, … – the job has failed: every call says so from then on
/// Source   OpenSHMEM 1.5 §9.5 to §9.8, §9.11; differs: errors are values; contexts reach all pes
///          and have no options (SHMEM_CTX_…); no strided put and get
class context {
public:
  context(context&&) noexcept = default;
  context& operator=(context&&) noexcept = default;
  context(context const&) = delete;
  context& operator=(context const&) = delete;
  /// Without quiet() before, its operations still arrive.
  ~context() = default;

  // Blocking: on return of a put the source may be reused, on return of a get the value is there.

  template<element T>
  [[nodiscard]] result<void> put(T* dest, std::span<std::type_identity_t<T> const> source,
                                 pe target,
                                 std::source_location where = std::source_location::current()) {
    return put_bytes(dest, std::as_bytes(source), target, {"put", where});
  }
  template<element T>
  [[nodiscard]] result<void> get(std::span<std::type_identity_t<T>> dest, T const* source,
                                 pe target,
                                 std::source_location where = std::source_location::current()) {
    return get_bytes(std::as_writable_bytes(dest), source, target, {"get", where});
  }
  /// A single element.
  template<element T>
  [[nodiscard]] result<void> p(T* dest, std::type_identity_t<T> value, pe target,
                               std::source_location where = std::source_location::current()) {
    return put_bytes(dest, std::as_bytes(std::span(&value, 1)), target, {"p", where});
  }
  template<element T>
  [[nodiscard]] result<T> g(T const* source, pe target,
                            std::source_location where = std::source_location::current()) {
    T value;
    if (auto const got =
            get_bytes(std::as_writable_bytes(std::span(&value, 1)), source, target, {"g", where});
        !got)
      return got.error();
    return value;
  }
  /// put(), and when all of it is there the signal, which shares its target.
  template<element T>
  [[nodiscard]] result<void>
  put_signal(T* dest, std::span<std::type_identity_t<T> const> source, std::uint64_t* signal,
             std::uint64_t value, signal_op how, pe target,
             std::source_location where = std::source_location::current()) {
    return put_signal_bytes(dest, std::as_bytes(source), signal, value, how, target, where);
  }

  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_fetch(T const* at, pe target,
               std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::fetch, at, 0, 0, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<void>
  atomic_set(T* at, std::type_identity_t<T> value, pe target,
             std::source_location where = std::source_location::current()) {
    return silent(atomic_op::set, at, value, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_swap(T* at, std::type_identity_t<T> value, pe target,
              std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::set, at, value, 0, target, where);
  }
  /// Stores `value` if `expected` is there; gives what was.
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_compare_swap(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value,
                      pe target, std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::compare_swap, at, value, expected, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<void>
  atomic_add(T* at, std::type_identity_t<T> n, pe target,
             std::source_location where = std::source_location::current()) {
    return silent(atomic_op::add, at, n, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<void>
  atomic_inc(T* at, pe target, std::source_location where = std::source_location::current()) {
    return silent(atomic_op::add, at, T{1}, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<void>
  atomic_and(T* at, std::type_identity_t<T> n, pe target,
             std::source_location where = std::source_location::current()) {
    return silent(atomic_op::bit_and, at, n, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<void>
  atomic_or(T* at, std::type_identity_t<T> n, pe target,
            std::source_location where = std::source_location::current()) {
    return silent(atomic_op::bit_or, at, n, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<void>
  atomic_xor(T* at, std::type_identity_t<T> n, pe target,
             std::source_location where = std::source_location::current()) {
    return silent(atomic_op::bit_xor, at, n, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_fetch_add(T* at, std::type_identity_t<T> n, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::add, at, n, 0, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_fetch_inc(T* at, pe target, std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::add, at, T{1}, 0, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_fetch_and(T* at, std::type_identity_t<T> n, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::bit_and, at, n, 0, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_fetch_or(T* at, std::type_identity_t<T> n, pe target,
                  std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::bit_or, at, n, 0, target, where);
  }
  template<atomic_word T>
  [[nodiscard]] result<T>
  atomic_fetch_xor(T* at, std::type_identity_t<T> n, pe target,
                   std::source_location where = std::source_location::current()) {
    return fetching<T>(atomic_op::bit_xor, at, n, 0, target, where);
  }

  /// Waits until every operation of this context has been applied at its target.
  [[nodiscard]] result<void> quiet(std::source_location where = std::source_location::current());

  // What never blocks

  /// What this context does from now on arrives, at each pe, after what it did before.
  void fence();

  /// Puts whose completion is_done() and is_quiet() tell. The source is copied or sent at once: it
  /// may be reused on return.
  ///
  /// Errors   std::errc::resource_unavailable_try_again – too much waits for this pe: try later
  [[nodiscard]] result<ticket>
  put_nbi(symmetric_address dest, std::span<std::byte const> source, pe target,
          std::source_location where = std::source_location::current());
  /// `dest`, which may be private memory, must live until the ticket is done.
  [[nodiscard]] result<ticket>
  get_nbi(std::span<std::byte> dest, symmetric_address source, pe target,
          std::source_location where = std::source_location::current());
  [[nodiscard]] result<ticket>
  put_signal_nbi(symmetric_address dest, std::span<std::byte const> source,
                 symmetric_address signal, std::uint64_t value, signal_op how, pe target,
                 std::source_location where = std::source_location::current());
  /// The old value goes to `fetched`, unless that is null; it must live until the ticket is done.
  /// One that fetches nothing may be refused as a put.
  ///
  /// Shape    bytes: 4 or 8, the size of the word; values of words of 4 bytes in the lower half
  [[nodiscard]] result<ticket>
  atomic_nbi(atomic_op op, symmetric_address dest, std::uint64_t operand, std::uint64_t comparand,
             std::uint64_t* fetched, pe target, unsigned bytes = 8,
             std::source_location where = std::source_location::current());
  /// Has the operation been applied at its target, and its value come back? False for good once
  /// the job has failed: ask node::failure().
  [[nodiscard]] bool is_done(ticket const& t);
  /// Have all operations so far?
  [[nodiscard]] bool is_quiet();
  /// For who goes on because of is_done() or is_quiet(), which only look and may be polled: what
  /// they told of comes before what the caller does next. `explore` alone asks.
  void see_answers() const;

  // The same by local addresses.

  template<element T>
  [[nodiscard]] result<ticket>
  put_nbi(T* dest, std::span<std::type_identity_t<T> const> source, pe target,
          std::source_location where = std::source_location::current()) {
    auto const at = address_of(dest, "put_nbi");
    if (!at)
      return at.error();
    return put_nbi(*at, std::as_bytes(source), target, where);
  }
  template<element T>
  [[nodiscard]] result<ticket>
  get_nbi(std::span<std::type_identity_t<T>> dest, T const* source, pe target,
          std::source_location where = std::source_location::current()) {
    auto const at = address_of(source, "get_nbi");
    if (!at)
      return at.error();
    return get_nbi(std::as_writable_bytes(dest), *at, target, where);
  }

private:
  friend class node;
  context(engine& e, std::shared_ptr<context_state> state) noexcept
      : engine_(&e), state_(std::move(state)) {}

  template<atomic_word T>
  static std::uint64_t bits_of(T value) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  }
  template<atomic_word T>
  result<T> fetching(atomic_op op, T const* at, T operand, T comparand, pe target,
                     std::source_location where) {
    auto const old =
        atomic_word_op(op, at, bits_of(operand), bits_of(comparand), target, sizeof(T), where);
    if (!old)
      return old.error();
    return static_cast<T>(*old);
  }
  template<atomic_word T>
  result<void> silent(atomic_op op, T* at, T operand, pe target, std::source_location where) {
    return atomic_word_silently(op, at, bits_of(operand), target, sizeof(T), where);
  }

  result<symmetric_address> address_of(void const* local, char const* operation) const;
  result<void> put_bytes(void* dest, std::span<std::byte const> source, pe target,
                         executor::wait_site const& call);
  result<void> get_bytes(std::span<std::byte> dest, void const* source, pe target,
                         executor::wait_site const& call);
  result<void> put_signal_bytes(void* dest, std::span<std::byte const> source,
                                std::uint64_t* signal, std::uint64_t value, signal_op how,
                                pe target, std::source_location where);
  result<std::uint64_t> atomic_word_op(atomic_op op, void const* at, std::uint64_t operand,
                                       std::uint64_t comparand, pe target, unsigned bytes,
                                       std::source_location where);
  result<void> atomic_word_silently(atomic_op op, void* at, std::uint64_t operand, pe target,
                                    unsigned bytes, std::source_location where);

  engine* engine_;
  std::shared_ptr<context_state> state_;
};

} // namespace quarry::net::shmem
