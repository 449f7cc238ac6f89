// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/fault.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <coroutine>
#include <functional>
#include <source_location>

namespace quarry::emu {

/// Something that lanes of an item kernel do together: how the values of the lanes at one source
/// line become an operation of their wavefront.
///
/// `run(wf, lanes, who)` reads value(lane) of the requests and writes their results. `kind`, if
/// there is one, is the meeting of wavefronts that it is.
template<class C>
concept lane_call = requires {
  typename C::memory_type;
  typename C::value_type;
  typename C::result_type;
  { C::what } -> std::convertible_to<char const*>;
  { C::needs_all } -> std::convertible_to<bool>;
};

/// Of a call that takes or gives none.
struct no_value {};

/// One lane's request for the call C: its value, and then its result.
template<lane_call C>
struct lane_request_of : lane_request {
  lane_request_of(typename C::value_type v, std::source_location w)
      : lane_request{&serve_call, C::what, w, C::needs_all, kind_of_call()}, value(v) {}
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
  static constexpr meeting_kind const* kind_of_call() noexcept {
    if constexpr (requires { C::kind; })
      return &C::kind;
    else
      return nullptr;
  }
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
  void await_suspend(std::coroutine_handle<P> h) {
    if (h.promise().self != &slot_) [[unlikely]]
      awaited_by_child(C::what, request_.where);
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

/// The source line that they are at.
[[nodiscard]] inline std::source_location where_of(item_lanes& l, lane_mask who) {
  return l.request(who.first()).where;
}

/// The lanes' values, or what `of` says of each, as a wavefront's value.
template<class C, class T, class W, class F = std::identity>
[[nodiscard]] lanes<T, W::size> gather_values(item_lanes& l, lane_mask who, F of = {}) {
  lanes<T, W::size> values{};
  who.for_each([&](int i) { values.set(i, std::invoke(of, lane_request_of<C>::of(l, i).value)); });
  return values;
}

/// Which of them say yes: of a call whose values are bool.
template<class C>
[[nodiscard]] lane_mask those_that_say(item_lanes& l, lane_mask who) {
  lane_mask yes;
  who.for_each([&](int i) {
    if (lane_request_of<C>::of(l, i).value)
      yes.set(i);
  });
  return yes;
}

/// Each lane's result is of(lane).
template<class C, class F>
void give_each(item_lanes& l, lane_mask who, F const& of) {
  who.for_each([&](int i) { lane_request_of<C>::of(l, i).result = of(i); });
}
/// All have the same one.
template<class C>
void give_all(item_lanes& l, lane_mask who, typename C::result_type const& result) {
  give_each<C>(l, who, [&](int) { return result; });
}

} // namespace quarry::emu
