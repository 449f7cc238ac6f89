// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lane_call.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/work_group_queue.hpp>
#include <quarry/emu/work_item.hpp>
#include <quarry/net/gravel_direct.hpp>
#include <quarry/net/gravel_message.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>

namespace quarry::net::gravel {

/// Messages wait here for an aggregator: two rows, the remote word and a value.
using package_queue = emu::work_group_queue<std::uint64_t, 2>;

/// A wavefront's 64-bit words.
template<emu::any_wavefront W>
using lanes64 = emu::lanes<std::uint64_t, W::size>;

/// A number, or one for each lane, as 64-bit words.
template<emu::any_wavefront W, class V>
[[nodiscard]] lanes64<W> as_words(V const& v) {
  if constexpr (std::is_integral_v<V>)
    return lanes64<W>(static_cast<std::uint64_t>(v));
  else if constexpr (requires { v.to_lanes(); })
    return emu::convert<std::uint64_t>(v.to_lanes());
  else
    return emu::convert<std::uint64_t>(v);
}

/// What a kernel asks before it sends: has the job failed?
class job_state {
public:
  [[nodiscard]] bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Throws kernel_stop with what is given up, and the job's first error.
  [[noreturn]] virtual void stop(command what, std::source_location where) = 0;
  /// Fails the job, because there is no such word; then as stop().
  [[noreturn]] virtual void refuse(command what, named_word to, std::source_location where) = 0;

protected:
  ~job_state() = default;
  std::atomic<bool> failed_{false};
};

/// What a kernel sees of Gravel: network operations from every lane, in divergent code too.
///
/// A symmetric address is an address in this node's heap; it names the same word of every node. One
/// outside of it, or a node that there is not, fails the job with outside_heap, and nothing is done
/// of that operation of the wavefront, or of the work-item.
///
/// Operations do not block but for room in the package queue; they are complete after
/// gravel_node::quiet(). Two messages from one work-item to one node are applied in their order, if
/// the node has one aggregator (gravel_node::options).
///
/// A wave kernel's operations start when they are awaited: what they are given, they keep by value.
/// Words and nodes are checked at the call, of the lanes that are active there: with more of them
/// it is a fault (wrong_shape) to await it.
///
/// Errors   kernel_stop – the job has failed, perhaps by this operation; it says why
/// Source   thesis §5.1, §5.2; Table 3-1b, Table 5-1
class endpoint {
public:
  /// `heap`: this node's, as large as everybody's. `direct`: null unless the style is SIMT-direct;
  /// then nothing goes through `packages`.
  ///
  /// Shape    as remote_word
  endpoint(package_queue& packages, std::span<std::uint64_t> heap, std::uint32_t node_count,
           job_state& job, direct_buffers* direct = nullptr) noexcept
      : packages_(packages), heap_(heap), node_count_(node_count), job_(job), direct_(direct) {}

  // From a wave kernel: for the active lanes. A work-group collective: all wavefronts of the group
  // come, unless `how` says who does (wavefront::group_reduce).

  /// Adds 1 to each lane's word on each lane's node.
  template<emu::any_wavefront W, class Index, class Nodes,
           emu::divergence_mechanism D = emu::converged>
  task<> increment(W& wf, emu::lane_address<std::uint64_t, Index> at, Nodes nodes, D how = {},
                   std::source_location where = std::source_location::current()) {
    std::uint32_t const tag = package_tag::encode(command::increment);
    check<W>(wf, tag, at, nodes, where);
    if (direct_ != nullptr)
      return direct_->send(wf, tag, rows<W>(at, nodes), lanes64<W>{}, wf.active(), where);
    return send_row<W>(wf, tag, rows<W>(at, nodes), wf.active(), how, where);
  }
  /// Adds each lane's value.
  template<emu::any_wavefront W, class Index, class Nodes,
           emu::divergence_mechanism D = emu::converged>
  task<> add(W& wf, emu::lane_address<std::uint64_t, Index> at, lanes64<W> value, Nodes nodes,
             D how = {}, std::source_location where = std::source_location::current()) {
    return send<W>(wf, package_tag::encode(command::add), at, value, nodes, how, where);
  }
  /// Stores each lane's value.
  template<emu::any_wavefront W, class Index, class Nodes,
           emu::divergence_mechanism D = emu::converged>
  task<> put(W& wf, emu::lane_address<std::uint64_t, Index> at, lanes64<W> value, Nodes nodes,
             D how = {}, std::source_location where = std::source_location::current()) {
    return send<W>(wf, package_tag::encode(command::put), at, value, nodes, how, where);
  }
  /// Runs a handler (gravel_node::add_handler) with each lane's word and value on its node.
  ///
  /// Shape    all that go together have the same handler
  /// Errors   fault wrong_shape if not
  template<emu::any_wavefront W, class Index, class Nodes,
           emu::divergence_mechanism D = emu::converged>
  task<> active_message(W& wf, std::uint32_t handler, emu::lane_address<std::uint64_t, Index> at,
                        lanes64<W> value, Nodes nodes, D how = {},
                        std::source_location where = std::source_location::current()) {
    std::uint32_t const tag = package_tag::encode(command::active_message, handler);
    return send<W>(wf, tag, at, value, nodes, how, where);
  }

