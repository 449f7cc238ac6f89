// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/collectives.hpp>
#include <quarry/emu/lane_call.hpp>
#include <quarry/emu/reductions.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <cstdint>
#include <source_location>
#include <utility>

namespace quarry::emu {

// What each collective is for the wavefront of the work-items that come.

template<memory_model M, class Value, class Result>
struct collective_call {
  using memory_type = M;
  using value_type = Value;
  using result_type = Result;
  static constexpr bool needs_all = false;
};

template<memory_model M>
struct barrier_call : collective_call<M, no_value, no_value> {
  static constexpr char const* what = "barrier";
  static constexpr bool needs_all = true;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const where = where_of(l, who);
    co_await wf.barrier(where);
  }
};

/// Of an operator with state, any of the work-items' counts.
template<class T, class Op>
struct reduced_value {
  T value;
  [[no_unique_address]] Op op;
};

/// What they reduce, and by what.
template<class C, class T, class W>
[[nodiscard]] auto gather_reduced(item_lanes& l, lane_mask who) {
  using value = typename C::value_type;
  return std::pair(gather_values<C, T, W>(l, who, &value::value),
                   lane_request_of<C>::of(l, who.first()).value.op);
}

template<memory_model M, class T, class Op>
struct group_reduce_call : collective_call<M, reduced_value<T, Op>, T> {
  static constexpr char const* what = "work-group reduce";
  static constexpr meeting_kind const& kind = group_reduction<T, Op, reconverging_t>::kind;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const where = where_of(l, who);
    auto const [values, op] = gather_reduced<group_reduce_call, T, W>(l, who);
    T const total = co_await wf.group_reduce(values, op, reconverging, where);
    give_all<group_reduce_call>(l, who, total);
  }
};

template<memory_model M, class T>
struct group_prefix_sum_call : collective_call<M, T, T> {
  static constexpr char const* what = "work-group prefix sum";
  static constexpr meeting_kind const& kind = kind_of<meeting::prefix_sum, void(T)>;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const where = where_of(l, who);
    auto const values = gather_values<group_prefix_sum_call, T, W>(l, who);
    lanes<T, W::size> before{};
    static_cast<void>(co_await wf.group_prefix_sum(values, before, reconverging, where));
    give_each<group_prefix_sum_call>(l, who, [&](int i) { return before[i]; });
  }
};

template<memory_model M>
struct group_any_call : collective_call<M, bool, bool> {
  static constexpr char const* what = "work-group any";
  static constexpr meeting_kind const& kind = group_reduction<bool, bit_or, reconverging_t>::kind;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const where = where_of(l, who);
    lane_mask const yes = those_that_say<group_any_call>(l, who);
    bool const any = co_await wf.group_any(yes, reconverging, where);
    give_all<group_any_call>(l, who, any);
  }
};

template<memory_model M>
struct group_all_call : collective_call<M, bool, bool> {
  static constexpr char const* what = "work-group all";
  static constexpr meeting_kind const& kind = group_reduction<bool, bit_and, reconverging_t>::kind;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const where = where_of(l, who);
    lane_mask const yes = those_that_say<group_all_call>(l, who);
    bool const all = co_await wf.group_all(yes, reconverging, where);
    give_all<group_all_call>(l, who, all);
  }
};

template<class T>
struct offered_value {
  T value;
  bool is_source;
};

template<memory_model M, class T>
struct group_broadcast_call : collective_call<M, offered_value<T>, T> {
  static constexpr char const* what = "work-group broadcast";
  static constexpr meeting_kind const& kind = group_broadcasting<T, reconverging_t>::kind;
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const where = where_of(l, who);
    offered_value<T> mine{};
    who.for_each([&](int i) {
      auto const& offer = lane_request_of<group_broadcast_call>::of(l, i).value;
      if (offer.is_source)
        mine = offer;
    });
    T const chosen = co_await wf.group_broadcast(mine.value, mine.is_source, reconverging, where);
    give_all<group_broadcast_call>(l, who, chosen);
  }
};

template<memory_model M, class T, class Op>
struct wavefront_reduce_call : collective_call<M, reduced_value<T, Op>, T> {
  static constexpr char const* what = "wavefront reduce";
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const [values, op] = gather_reduced<wavefront_reduce_call, T, W>(l, who);
    T const total = wf.reduce(values, op);
    give_all<wavefront_reduce_call>(l, who, total);
    co_return;
  }
};

