// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../awake_time.hpp"
#include "collective.hpp"
#include "contributions.hpp"
#include "failure_notice.hpp"
#include "failure_telling.hpp"
#include "frame.hpp"
#include "heap_operations.hpp"
#include "last_words.hpp"
#include "quiet_round.hpp"
#include "shared_state.hpp"
#include "traffic.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/net/error.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/task.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quarry::net::gravel {

/// Stage 3 of thesis A.1: one actor that sends per-node buffers, receives others', and applies
/// their messages one after the other. It also answers for quiet() and gathers: blocking operations
/// of the host become messages of its own, so that it never waits itself.
template<emu::memory_model M>
class network_interface {
  using core = emu::basic_core<M>;
  using clock = std::chrono::steady_clock;
  static constexpr int most_frames_at_once = 16;

public:
  network_interface(shared_state& shared, transport_port& transport, std::span<std::uint64_t> heap,
                    std::vector<message_handler> const& handlers)
      : shared_(shared), transport_(transport), operations_(heap, handlers, transport.self()),
        nodes_(transport.pe_count()), self_id_(transport.self().id) {}

  task<> run() {
    actor& me = co_await this_actor();
    core self({&me, &shared_.scheduler, nullptr});
    for (auto const& set : shared_.buffers) {
      task<> lent = lend_buffers(self, *set);
      co_await std::move(lent);
    }
    while (!may_end()) {
      if (step(self))
        continue;
      auto const work = [this, &self] {
        return may_end() || (shared_.scheduler.decides() ? has_work(self) : step(self));
      };
      poll_until wait(work);
      co_await wait;
    }
    shared_.ended();
  }

  [[nodiscard]] statistics counts() const noexcept { return traffic_.counts(); }

private:
  task<> lend_buffers(core& self, buffer_set& set) {
    auto const each = static_cast<std::uint32_t>(set.storage.size() / set.words);
    for (std::uint32_t i = 0; i < each; ++i) {
      emu::global<std::uint32_t> const free = co_await set.recycled.reserve(self);
      self.store(free, i);
      set.recycled.publish(self);
    }
  }

  /// What others still wait for, a contribution or an answer, or why this node has failed, leaves
  /// before the actor ends; and whoever hands over to it ends before.
  [[nodiscard]] bool may_end() const {
    return shared_.is_stopping() && shared_.running.load(std::memory_order_acquire) == 1 &&
           (shared_.has_failed() && !shared_.is_leaving() ? telling_.is_over() : controls_.empty());
  }

  /// Does what can be done now; true if anything was.
  bool step(core& self) {
    if (shared_.is_leaving()) {
      bool const dropped = drop_frames(self);
      return leave() || dropped;
    }
    if (shared_.has_failed()) {
      bool const dropped = drop_frames(self);
      return tell_others() || dropped;
    }
    bool progressed = look_at_requests();
    take_next(self); // so that it is known whom this node waits for, even if nothing can leave
    bool const has_entered = transport_.try_enter();
    if (has_entered) { // else an idle worker is in transport_.wait(), perhaps always so
      progressed |= send_controls();
      progressed |= send_frames(self);
      progressed |= receive(self);
    }
    check_timeout(progressed, has_entered);
    if (has_entered)
      transport_.leave();
    return progressed;
  }

  /// As step(), but only looks: for schedulers that may not be surprised.
  bool has_work(core& self) {
    if (shared_.is_leaving() && !shared_.has_left.load(std::memory_order_relaxed))
      return controls_.empty() || transport_.has_input() ||
             transport_.has_room(pe{controls_.front().target});
    if (!shared_.has_failed()) {
      if (transport_.has_input() || has_new_request())
        return true;
      if (auto const n = next_target())
        return *n == self_id_ || transport_.has_room(pe{*n});
    }
    return (shared_.has_failed() && !shared_.is_leaving() && !telling_.is_over()) || current_ ||
           shared_.to_network.is_ready(self, claim(self));
  }

  // Requests of the host