  // From an item kernel: for this work-item; those at the same line go together.

  template<emu::any_work_item I>
  [[nodiscard]] auto increment(I& wi, emu::global<std::uint64_t> at, std::uint64_t node,
                               std::source_location where = std::source_location::current()) {
    return message_await<I>(wi, command::increment, at, 0, node, where);
  }
  template<emu::any_work_item I>
  [[nodiscard]] auto add(I& wi, emu::global<std::uint64_t> at, std::uint64_t value,
                         std::uint64_t node,
                         std::source_location where = std::source_location::current()) {
    return message_await<I>(wi, command::add, at, value, node, where);
  }
  template<emu::any_work_item I>
  [[nodiscard]] auto put(I& wi, emu::global<std::uint64_t> at, std::uint64_t value,
                         std::uint64_t node,
                         std::source_location where = std::source_location::current()) {
    return message_await<I>(wi, command::put, at, value, node, where);
  }
  template<emu::any_work_item I>
  [[nodiscard]] auto active_message(I& wi, std::uint32_t handler, emu::global<std::uint64_t> at,
                                    std::uint64_t value, std::uint64_t node,
                                    std::source_location where = std::source_location::current()) {
    return message_await<I>(wi, command::active_message, at, value, node, where, handler);
  }

private:
  struct item_message {
    endpoint* net;
    std::uint64_t row;
    std::uint64_t value;
    std::uint32_t tag;
  };

  /// The lanes of one line, as one push of their wavefront in diverged control flow.
  template<emu::memory_model M>
  struct message_call {
    using memory_type = M;
    using value_type = item_message;
    using result_type = emu::no_value;
    static constexpr char const* what = "network operation";
    static constexpr bool needs_all = false;
    template<class W>
    static task<> run(W& wf, emu::item_lanes& l, emu::lane_mask who) {
      using request = emu::lane_request_of<message_call>;
      item_message const& first = request::of(l, who.first()).value;
      std::source_location const where = emu::where_of(l, who);
      typename W::template lanes<std::uint64_t> message[2]{};
      who.for_each([&](int i) {
        message[0].set(i, request::of(l, i).value.row);
        message[1].set(i, request::of(l, i).value.value);
        if (request::of(l, i).value.tag != first.tag) [[unlikely]]
          emu::wrong_shape(wf.slot(), "active messages of different handlers at one line", where);
      });
      task<> sent = first.net->send_items(wf, first.tag, message, where);
      co_await std::move(sent);
    }
  };

  template<class I>
  auto message_await(I& wi, command c, emu::global<std::uint64_t> at, std::uint64_t value,
                     std::uint64_t node, std::source_location where, std::uint32_t handler = 0) {
    using call = message_call<typename I::memory_type>;
    std::uint64_t const word = word_of(at.get());
    if (word >= heap_.size() || node >= node_count_) [[unlikely]]
      job_.refuse(c, {node, whole_word_of(at.get()), byte_of(at.get())}, where);
    item_message const m{
        this,
        remote_word::encode(pe{static_cast<std::uint32_t>(node)}, static_cast<std::uint32_t>(word)),
        value, package_tag::encode(c, handler)};
    return emu::lane_await<call>(wi.slot(), m, where);
  }

