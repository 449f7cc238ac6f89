// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/global.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/emu/memory_wait.hpp>
#include <quarry/emu/queue_orders.hpp>
#include <quarry/emu/scope.hpp>
#include <quarry/sanitizers.hpp>

#include <atomic>
#include <concepts>
#include <cstring>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace quarry::emu {

/// What fetch_add() and the like count with.
template<class T>
concept countable = std::integral<T> && !std::same_as<T, bool>;

/// How a scope looks to an atomic access: within one compute unit no atomic instruction is needed.
[[nodiscard]] constexpr bool needs_atomic(scope s) noexcept {
  return !stays_in_compute_unit(s);
}

/// The memory operations of one actor on single elements, the same for every actor: wavefront,
/// work-item, command-processor core, host thread, network interface.
///
/// Accesses without an order are plain. An atomic access names its order and its scope; a load has
/// no release side and a store no acquire side. Each access may be a decision point, and may fault,
/// in the memory models that check.
///
/// Shape    plain: any trivially copyable T, aligned for it; atomic: naturally aligned, 1, 2, 4 or
/// 8
///          bytes
/// Source   HSA PRM 3.3 (orders and scopes); ComP-Net §2
template<class Self, memory_model M>
class memory_operations {
public:
  template<storable T>
  T load(global<T> at, std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), alignof(T), {where, "load"});
    if (auto const* const port = explored())
      return port->load(at.get(), std::nullopt, scope::work_item, where);
    return *at.get();
  }

  /// A hint that it will be loaded soon: of any address, without effect on what is seen.
  template<class T>
  void prefetch(global<T> at) const noexcept {
    __builtin_prefetch(at.get());
  }

  template<storable T>
  void store(global<T> at, std::type_identity_t<T> value,
             std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), alignof(T), {where, "store"});
    if (auto const* const port = explored())
      return port->store(at.get(), value, std::nullopt, scope::work_item, where);
    *at.get() = value;
  }

  template<storable T>
    requires atomically_storable<std::remove_const_t<T>>
  std::remove_const_t<T> load(global<T> at, order o, scope s,
                              std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), sizeof(T), {where, "atomic load"});
    if (auto const* const port = explored())
      return port->load(at.get(), o, s, where);
    auto const value = needs_atomic(s) ? cell(at).load(load_order(o)) : *at.get();
    tell(at, value, value, where);
    return value;
  }

  template<atomically_storable T>
  void store(global<T> at, std::type_identity_t<T> value, order o, scope s,
             std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), sizeof(T), {where, "atomic store"});
    if (auto const* const port = explored())
      return port->store(at.get(), value, o, s, where);
    if (!needs_atomic(s))
      *at.get() = value;
    else
      store_atomic(cell(at), value, o);
    if constexpr (requires(Self& actor) { actor.has_stored(); })
      self().has_stored();
  }

  template<atomically_storable T>
  T exchange(global<T> at, std::type_identity_t<T> value, order o, scope s,
             std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), sizeof(T), {where, "exchange"});
    if (auto const* const port = explored())
      return port->update(at.get(), o, s, where, [&](T) { return std::optional<T>(value); });
    T const old =
        needs_atomic(s) ? cell(at).exchange(value, std_order(o)) : std::exchange(*at.get(), value);
    tell(at, old, value, where);
    return old;
  }

  /// Stores `desired` if the value is, bit by bit, `expected`; otherwise `expected` becomes the
  /// value.
  template<atomically_storable T>
  bool compare_exchange(global<T> at, std::type_identity_t<T>& expected,
                        std::type_identity_t<T> desired, order o, scope s,
                        std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), sizeof(T), {where, "compare-exchange"});
    if (auto const* const port = explored()) {
      T const wanted = expected;
      expected = port->update(at.get(), o, s, where, [&](T old) {
        return is_same(old, wanted) ? std::optional<T>(desired) : std::nullopt;
      });
      return is_same(expected, wanted);
    }
    bool const is_done = replace(at, expected, desired, o, s);
    tell(at, expected, is_done ? desired : expected, where);
    return is_done;
  }

  template<countable T>
  T fetch_add(global<T> at, std::type_identity_t<T> n, order o, scope s,
              std::source_location where = std::source_location::current()) const {
    return update(
        at, o, s, where, [n](T v) { return static_cast<T>(wrapping<T>(v) + wrapping<T>(n)); },
        [n](auto c, auto m) { return c.fetch_add(n, m); });
  }
  template<countable T>
  T fetch_sub(global<T> at, std::type_identity_t<T> n, order o, scope s,
              std::source_location where = std::source_location::current()) const {
    return update(
        at, o, s, where, [n](T v) { return static_cast<T>(wrapping<T>(v) - wrapping<T>(n)); },
        [n](auto c, auto m) { return c.fetch_sub(n, m); });
  }
  template<countable T>
  T fetch_and(global<T> at, std::type_identity_t<T> n, order o, scope s,
              std::source_location where = std::source_location::current()) const {
    return update(
        at, o, s, where, [n](T v) { return static_cast<T>(v & n); },
        [n](auto c, auto m) { return c.fetch_and(n, m); });
  }
  template<countable T>
  T fetch_or(global<T> at, std::type_identity_t<T> n, order o, scope s,
             std::source_location where = std::source_location::current()) const {
    return update(
        at, o, s, where, [n](T v) { return static_cast<T>(v | n); },
        [n](auto c, auto m) { return c.fetch_or(n, m); });
  }
  template<countable T>
  T fetch_xor(global<T> at, std::type_identity_t<T> n, order o, scope s,
              std::source_location where = std::source_location::current()) const {
    return update(
        at, o, s, where, [n](T v) { return static_cast<T>(v ^ n); },
        [n](auto c, auto m) { return c.fetch_xor(n, m); });
  }

  // The same by an entry of a queue's table.

  template<storable T>
  auto load(global<T> at, access a,
            std::source_location where = std::source_location::current()) const {
    return load(at, a.how, a.far, where);
  }
  template<storable T>
  void store(global<T> at, std::type_identity_t<T> value, access a,
             std::source_location where = std::source_location::current()) const {
    store(at, value, a.how, a.far, where);
  }
  template<countable T>
  T fetch_add(global<T> at, std::type_identity_t<T> n, access a,
              std::source_location where = std::source_location::current()) const {
    return fetch_add(at, n, a.how, a.far, where);
  }
  template<atomically_storable T>
  T exchange(global<T> at, std::type_identity_t<T> value, access a,
             std::source_location where = std::source_location::current()) const {
    return exchange(at, value, a.how, a.far, where);
  }
  template<atomically_storable T>
  bool compare_exchange(global<T> at, std::type_identity_t<T>& expected,
                        std::type_identity_t<T> desired, access a,
                        std::source_location where = std::source_location::current()) const {
    return compare_exchange(at, expected, desired, a.how, a.far, where);
  }
  template<countable T>
  T fetch_sub(global<T> at, std::type_identity_t<T> n, access a,
              std::source_location where = std::source_location::current()) const {
    return fetch_sub(at, n, a.how, a.far, where);
  }
  template<countable T>
  T fetch_and(global<T> at, std::type_identity_t<T> n, access a,
              std::source_location where = std::source_location::current()) const {
    return fetch_and(at, n, a.how, a.far, where);
  }
  template<countable T>
  T fetch_or(global<T> at, std::type_identity_t<T> n, access a,
             std::source_location where = std::source_location::current()) const {
    return fetch_or(at, n, a.how, a.far, where);
  }
  template<countable T>
  T fetch_xor(global<T> at, std::type_identity_t<T> n, access a,
              std::source_location where = std::source_location::current()) const {
    return fetch_xor(at, n, a.how, a.far, where);
  }
  template<storable T, class Predicate>
  auto wait_until(global<T> at, Predicate is_met, access a,
                  std::source_location where = std::source_location::current()) const {
    return wait_until(at, std::move(is_met), a.how, a.far, where);
  }
  void fence(access a, std::source_location where = std::source_location::current()) const {
    fence(a.how, a.far, where);
  }

  /// Orders this actor's accesses before and after it, for the actors of the scope.
  void fence(order o, scope s, std::source_location where = std::source_location::current()) const {
    memory().before(nullptr, 0, 0, where);
    if (auto const* const port = explored())
      return port->fence(o, s, where);
    if (needs_atomic(s))
      hardware_fence(o);
  }

  /// Awaits that `is_met(value)`; gives the value. The only way to spin that every scheduler knows.
  ///
  /// `is_met` is a function of the value alone.
  ///
  /// Suspends while the predicate is false; resumed by a poll that finds it true
  /// Throws   what the predicate throws, here; std::logic_error – under `explore` it is an error
  ///          that it accesses memory itself
  template<storable T, class Predicate>
    requires atomically_storable<std::remove_const_t<T>>
  auto wait_until(global<T> at, Predicate is_met, order o, scope s,
                  std::source_location where = std::source_location::current()) const {
    memory().before(at.get(), sizeof(T), sizeof(T), {where, "wait_until"});
    return memory_wait<std::remove_const_t<T>, Predicate>(at, std::move(is_met), o, s, where,
                                                          explored());
  }

  /// For data structures that check in explored executions how they are used.
  [[nodiscard]] bool is_explored() const noexcept { return explored() != nullptr; }
  /// There: ends the search with a failure, "misuse". Elsewhere does nothing.
  void report_misuse(char const* what, std::source_location where) const {
    if (auto const* const port = explored())
      port->report_misuse(what, where);
  }