  bool has_new_request() const {
    return gather_seen_ != shared_.gather_requested.load(std::memory_order_acquire);
  }
  bool look_at_requests() {
    if (!has_new_request())
      return false;
    shared_.gather_begins.take();
    ++gather_seen_;
    for (std::uint32_t n = 0; n < nodes_; ++n)
      if (n != self_id_)
        controls_.push_back({n, frame_kind::gather, gather_seen_, shared_.gather_mine});
    static_cast<void>(gathers_.add(self_id_, gather_seen_, shared_.gather_mine));
    finish_gather();
    return true;
  }

  void finish_gather() {
    if (!is_gathering())
      return;
    if (auto all = gathers_.take(gather_seen_)) {
      shared_.gather_all = *std::move(all);
      shared_.gather_ends.give();
      shared_.gather_done.store(gather_seen_, std::memory_order_release);
      shared_.scheduler.notify();
    }
  }

  /// An aggregator has sent all that it had: asks every node to say when it has applied it.
  void aggregator_is_quiet(std::uint64_t number) {
    if (!quiet_.aggregator_answers(number))
      return;
    for (std::uint32_t n = 0; n < nodes_; ++n)
      if (n != self_id_)
        controls_.push_back({n, frame_kind::fence_request, number, {}});
    finish_quiet();
  }
  void finish_quiet() {
    if (quiet_.is_waiting())
      return;
    shared_.quiet_ends.give();
    shared_.quiet_done.store(quiet_.number(), std::memory_order_release);
    shared_.scheduler.notify();
  }

  // Sending

  emu::slot_claim claim(core& self) {
    if (!claim_)
      claim_ = shared_.to_network.claim(self);
    return *claim_;
  }

  result<bool> try_send(control const& c) {
    std::uint32_t const head[3] = {static_cast<std::uint32_t>(c.kind),
                                   static_cast<std::uint32_t>(c.number),
                                   static_cast<std::uint32_t>(c.number >> 32)};
    return transport_.try_send(pe{c.target}, std::as_bytes(std::span(head)), c.bytes);
  }

  bool send_controls() {
    bool any = false;
    while (!controls_.empty()) {
      control const& c = controls_.front();
      auto const sent = try_send(c);
      if (!sent)
        return shared_.fail(sent.error()), true;
      if (!*sent)
        return any;
      last_words_.hear(c.target);
      controls_.pop_front();
      any = true;
    }
    return any;
  }

  /// Not more than some: kernels may fill buffers as fast as this node applies its own, and others
  /// want to be heard.
  bool send_frames(core& self) {
    int left = most_frames_at_once;
    for (; left != 0 && take_next(self) && send(self, *current_); --left)
      current_.reset();
    return left != most_frames_at_once;
  }
  /// The job has failed: kernels and aggregators go on as if their messages left, and learn of it
  /// where they wait for something.
  bool drop_frames(core& self) {
    int left = most_frames_at_once;
    for (; left != 0 && take_next(self); --left) {
      if (current_->what == outgoing::kind::frame)
        give_back(self, *current_);
      current_.reset();
    }
    return left != most_frames_at_once;
  }
  /// False if there is nothing to be sent.
  bool take_next(core& self) {
    if (current_)
      return true;
    if (!shared_.to_network.is_ready(self, claim(self)))
      return false;
    current_ = self.load(shared_.to_network.payload(*claim_));
    shared_.to_network.release(self, *claim_);
    claim_.reset();
    return true;
  }

  /// False if the transport has no room.
  bool send(core& self, outgoing const& o) {
    if (o.what == outgoing::kind::quiet_marker) {
      if (!controls_.empty())
        return false; // keep their order
      aggregator_is_quiet(o.number);
      return true;
    }
    buffer_set& set = *shared_.buffers[o.aggregator];
    std::span<std::uint32_t const> const words = set.buffer(o.buffer).first(o.number);
    if (o.target == self_id_) {
      apply(self, pe{self_id_}, words);
    } else {
      auto const sent = transport_.try_send(pe{o.target}, std::as_bytes(words), {});
      if (!sent)
        shared_.fail(sent.error());
      if (!sent || !*sent)
        return false;
      last_words_.hear(o.target);
      traffic_.remote_frames.add(1);
    }
    traffic_.frames.add(1);
    traffic_.frame_bytes.add(words.size_bytes());
    traffic_.operations.add(o.operations);
    give_back(self, o);
    return true;
  }
  void give_back(core& self, outgoing const& o) {
    // There are fewer buffers than slots, so that the queue always has room.
    auto& recycled = shared_.buffers[o.aggregator]->recycled;
    emu::global<std::uint32_t> const back = recycled.try_reserve(self);
    self.store(back, o.buffer);
    recycled.publish(self);
  }