template<memory_model M, class T>
struct wavefront_prefix_sum_call : collective_call<M, T, T> {
  static constexpr char const* what = "wavefront prefix sum";
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    auto const before = wf.prefix_sum(gather_values<wavefront_prefix_sum_call, T, W>(l, who));
    give_each<wavefront_prefix_sum_call>(l, who, [&](int i) { return before[i]; });
    co_return;
  }
};

template<memory_model M>
struct ballot_call : collective_call<M, bool, lane_mask> {
  static constexpr char const* what = "ballot";
  template<class W>
  static task<> run(W&, item_lanes& l, lane_mask who) {
    give_all<ballot_call>(l, who, those_that_say<ballot_call>(l, who));
    co_return;
  }
};

template<memory_model M>
struct elect_leader_call : collective_call<M, no_value, bool> {
  static constexpr char const* what = "leader election";
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    int const leader = wf.elect_leader();
    give_each<elect_leader_call>(l, who, [&](int i) { return i == leader; });
    co_return;
  }
};

template<class T>
struct value_and_source {
  T value;
  int from; ///< a lane
};

template<memory_model M, class T>
struct wavefront_shuffle_call : collective_call<M, value_and_source<T>, T> {
  static constexpr char const* what = "wavefront shuffle";
  template<class W>
  static task<> run(W& wf, item_lanes& l, lane_mask who) {
    using request = lane_request_of<wavefront_shuffle_call>;
    give_each<wavefront_shuffle_call>(l, who, [&](int i) {
      request const& mine = request::of(l, i);
      if (mine.value.from < 0 || mine.value.from >= W::size || !who.test(mine.value.from))
        has_not_come(wf.slot(), "shuffle", i, mine.value.from, mine.where);
      return request::of(l, mine.value.from).value.value;
    });
    co_return;
  }
};

/// The collectives of an item kernel's work-item: `Item` awaits them, or blocks in them, by its
/// meet<Call>(value, where). Each is over the work-items of the group, or of the wavefront, that
/// are at the same line (reconverging, thesis §5.3.3); only a barrier is for all.
///
/// Source   thesis §5.3.2
template<class Item, memory_model M>
class item_collectives {
  using source = std::source_location;

public:
  /// Every work-item of the group arrives before any goes on; one that has ended is a fault.
  auto barrier(source where = source::current()) { return meet<barrier_call<M>>({}, where); }

  // Of the work-group

  template<lane_value T, reduction_of<T> Op>
  auto group_reduce(T value, Op op, source where = source::current()) {
    return meet<group_reduce_call<M, T, Op>>({value, op}, where);
  }
  /// The sum of the values of the lower work-items.
  template<lane_value T>
  auto group_prefix_sum(T value, source where = source::current()) {
    return meet<group_prefix_sum_call<M, T>>(value, where);
  }
  auto group_any(bool condition, source where = source::current()) {
    return meet<group_any_call<M>>(condition, where);
  }
  auto group_all(bool condition, source where = source::current()) {
    return meet<group_all_call<M>>(condition, where);
  }
  /// The value of the work-item that submits one (`is_source`): of several the highest; of none
  /// T{}.
  template<class T>
  auto group_broadcast(T value, bool is_source, source where = source::current()) {
    return meet<group_broadcast_call<M, T>>({value, is_source}, where);
  }

  // Of the wavefront

  template<lane_value T, reduction_of<T> Op>
  auto wavefront_reduce(T value, Op op, source where = source::current()) {
    return meet<wavefront_reduce_call<M, T, Op>>({value, op}, where);
  }
  template<lane_value T>
  auto wavefront_prefix_sum(T value, source where = source::current()) {
    return meet<wavefront_prefix_sum_call<M, T>>(value, where);
  }
  auto ballot(bool condition, source where = source::current()) {
    return meet<ballot_call<M>>(condition, where);
  }
  /// True for one of them, the highest (thesis Figure 5-2b).
  auto elect_leader(source where = source::current()) {
    return meet<elect_leader_call<M>>({}, where);
  }
  /// The value of lane `from`; a broadcast if all name the same one.
  ///
  /// Errors   fault wrong_shape – that work-item has not come
  template<class T>
  auto wavefront_shuffle(T value, int from, source where = source::current()) {
    return meet<wavefront_shuffle_call<M, T>>({value, from}, where);
  }

private:
  template<lane_call C>
  auto meet(typename C::value_type value, source where) {
    return static_cast<Item&>(*this).template meet<C>(value, where);
  }
};

} // namespace quarry::emu