private:
  /// Not const: what an actor is told of its accesses is no part of its value.
  Self& self() const noexcept { return const_cast<Self&>(static_cast<Self const&>(*this)); }
  M const& memory() const noexcept { return self().memory_port(); }
  /// For a Self that may spin: what an atomic operation has seen, and left.
  template<class T>
  void tell(global<T> at, std::remove_const_t<T> old, std::remove_const_t<T> now,
            std::source_location where) const {
    if constexpr (requires(Self& actor) { actor.has_left(at, old, now, where); })
      self().has_left(at, old, now, where);
  }
  /// Bit by bit, as atomics compare.
  template<class T>
  static bool is_same(T const& a, T const& b) noexcept {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
  /// compare_exchange() in memory itself.
  template<class T>
  static bool replace(global<T> at, T& expected, T desired, order o, scope s) {
    if (needs_atomic(s))
      return cell(at).compare_exchange_strong(expected, desired, std_order(o), load_order(o));
    if (!is_same(*at.get(), expected)) {
      expected = *at.get();
      return false;
    }
    *at.get() = desired;
    return true;
  }
  /// A constant null in the memory models that never explore.
  [[nodiscard]] cache_port const* explored() const noexcept {
    if constexpr (M::may_explore)
      return memory().port();
    else
      return nullptr;
  }

  template<class T>
  static std::atomic_ref<std::remove_const_t<T>> cell(global<T> at) noexcept {
    return std::atomic_ref(*const_cast<std::remove_const_t<T>*>(at.get()));
  }

  static void hardware_fence(order o) noexcept {
#if QUARRY_TSAN
    // TSan knows no fences: an exchange on a variable of its own orders at least as much.
    static std::atomic<int> everything{0};
    everything.exchange(0, std_order(o));
#else
    if (o == order::seq_cst)
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else // on x86 no instruction
      std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
  }

  /// Each order by itself: one that the compiler does not know (an entry of a queue's table) is
  /// seq_cst to g++, whose exchange waits until all stores before it have left the core.
  template<class T>
  static void store_atomic(std::atomic_ref<T> to, T value, order o) noexcept {
    switch (store_order(o)) {
    case std::memory_order_seq_cst:
      return to.store(value, std::memory_order_seq_cst);
    case std::memory_order_release:
      return to.store(value, std::memory_order_release);
    default:
      return to.store(value, std::memory_order_relaxed);
    }
  }

  /// Integers wrap, as atomics do.
  template<class T>
  using wrapping = std::make_unsigned_t<T>;

  template<class T, class Plain, class Atomic>
  T update(global<T> at, order o, scope s, std::source_location where, Plain plain,
           Atomic atomic) const {
    memory().before(at.get(), sizeof(T), sizeof(T), {where, "read-modify-write"});
    if (auto const* const port = explored())
      return port->update(at.get(), o, s, where,
                          [&](T old) { return std::optional<T>(plain(old)); });
    T const old = needs_atomic(s) ? atomic(cell(at), std_order(o)) : *at.get();
    if (!needs_atomic(s))
      *at.get() = plain(old);
    tell(at, old, plain(old), where);
    return old;
  }
};

} // namespace quarry::emu