  // Leaving

  /// What others still wait for is sent first; not to who is not there any more, or takes nothing
  /// for the timeout. True if anything was done.
  bool leave() {
    if (shared_.has_left.load(std::memory_order_relaxed) || !transport_.try_enter())
      return false;
    bool any = false;
    while (!controls_.empty()) {
      auto const sent = try_send(controls_.front());
      if (sent && !*sent)
        break;
      controls_.pop_front();
      any = true;
    }
    auto const got = transport_.poll([](pe, std::span<std::byte const>) {}); // what makes room
    transport_.leave();
    any |= got && *got != 0;
    auto const now = time_.now();
    leaves_since_ = any || !leaves_since_ ? now : *leaves_since_;
    bool const is_late = !shared_.scheduler.decides() && now - *leaves_since_ > shared_.timeout;
    if (!got || is_late)
      controls_.clear();
    if (!controls_.empty())
      return any;
    shared_.has_left.store(true, std::memory_order_release);
    shared_.scheduler.notify();
    return true;
  }

  // Failing

  /// True if it has been done now.
  bool tell_others() {
    if (telling_.is_over() || !transport_.try_enter())
      return false;
    controls_.clear();
    bool const is_over = telling_.go_on(transport_, shared_);
    transport_.leave();
    return is_over;
  }
  void take_failure(pe from, std::optional<failure_notice> why) {
    if (!why)
      return malformed(from, "a failure of nobody");
    if (shared_.fail(why->as_error()))
      telling_.repeats(*std::move(why));
  }

  // Receiving

  bool receive(core& self) {
    auto const got = transport_.poll([&](pe from, std::span<std::byte const> bytes) {
      last_words_.hear(from.id);
      if (!shared_.has_failed())
        take(self, from, bytes);
    });
    if (!got) {
      shared_.fail(got.error());
      return true;
    }
    return *got != 0;
  }

  void malformed(pe from, char const* what) { shared_.fail(bad_frame(from, what)); }

  void take(core& self, pe from, std::span<std::byte const> bytes) {
    if (bytes.size() < 4 || reinterpret_cast<std::uintptr_t>(bytes.data()) % 4 != 0)
      return malformed(from, "a frame without a kind");
    std::span const words(reinterpret_cast<std::uint32_t const*>(bytes.data()), bytes.size() / 4);
    auto const kind = static_cast<frame_kind>(words[0]);
    if (kind == frame_kind::data)
      return bytes.size() % 4 == 0 ? apply(self, from, words) : malformed(from, "half a word");
    if (words.size() < 3)
      return malformed(from, "a control frame that is too short");
    std::uint64_t const number = words[1] | std::uint64_t{words[2]} << 32;
    switch (kind) {
    case frame_kind::fence_request: // all before it has been applied: frames of a pair keep their
                                    // order
      controls_.push_back({from.id, frame_kind::fence_answer, number, {}});
      return;
    case frame_kind::fence_answer:
      return quiet_.node_answers(from.id, number) ? finish_quiet()
                                                  : malformed(from, "an answer to no question");
    case frame_kind::gather:
      if (bytes.size() == 12 || !is_collective(bytes[12]))
        return malformed(from, "a contribution to no collective");
      // A node may be one ahead of this one, whose host may be one ahead of its network interface.
      if (number > gather_seen_ + 2 ||
          !gathers_.add(from.id, number, {bytes.begin() + 12, bytes.end()}))
        return malformed(from, "a contribution to no gather");
      return finish_gather();
    case frame_kind::waiting: // it has been heard
      return bytes.size() == 12 ? void() : malformed(from, "a word too many from who waits");
    case frame_kind::failure:
      return take_failure(from, failure_notice::read(words, bytes.subspan(12), nodes_, self_id_));
    default:
      return malformed(from, "a frame of an unknown kind");
    }
  }

