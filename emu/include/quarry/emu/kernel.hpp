// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/work_item.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace quarry::emu {

// The kinds of kernel, told by the first parameter (design §3).

/// `task<> kernel(any_wavefront auto& wf, …)`: one coroutine per wavefront; the fast path.
template<class K, class M, int Size, class... Args>
concept wave_kernel = requires(K const& k, basic_wavefront<M, Size>& wf, Args const&... args) {
  { k(wf, args...) } -> std::same_as<task<>>;
};
/// `void kernel(any_wavefront auto& wf, …)`: the same without a coroutine, for a kernel that never
/// waits; nothing is allocated for it, and its values stay in registers.
template<class K, class M, int Size, class... Args>
concept plain_wave_kernel =
    requires(K const& k, basic_wavefront<M, Size>& wf, Args const&... args) {
      { k(wf, args...) } -> std::same_as<void>;
    };
/// `task<> kernel(any_work_item auto& wi, …)`: one coroutine per work-item.
template<class K, class M, class... Args>
concept item_kernel = requires(K const& k, basic_work_item<M>& wi, Args const&... args) {
  { k(wi, args...) } -> std::same_as<task<>>;
};
/// `void kernel(work_item& wi, …)`, or `any_plain_work_item auto&`: an ordinary function.
template<class K, class M, class... Args>
concept plain_item_kernel =
    requires(K const& k, basic_plain_work_item<M>& wi, Args const&... args) {
      { k(wi, args...) } -> std::same_as<void>;
    };

template<class K, class M, int Size, class... Args>
concept kernel_for = wave_kernel<K, M, Size, Args...> || plain_wave_kernel<K, M, Size, Args...> ||
                     item_kernel<K, M, Args...> || plain_item_kernel<K, M, Args...>;

/// A kernel and its arguments, while the launch runs.
template<class Kernel, class... Args>
struct bound_kernel {
  /// Errors   std::invalid_argument – a null pointer to a function
  explicit bound_kernel(Kernel k, Args... a) : kernel(std::move(k)), args(std::move(a)...) {
    if constexpr (std::is_pointer_v<Kernel>)
      if (kernel == nullptr)
        throw std::invalid_argument("launch: the kernel is a null pointer");
  }
  Kernel kernel;
  std::tuple<Args...> args;

  /// Calls `kernel(first, args...)`; a std::ref argument arrives as a reference.
  template<class First>
  decltype(auto) operator()(First& first) const {
    return std::apply(
        [&](auto const&... a) -> decltype(auto) { return kernel(first, unwrap(a)...); }, args);
  }

private:
  template<class T>
  static T const& unwrap(T const& v) noexcept {
    return v; // NOLINT(*-return-const-ref-from-parameter)
  }
  template<class T>
  static T& unwrap(std::reference_wrapper<T> const& v) noexcept {
    return v.get();
  }
};

/// The name of a kernel's type, without namespaces, for reports.
template<class Kernel>
[[nodiscard]] std::string kernel_name();

/// How a kernel is called for wavefronts of that memory model and size.
template<class M, int Size, class Kernel, class... Args>
[[nodiscard]] constexpr kernel_entry entry_of() noexcept;

/// Which memory models and wavefront sizes kernels are instantiated for.
template<class Memories, int... Sizes>
struct targets;
template<class... M>
struct memories {};

