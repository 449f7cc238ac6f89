// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <coroutine>
#include <source_location>

namespace quarry::emu {

/// Something that lanes of an item kernel do together: how the values of the lanes at one source
/// line become an operation of their wavefront.
///
/// `run(wf, lanes, who)` reads value(lane) of the requests and writes their results.
template<class C>
concept lane_call = requires {
  typename C::memory_type;
  typename C::value_type;
  typename C::result_type;
  { C::what } -> std::convertible_to<char const*>;
  { C::needs_all } -> std::convertible_to<bool>;
};

/// One lane's request for the call C: its value, and then its result.
template<lane_call C>
struct lane_request_of : lane_request {
  lane_request_of(typename C::value_type v, std::source_location w)
      : lane_request{&serve_call, C::what, w, C::needs_all}, value(v) {}
  typename C::value_type value;
  typename C::result_type result{};

  [[nodiscard]] static lane_request_of& of(item_lanes& lanes, int lane) {
    return static_cast<lane_request_of&>(lanes.request(lane));
  }

  static task<> serve_call(wave_slot& w, item_lanes& lanes, lane_mask who) {
    return w.group->launch->wavefront_size == 32 ? serve_on<32>(w, lanes, who)
                                                 : serve_on<64>(w, lanes, who);
  }

private:
  template<int Size>
  static task<> serve_on(wave_slot& w, item_lanes& lanes, lane_mask who) {
    auto& wf = *std::launder(
        reinterpret_cast<basic_wavefront<typename C::memory_type, Size>*>(w.storage.data()));
    auto const active = wf.where(who);
    task<> run = C::run(wf, lanes, who);
    co_await std::move(run);
  }
};

/// A lane's co_await of a call, in an item coroutine.
template<lane_call C>
class [[nodiscard]] lane_await {
public:
  lane_await(lane_slot& slot, typename C::value_type value, std::source_location where)
      : slot_(slot), request_(value, where) {}
  lane_await(lane_await const&) = delete;
  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P>) noexcept {
    slot_.request = &request_;
    slot_.wait_for(C::what, request_.where);
  }
  typename C::result_type await_resume() const noexcept { return request_.result; }

private:
  lane_slot& slot_;
  lane_request_of<C> request_;
};

/// The same from a plain item function: blocks its fiber.
template<lane_call C>
typename C::result_type lane_block(lane_slot& slot, typename C::value_type value,
                                   std::source_location where) {
  lane_request_of<C> request(value, where);
  slot.request = &request;
  slot.wait_for(C::what, where);
  slot.lanes->block(slot);
  return request.result;
}

/// The lanes' values as a wavefront's value.
template<class C, class T, class W>
[[nodiscard]] lanes<T, W::size> gather_values(item_lanes& l, lane_mask who) {
  lanes<T, W::size> values{};
  who.for_each([&](int i) { values.set(i, lane_request_of<C>::of(l, i).value); });
  return values;
}

// The collectives of item kernels.

struct no_value {};

template<memory_model M>
struct barrier_call {
  using memory_type = M;
  using value_type = no_value;
  using result_type = no_value;
  static constexpr char const* what = "barrier";
  static constexpr bool needs_all = true;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    std::source_location const where = l.request(who.first()).where;
    co_await wf.barrier(where);
  }
};

template<memory_model M, class T, class Op>
struct group_reduce_call {
  using memory_type = M;
  using value_type = T;
  using result_type = T;
  static constexpr char const* what = "work-group reduce";
  static constexpr bool needs_all = false;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    std::source_location const where = l.request(who.first()).where;
    auto const values = gather_values<group_reduce_call, T, W>(l, who);
    T const total = co_await wf.group_reduce(values, Op{}, reconverging, where);
    who.for_each([&](int i) { lane_request_of<group_reduce_call>::of(l, i).result = total; });
  }
};

template<memory_model M, class T>
struct group_prefix_sum_call {
  using memory_type = M;
  using value_type = T;
  using result_type = T;
  static constexpr char const* what = "work-group prefix sum";
  static constexpr bool needs_all = false;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    std::source_location const where = l.request(who.first()).where;
    auto const values = gather_values<group_prefix_sum_call, T, W>(l, who);
    lanes<T, W::size> before{};
    static_cast<void>(co_await wf.group_prefix_sum(values, before, reconverging, where));
    who.for_each(
        [&](int i) { lane_request_of<group_prefix_sum_call>::of(l, i).result = before[i]; });
  }
};

template<memory_model M, class T, class Op>
struct wavefront_reduce_call {
  using memory_type = M;
  using value_type = T;
  using result_type = T;
  static constexpr char const* what = "wavefront reduce";
  static constexpr bool needs_all = false;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    T const total = wf.reduce(gather_values<wavefront_reduce_call, T, W>(l, who), Op{});
    who.for_each([&](int i) { lane_request_of<wavefront_reduce_call>::of(l, i).result = total; });
    co_return;
  }
};

template<memory_model M>
struct ballot_call {
  using memory_type = M;
  using value_type = bool;
  using result_type = lane_mask;
  static constexpr char const* what = "ballot";
  static constexpr bool needs_all = false;
  template<class W>
  static task<> run(W&, item_lanes& l, lane_mask who) {
    lane_mask yes;
    who.for_each([&](int i) {
      if (lane_request_of<ballot_call>::of(l, i).value)
        yes.set(i);
    });
    who.for_each([&](int i) { lane_request_of<ballot_call>::of(l, i).result = yes; });
    co_return;
  }
};

} // namespace quarry::emu