  void apply(core& self, pe from, std::span<std::uint32_t const> words) {
    if (auto const count = operations_.apply(self, from, words.subspan(1)))
      traffic_.applied.add(*count);
    else
      shared_.fail(count.error());
  }

  // Waiting too long

  [[nodiscard]] bool is_gathering() const {
    return shared_.gather_done.load(std::memory_order_relaxed) != gather_seen_;
  }
  /// Where what is to be sent next goes; between two rounds of step() there is no room for it.
  [[nodiscard]] std::optional<std::uint32_t> next_target() const {
    if (!controls_.empty())
      return controls_.front().target;
    return current_ && current_->what == outgoing::kind::frame ? std::optional(current_->target)
                                                               : std::nullopt;
  }
  [[nodiscard]] bool is_waiting() const {
    return quiet_.is_waiting() || is_gathering() || next_target().has_value();
  }
  /// For room, an answer or a contribution. A question that still stands behind something else has
  /// not been asked.
  [[nodiscard]] bool waits_for(std::uint32_t n) const {
    if (next_target() == n || (is_gathering() && !gathers_.has(n, gather_seen_)))
      return true;
    return quiet_.is_waiting() && !quiet_.has_answered(n) &&
           std::none_of(controls_.begin(), controls_.end(),
                        [n](control const& c) { return c.target == n; });
  }
  /// Who waits for this node learns that it is there, though it has nothing to say: it waits, too,
  /// for whom the timeout then names. Once in a wait: where all are there, and wait, it ends.
  void tell_that_it_waits() {
    has_told_ = true;
    constexpr std::uint32_t head[3] = {static_cast<std::uint32_t>(frame_kind::waiting), 0, 0};
    for (std::uint32_t n = 0; n < nodes_; ++n)
      if (n != self_id_)
        if (auto const sent = transport_.try_send(pe{n}, std::as_bytes(std::span(head)), {}); !sent)
          return static_cast<void>(shared_.fail(sent.error()));
  }
  /// Each of them is to be heard, or to take something, within the timeout, whatever others do; but
  /// who has not been in the transport now has not tried to hear it.
  void check_timeout(bool progressed, bool has_entered) {
    if (shared_.scheduler.decides())
      return;
    bool const begins = waiting_since_ == clock::time_point{};
    if (!is_waiting()) {
      if (!begins)
        last_words_.rest();
      waiting_since_ = {};
      has_told_ = false;
      return;
    }
    auto const now = time_.now();
    last_words_.look(now, [this](std::uint32_t n) { return waits_for(n); });
    if (has_entered && !has_told_ && !shared_.has_failed() &&
        last_words_.are_missing(now - shared_.timeout / 2))
      tell_that_it_waits();
    if (progressed || begins)
      waiting_since_ = now;
    auto const since = now - shared_.timeout;
    if (!has_entered && waiting_since_ > since)
      return;
    if (std::string const who = last_words_.missing(since); !who.empty())
      shared_.fail(make_error(net_errc::timeout, fmt::format("gravel: no word from {} for {} ms",
                                                             who, shared_.timeout.count())));
  }

  shared_state& shared_;
  transport_port& transport_;
  heap_operations<M> operations_;
  std::uint32_t nodes_;
  std::uint32_t self_id_;

  std::optional<emu::slot_claim> claim_; ///< of to_network
  std::optional<outgoing> current_;      ///< taken from it, not sent yet
  std::deque<control> controls_;

  quiet_round quiet_{shared_.buffers.size(), nodes_, self_id_};
  std::uint64_t gather_seen_ = 0;
  contributions gathers_{nodes_};
  awake_time time_{shared_.timeout};
  clock::time_point waiting_since_{}; ///< nothing has happened since then
  last_words last_words_{nodes_};
  bool has_told_ = false;                         ///< tell_that_it_waits(), in this wait
  std::optional<clock::time_point> leaves_since_; ///< nothing of it has left since then

  failure_telling telling_;
  traffic traffic_;
};

} // namespace quarry::net::gravel