template<class... M, int... Sizes>
struct targets<memories<M...>, Sizes...> {
  /// The default one; where wavefronts of its size are not instantiated, with the widest that are.
  [[nodiscard]] static constexpr machine usual_machine() noexcept {
    machine m;
    if (((m.wavefront_size != Sizes) && ...))
      m.wavefront_size = std::max({std::uint32_t{Sizes}...});
    return m;
  }
  /// The instantiation that fits the agent. Errors   std::invalid_argument – there is none
  template<class Kernel, class... Args>
  static kernel_entry pick(agent_core const& core) {
    std::string_view const wanted = wanted_memory(core);
    kernel_entry found;
    (consider<Kernel, M, Args...>(core, wanted, found), ...);
    if (found.start == nullptr)
      refuse(kernel_name<Kernel>(), wanted, core.shape().wavefront_size);
    return found;
  }

private:
  [[noreturn]] static void refuse(std::string const& kernel, std::string_view memory,
                                  std::uint32_t wavefront_size) {
    bool const is_size = ((wavefront_size == Sizes) || ...);
    bool const is_memory = ((memory == M::name) || ...);
    std::string const agents = "; its agent is for" + ((std::string(" ") + M::name) + ...) +
                               " memory and wavefronts of" + ((" " + std::to_string(Sizes)) + ...);
    throw std::invalid_argument(
        "launch of " + kernel + ": not instantiated for " + std::string(memory) +
        " memory and wavefronts of " + std::to_string(wavefront_size) +
        (!is_memory ? agents + ": emu::agent is for all"
         : !is_size
             ? agents + ": set machine::wavefront_size"
             : "; the kernel is for wavefronts of 64 alone: any_wavefront auto& is for all"));
  }
  static std::string_view wanted_memory(agent_core const& core) {
    if (core.scheduler().decides())
      return interleaving_memory::name;
    return core.checks_bounds() ? checked_memory::name : native_memory::name;
  }

  template<class Kernel, class Memory, class... Args>
  static void consider(agent_core const& core, std::string_view wanted, kernel_entry& found) {
    if (wanted == Memory::name)
      (consider_size<Kernel, Memory, Sizes, Args...>(core, found), ...);
  }

  template<class Kernel, class Memory, int Size, class... Args>
  static void consider_size(agent_core const& core, kernel_entry& found) {
    if (core.shape().wavefront_size != Size)
      return;
    if constexpr (kernel_for<Kernel, Memory, Size, std::unwrap_reference_t<Args>...>)
      found = entry_of<Memory, Size, Kernel, Args...>();
    else if constexpr (kernel_for<Kernel, dynamic_memory, Size, std::unwrap_reference_t<Args>...>)
      found = entry_of<dynamic_memory, Size, Kernel, Args...>(); // wavefront& or work_item&
    else
      static_assert(
          kernel_for<Kernel, dynamic_memory, 64, std::unwrap_reference_t<Args>...>,
          "a kernel's first parameter is any_wavefront auto&, any_work_item auto& or "
          "work_item&, the others match the launch's arguments; it returns task<> or void, and its "
          "operator() is const, not that of a mutable lambda");
  }
};

/// Everything this version can run kernels under.
using all_targets = targets<memories<native_memory, checked_memory, interleaving_memory>, 32, 64>;
/// Only `native`, 64 lanes, unchecked: compiles fastest.
using native_targets = targets<memories<native_memory>, 64>;
/// Only schedulers that decide, such as that of `explore`, 32 lanes: compiles as fast.
using explored_targets = targets<memories<interleaving_memory>, 32>;

// Implementation

/// What stands behind a type's namespaces, and behind the functions and types that it is local to.
constexpr std::string_view last_name(std::string_view type) noexcept {
  std::size_t begin = 0;
  int depth = 0; // of brackets
  for (std::size_t i = 0; i != type.size(); ++i) {
    char const c = type[i];
    if (c == '<' || c == '(')
      ++depth;
    else if (c == '>' || c == ')')
      --depth;
    else if (c == ':' && depth == 0)
      begin = i + 1;
  }
  return type.substr(begin);
}

template<class Kernel>
std::string kernel_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  auto const begin = text.find("Kernel = ") + 9;
  text = text.substr(begin, text.find_first_of(";]", begin) - begin);
  if (auto const call = text.find("(*)"); call != text.npos)
    return "function";
  std::string_view own = last_name(text);
  if (own.starts_with("const "))
    own.remove_prefix(6);
  if (own.starts_with("<lambda") || own.starts_with("(lambda")) // of g++, clang
    return "lambda";
  bool const holds_lambda = own.find("<lambda") != own.npos || own.find("(lambda") != own.npos;
  return std::string(holds_lambda ? own.substr(0, own.find('<')) : own); // their names have paths
}

