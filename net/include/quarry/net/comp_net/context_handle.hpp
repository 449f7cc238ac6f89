// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/global.hpp>
#include <quarry/emu/lane_call.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/work_item.hpp>
#include <quarry/net/comp_net/collective_calls.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/heap_wait.hpp>
#include <quarry/net/comp_net/leader.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace quarry::net::comp_net {

/// Whoever a kernel's operations are called with: a wavefront, or a work-item of an item coroutine.
template<class A>
concept caller = emu::any_wavefront<A> || emu::any_work_item<A>;

/// How a work-group does things together: the part of a context that knows which operation it is
/// not. Each call is a collective of the group, with a barrier before it and after it (ComP-Net
/// §4.1); between them the group's first wavefront does it, for all.
class context_handle {
public:
  context_handle() = default;
  context_handle(device& net, context_words* at, emu::work_group const& of) noexcept
      : net_(&net), at_(at), of_(&of), group_(of.linear_id) {}

  [[nodiscard]] device& net() const noexcept { return *net_; }
  [[nodiscard]] emu::global<context_words> words() const noexcept {
    return emu::global<context_words>(at_);
  }
  /// Throws kernel_stop wrong_shape: init() has not made it.
  void check_made(char const* what, std::source_location where) const;

  /// Throws kernel_stop: init() has not made the context; they are not all in this pe's heap, or
  /// not aligned. No words are nowhere.
  template<shmem::atomic_word T>
  void check_own(emu::global<T const> at, std::uint32_t count, char const* what,
                 std::source_location where) const {
    check_made(what, where);
    if (count == 0)
      return;
    static_cast<void>(net_->offset_of(at.get(), shmem::bytes_of(count, sizeof(T)), what, where));
    emu::check_alignment(at.get(), sizeof(T), sizeof(T), where);
  }
  /// The same, and throws where there is no such comparison.
  template<class T>
  [[nodiscard]] awaited_words<std::remove_const_t<T>>
  own_words(emu::global<T> at, std::uint32_t count, shmem::comparison how,
            std::remove_const_t<T> than, char const* what, std::source_location where) const {
    check_own<std::remove_const_t<T>>(at, count, what, where);
    if (!shmem::exists(how)) [[unlikely]]
      stop_no_comparison(how, what, where);
    return {at, how, than, count};
  }

  /// A reduction that does not exist, or of bits, of numbers that are no integers; a signal's
  /// operation that does not exist.
  [[noreturn]] static void stop_not_for_these(shmem::reduction how, std::source_location where);
  [[noreturn]] static void stop_no_signal_op(shmem::signal_op how, std::source_location where);
  [[noreturn]] static void stop_no_comparison(shmem::comparison how, char const* what,
                                              std::source_location where);
  /// To wait for any of no words.
  [[noreturn]] static void stop_no_words(char const* what, std::source_location where);

  /// Throws kernel_stop wrong_shape: what is reduced overlaps what it is reduced to, and is not the
  /// same.
  static void check_apart(void const* dest, void const* source, std::size_t bytes,
                          std::source_location where);

  /// A task of a wavefront, or what a work-item awaits.
  template<caller A, class Call>
  [[nodiscard]] auto start(A& self, Call call, std::source_location where) const;

  template<caller A>
  [[nodiscard]] static emu::work_group& group_of(A& self) {
    if constexpr (emu::any_wavefront<A>)
      return *self.slot().group;
    else
      return *self.slot().lanes->wave().group;
  }

private:
  template<emu::memory_model M, class Call>
  struct item_call;
  template<emu::any_wavefront W, class Call>
  static task<typename Call::value_type> together(W& wf, context_handle on, Call call,
                                                  std::source_location where);
  /// Throws kernel_stop wrong_shape: it is another work-group's.
  void check_owner(emu::work_group const& g, char const* what, std::source_location where) const;
  [[noreturn]] static void stop_destroyed(char const* what, std::source_location where);
  /// The operation's; calls that post commands are many.
  template<class Call>
  [[nodiscard]] static char const* name_of(Call const& call) noexcept {
    if constexpr (requires { call.name; })
      return call.name;
    else
      return Call::what;
  }

  device* net_ = nullptr;
  context_words* at_ = nullptr;
  emu::work_group const* of_ = nullptr;
  std::uint64_t group_ = 0;
};

// Implementation

/// The work-items of one line, as one call of their wavefront. All have come.
template<emu::memory_model M, class Call>
struct context_handle::item_call {
  struct value_type {
    context_handle on;
    Call call;
  };
  using memory_type = M;
  using result_type = typename Call::value_type;
  static constexpr char const* what = Call::what;
  static constexpr bool needs_all = true;
  template<class W>
  static task<> run(W& wf, emu::item_lanes& l, emu::lane_mask who) {
    using request = emu::lane_request_of<item_call>;
    std::source_location const where = emu::where_of(l, who);
    value_type const first = request::of(l, who.first()).value;
    task<result_type> done = together(wf, first.on, first.call, where);
    result_type const got = co_await std::move(done);
    emu::give_all<item_call>(l, who, got);
  }
};

template<caller A, class Call>
auto context_handle::start(A& self, Call call, std::source_location where) const {
  if constexpr (emu::any_wavefront<A>)
    return together(self, *this, call, where);
  else
    return emu::lane_await<item_call<typename A::memory_type, Call>>(self.slot(), {*this, call},
                                                                     where);
}

template<emu::any_wavefront W, class Call>
task<typename Call::value_type> context_handle::together(W& wf, context_handle on, Call call,
                                                         std::source_location where) {
  using value = typename Call::value_type;
  on.check_owner(*wf.slot().group, name_of(call), where);
  co_await wf.barrier(where);
  bool const leads = wf.index_in_group() == 0;
  value got{};
  if (leads) {
    if constexpr (std::same_as<Call, open_call>) {
      task<value> done = call.lead(wf, where);
      got = co_await std::move(done);
    } else {
      leader<W> me(wf, on.net(), on.words(), where);
      if (me.words().is_open == 0)
        stop_destroyed(name_of(call), where);
      task<value> done = call.lead(wf, me, on.net(), where);
      got = co_await std::move(done);
      me.store();
    }
  }
  co_return co_await wf.group_broadcast(got, leads, emu::converged{}, where);
}

} // namespace quarry::net::comp_net