  /// `message` outlives the task.
  template<class W>
  task<> send_items(W& wf, std::uint32_t tag, lanes64<W> const (&message)[2],
                    std::source_location where) {
    check_job(tag, where);
    if (direct_ != nullptr)
      return direct_->send(wf, tag, message[0], message[1], wf.active(), where);
    return packages_.push(wf, tag, message, emu::reconverging, where);
  }
  template<class W, class Index, class Nodes, class D>
  task<> send(W& wf, std::uint32_t tag, emu::lane_address<std::uint64_t, Index> at,
              lanes64<W> value, Nodes nodes, D how, std::source_location where) {
    check<W>(wf, tag, at, nodes, where);
    if (direct_ != nullptr)
      return direct_->send(wf, tag, rows<W>(at, nodes), value, wf.active(), where);
    return send_row_and_value<W>(wf, tag, rows<W>(at, nodes), value, wf.active(), how, where);
  }
  template<class W, class D>
  task<> send_row(W& wf, std::uint32_t tag, lanes64<W> row, emu::lane_mask checked, D how,
                  std::source_location where) {
    expect_checked(wf, checked, where);
    emu::package_place const place = co_await packages_.reserve(wf, tag, how, where);
    packages_.write(wf, place, 0, row);
    packages_.publish(wf, place);
  }
  template<class W, class D>
  task<> send_row_and_value(W& wf, std::uint32_t tag, lanes64<W> row, lanes64<W> value,
                            emu::lane_mask checked, D how, std::source_location where) {
    expect_checked(wf, checked, where);
    emu::package_place const place = co_await packages_.reserve(wf, tag, how, where);
    packages_.write(wf, place, 0, row);
    packages_.write(wf, place, 1, value);
    packages_.publish(wf, place);
  }

  void check_job(std::uint32_t tag, std::source_location where) const {
    if (job_.has_failed()) [[unlikely]]
      job_.stop(package_tag::what(tag), where);
  }

  /// Stops the kernel if the job has failed, and fails it unless each active lane names a word that
  /// there is, and so one that a row can say. Before anything is reserved: others need not wait for
  /// what does not come.
  template<class W, class Index, class Nodes>
  QUARRY_ALWAYS_INLINE void check(W& wf, std::uint32_t tag,
                                  emu::lane_address<std::uint64_t, Index> const& at,
                                  Nodes const& nodes, std::source_location where) const {
    check_job(tag, where);
    auto const is_none =
        (words<W>(at) >= heap_.size()) | (as_words<W>(nodes) >= std::uint64_t{node_count_});
    if (emu::lane_mask const strays = is_none.bits() & wf.active(); strays.any()) [[unlikely]]
      refuse<W>(strays.first(), tag, at, nodes, where);
  }
  /// Apart, as it looks at single lanes, which then lie in memory.
  template<class W, class Index, class Nodes>
  [[gnu::noinline, gnu::cold]] void refuse(int lane, std::uint32_t tag,
                                           emu::lane_address<std::uint64_t, Index> const& at,
                                           Nodes const& nodes, std::source_location where) const {
    std::uint64_t const word = as_words<W>(at.index)[lane] + whole_word_of(at.base);
    job_.refuse(package_tag::what(tag), {as_words<W>(nodes)[lane], word, byte_of(at.base)}, where);
  }

  [[nodiscard]] std::uint64_t bytes_to(std::uint64_t const* at) const noexcept {
    return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(heap_.data());
  }
  /// The word of the heap that begins there, or has begun before.
  [[nodiscard]] std::uint64_t whole_word_of(std::uint64_t const* at) const noexcept {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bytes_to(at)) >> 3);
  }
  [[nodiscard]] unsigned byte_of(std::uint64_t const* at) const noexcept {
    return static_cast<unsigned>(bytes_to(at) % 8);
  }
  /// The word of the heap that begins there; outside of every heap what begins between two words.
  [[nodiscard]] std::uint64_t word_of(std::uint64_t const* at) const noexcept {
    return whole_word_of(at) ^ bytes_to(at) << 61;
  }
  template<class W, class Index>
  [[nodiscard]] lanes64<W> words(emu::lane_address<std::uint64_t, Index> const& at) const {
    return as_words<W>(at.index) + word_of(at.base);
  }
  template<class W, class Index, class Nodes>
  [[nodiscard]] lanes64<W> rows(emu::lane_address<std::uint64_t, Index> const& at,
                                Nodes const& nodes) const {
    return (as_words<W>(nodes) << remote_word::pe_shift) + words<W>(at);
  }

  package_queue& packages_;
  std::span<std::uint64_t> heap_;
  std::uint32_t node_count_;
  job_state& job_;
  direct_buffers* direct_;
};

} // namespace quarry::net::gravel