/// The kernel of an item launch, seen from the wavefront.
template<class M, int Size, class Kernel, class... Args>
task<> start_items(bound_kernel<Kernel, Args...> const& call, wave_slot& slot) {
  if constexpr (item_kernel<Kernel, M, std::unwrap_reference_t<Args>...>) {
    // Before the lanes: what their coroutines have on the stack may use its work-item to the last.
    auto const items = std::make_unique<std::optional<basic_work_item<M>>[]>(Size);
    item_lanes lanes(slot);
    lanes.live().for_each([&](int i) {
      items[static_cast<std::size_t>(i)].emplace(lanes[i]);
      lanes.start(i, call(*items[static_cast<std::size_t>(i)]));
    });
    task<> all = drive_items(lanes);
    co_await std::move(all);
  } else {
    item_lanes lanes(slot);
    lanes.start_plain(
        [](void const* c, item_lanes& l, int i) {
          basic_plain_work_item<M> wi(l[i]);
          (*static_cast<bound_kernel<Kernel, Args...> const*>(c))(wi);
        },
        &call);
    task<> all = drive_items(lanes);
    co_await std::move(all);
  }
}

/// Where memory operations are decision points, a plain kernel runs as the actor that they need.
template<class Call, class Wavefront>
task<> as_coroutine(Call const& call, Wavefront& wf) {
  call(wf);
  co_return;
}

/// What the kernel works with, in the slot.
template<class M, int Size>
QUARRY_ALWAYS_INLINE inline basic_wavefront<M, Size>& make_wavefront(wave_slot& slot) noexcept {
  static_assert(sizeof(basic_wavefront<M, Size>) <= wave_slot::storage_bytes);
  return *new (slot.storage.data()) basic_wavefront<M, Size>(slot);
}

/// kernel_entry::start
template<class M, int Size, class Kernel, class... Args>
task<> start_wave(void const* bound, wave_slot& slot) {
  auto const& call = *static_cast<bound_kernel<Kernel, Args...> const*>(bound);
  auto& wf = make_wavefront<M, Size>(slot);
  if constexpr (wave_kernel<Kernel, M, Size, std::unwrap_reference_t<Args>...>)
    return call(wf);
  else if constexpr (plain_wave_kernel<Kernel, M, Size, std::unwrap_reference_t<Args>...>)
    return as_coroutine(call, wf);
  else
    return start_items<M, Size>(call, slot);
}

/// A kernel and its arguments that cost less to copy than to look at behind a pointer, which
/// whatever the kernel stores might change.
template<class Call>
inline constexpr bool is_copied_for_a_group =
    std::is_trivially_copy_constructible_v<Call> && std::is_trivially_destructible_v<Call> &&
    sizeof(Call) <= 128;

/// kernel_entry::run_group. A loop around the kernel, so that little stands between the memory
/// operations of two wavefronts: the processor overlaps them.
template<class M, int Size, class Kernel, class... Args>
bool run_group(void const* bound, work_group& group) {
  using bound_type = bound_kernel<Kernel, Args...>;
  std::conditional_t<is_copied_for_a_group<bound_type>, bound_type const, bound_type const&> call =
      *static_cast<bound_type const*>(bound);
  bool good = true;
  while (group.fresh != 0) {
    wave_slot& slot = group.begin_first_fresh();
    auto& known = make_wavefront<M, Size>(slot); // to debuggers, as are the next two
    slot.state = actor_state::running;
    slot.leaf = {};
    try {
#ifdef NDEBUG
      static_cast<void>(known);
      basic_wavefront<M, Size> wf(slot); // in registers
      call(wf);
#else
      call(known);
#endif
    } catch (...) {
      slot.error = std::current_exception();
      good = false;
    }
    group.finished |= work_group::wave_bits{1} << slot.index;
  }
  return good;
}

template<class M, int Size, class Kernel, class... Args>
constexpr kernel_entry entry_of() noexcept {
  kernel_entry e{&start_wave<M, Size, Kernel, Args...>};
  if constexpr (std::same_as<M, native_memory> &&
                plain_wave_kernel<Kernel, M, Size, std::unwrap_reference_t<Args>...>)
    e.run_group = &run_group<M, Size, Kernel, Args...>;
  return e;
}

} // namespace quarry::emu
