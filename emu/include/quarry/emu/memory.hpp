// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/debug_root.hpp>
#include <quarry/emu/allocations.hpp>
#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/scope.hpp>
#include <quarry/scheduler.hpp>

#include <atomic>
#include <concepts>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace quarry::emu {

/// What an actor needs to reach memory, known when the actor starts.
struct memory_context {
  actor* self = nullptr;
  executor* scheduler = nullptr;
  allocations const* bounds = nullptr; ///< null: accesses are not checked
  cache_port* port = nullptr;          ///< a wavefront's, when its execution is explored
};

/// The actor's way to emulated caches; null unless its scheduler explores.
[[nodiscard]] cache_port* find_port(memory_context const& c);

/// One actor's way to memory. A type parameter of wavefronts, work-items and queues, so that
/// `native` contains no trace of the others; a test per access would spill the vector registers
/// (design §2).
///
/// before() is called ahead of every access that may be refused or scheduled: its address must be a
/// multiple of `alignment`, which is its size for an atomic one; 0: of nothing. check() only
/// refuses: for the second and later elements of one access. A null address with no bytes is a
/// fence. covers() says that check() would refuse nothing there. `may_explore` says that there may
/// be a port(): then accesses go through it; otherwise memory is the host's own, coherent.
template<class M>
concept memory_model = std::copyable<M> && requires(M const m, memory_context c, void const* at,
                                                    std::size_t bytes, attempt how) {
  M(c);
  m.before(at, bytes, bytes, how);
  m.check(at, bytes, how);
  { m.covers(at, bytes) } -> std::same_as<bool>;
  { M::may_explore } -> std::convertible_to<bool>;
  { M::checks } -> std::convertible_to<bool>;
  { M::name } -> std::convertible_to<char const*>;
};

/// `native`: an access is an access.
class native_memory {
public:
  static constexpr bool may_explore = false;
  static constexpr bool checks = false;
  static constexpr char const* name = "native";
  explicit native_memory(memory_context const&) noexcept {}
  void before(void const*, std::size_t, std::size_t, attempt) const noexcept {}
  void check(void const*, std::size_t, attempt) const noexcept {}
  [[nodiscard]] bool covers(void const*, std::size_t) const noexcept { return true; }
};

/// `native` with bounds and alignment checked, on request.
class checked_memory {
public:
  static constexpr bool may_explore = false;
  static constexpr bool checks = true;
  static constexpr char const* name = "checked";
  explicit checked_memory(memory_context const& c) noexcept : bounds_(c.bounds) {}
  void before(void const* at, std::size_t bytes, std::size_t alignment, attempt how) const {
    check(at, bytes, how);
    if (alignment != 0)
      check_aligned(at, bytes, alignment, how);
  }
  void check(void const* at, std::size_t bytes, attempt how) const {
    check_bounds(*bounds_, at, bytes, how);
  }
  void check_aligned(void const* at, std::size_t bytes, std::size_t alignment, attempt how) const {
    check_alignment(at, bytes, alignment, how, bounds_);
  }
  [[nodiscard]] bool covers(void const* at, std::size_t bytes) const noexcept {
    return bounds_->contain(at, bytes);
  }

private:
  allocations const* bounds_;
};

/// Memory under a deterministic scheduler: every access is checked, and a decision point. Coherent
/// unless the scheduler explores: then through emulated caches.
class interleaving_memory {
public:
  static constexpr bool may_explore = true;
  static constexpr bool checks = true;
  static constexpr char const* name = "interleaving";
  explicit interleaving_memory(memory_context const& c) : context_(c), port_(find_port(c)) {}
  [[nodiscard]] cache_port const* port() const noexcept { return port_; }
  void before(void const* at, std::size_t bytes, std::size_t alignment, attempt how) const {
    check(at, bytes, how);
    if (alignment != 0)
      check_aligned(at, bytes, alignment, how);
    context_.scheduler->decision_point(*context_.self);
    tell_debugger(at, bytes);
  }
  /// That the access which was decided on comes to this.
  void tell_debugger(void const* at, std::size_t bytes) const {
    if (debugger_asks()) [[unlikely]]
      debug_access(context_.scheduler->debug_entry(), *context_.self, at, bytes);
  }
  void check(void const* at, std::size_t bytes, attempt how) const {
    if (context_.bounds != nullptr)
      check_bounds(*context_.bounds, at, bytes, how);
  }
  void check_aligned(void const* at, std::size_t bytes, std::size_t alignment, attempt how) const {
    check_alignment(at, bytes, alignment, how, context_.bounds);
  }
  [[nodiscard]] bool covers(void const* at, std::size_t bytes) const noexcept {
    return context_.bounds == nullptr || context_.bounds->contain(at, bytes);
  }

private:
  memory_context context_;
  cache_port const* port_;
};

/// Decides at run time: for code that is not a template (`wavefront`, `work_item`,
/// `basic_core<dynamic_memory>`), where a test per access does not matter.
class dynamic_memory {
public:
  static constexpr bool may_explore = true;
  static constexpr bool checks = true;
  static constexpr char const* name = "dynamic";
  explicit dynamic_memory(memory_context const& c) : context_(c), port_(find_port(c)) {}
  [[nodiscard]] cache_port const* port() const noexcept { return port_; }
  void before(void const* at, std::size_t bytes, std::size_t alignment, attempt how) const {
    check(at, bytes, how);
    if (alignment != 0)
      check_aligned(at, bytes, alignment, how);
    if (context_.scheduler != nullptr && context_.scheduler->decides()) {
      context_.scheduler->decision_point(*context_.self);
      tell_debugger(at, bytes);
    }
  }
  void tell_debugger(void const* at, std::size_t bytes) const {
    if (debugger_asks() && context_.self != nullptr) [[unlikely]]
      debug_access(context_.scheduler->debug_entry(), *context_.self, at, bytes);
  }
  void check(void const* at, std::size_t bytes, attempt how) const {
    if (context_.bounds != nullptr)
      check_bounds(*context_.bounds, at, bytes, how);
  }
  void check_aligned(void const* at, std::size_t bytes, std::size_t alignment, attempt how) const {
    if (context_.bounds != nullptr)
      check_alignment(at, bytes, alignment, how, context_.bounds);
  }
  [[nodiscard]] bool covers(void const* at, std::size_t bytes) const noexcept {
    return context_.bounds == nullptr || context_.bounds->contain(at, bytes);
  }

private:
  memory_context context_;
  cache_port const* port_;
};

static_assert(memory_model<native_memory>);
static_assert(memory_model<checked_memory>);
static_assert(memory_model<interleaving_memory>);
static_assert(memory_model<dynamic_memory>);

/// What global memory may hold in one access: scalars and small aggregates.
template<class T>
concept storable = std::is_trivially_copyable_v<T>;

/// What an atomic access may hold: naturally aligned, 1 to 8 bytes.
template<class T>
concept atomically_storable = storable<T> && sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0;

} // namespace quarry::emu
