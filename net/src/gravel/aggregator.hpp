// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator_desk.hpp"
#include "frame.hpp"
#include "shared_state.hpp"

#include <quarry/assert.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/lane_memory.hpp>
#include <quarry/task.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace quarry::net::gravel {

/// Stage 2 of thesis A.1: takes packages and repacks their messages into per-node buffers of its
/// own, which leave when they are full, when they are old, or when the host wants quiet. Several
/// take different packages at the same time.
template<emu::memory_model M, style S>
class aggregator {
  using core = emu::basic_core<M>;
  using clock = std::chrono::steady_clock;
  using package = emu::package_view<std::uint64_t>;

public:
  aggregator(shared_state& shared, package_queue& packages, std::uint32_t number,
             std::uint32_t pe_count)
      : shared_(shared), packages_(packages), buffers_(*shared.buffers[number]),
        desk_(shared, number), nodes_(pe_count) {}

  task<> run() {
    actor& me = co_await this_actor();
    core self({&me, &shared_.scheduler, nullptr});
    task<> work = serve(self);
    co_await std::move(work);
    shared_.ended();
  }

private:
  struct node {
    frame_writer frame;
    std::uint32_t buffer = 0;
    void const* seen_at = nullptr; ///< the frame's position when the timeout was last looked at
  };

  task<> serve(core& self) {
    for (;;) {
      emu::slot_claim const mine = packages_.claim(self);
      while (!packages_.is_ready(self, mine)) {
        if (shared_.is_stopping())
          co_return;
        notice_quiet(self);
        if (has_other_work(self, true)) {
          task<> other = do_other_work(self);
          co_await std::move(other);
        } else {
          auto const work = [this, &self, mine] {
            return packages_.is_ready(self, mine) || shared_.is_stopping() ||
                   desk_.is_quiet_asked() || has_other_work(self, true);
          };
          poll_until wait(work);
          co_await wait;
        }
      }
      package const p = packages_.view(self, mine);
      shared_.packages.fetch_add(1, std::memory_order_relaxed);
      for (node& n : nodes_)
        n.frame.expect(p.header.tag);
      for (std::uint32_t next = 0; !bin(self, p, next) && !shared_.is_stopping();) {
        task<> replaced = replace(self, nodes_[full_]);
        co_await std::move(replaced);
      }
      packages_.release(self, mine);
      has_messages_ = true;
      notice_quiet(self);
      if (has_other_work(self, false)) {
        task<> other = do_other_work(self);
        co_await std::move(other);
      }
    }
  }

  /// Puts messages into their nodes' buffers, from message `next` on. False if the buffer of node
  /// `full_` must be replaced first. A plain function: its loop keeps its variables in registers.
  bool bin(core& self, package const& p, std::uint32_t& next) {
    if (package_tag::what(p.header.tag) != command::increment)
      return bin_rows<true>(self, p, next);
    if constexpr (bins_registers)
      if (nodes_.size() <= most_nodes_by_registers)
        next += bin_registers(p, next);
    return bin_rows<false>(self, p, next);
  }

  // Messages of one word a register at a time: for each node those that go to it, packed. It needs
  // no branch on where a message goes, and no counter that each message waits for.
  using words = emu::lanes<std::uint32_t, 16>;
  using packing = words::part_type;
  static constexpr bool bins_registers = packing::permutes && !M::checks && !S::sends_each;
  // It takes time for each node, and with more of them the loop over messages is faster.
  static constexpr std::size_t most_nodes_by_registers = 16;

  /// Puts messages into their nodes' buffers, from message `first` on; gives how many. None if some
  /// buffer may have too little room for them all.
  std::uint32_t bin_registers(package const& p, std::uint32_t first) {
    std::uint32_t const end = p.header.count / words::size * words::size;
    for (node const& n : nodes_)
      if (!n.frame.has_room(p.header.count + words::size))
        return 0;
    auto const node_count = static_cast<std::uint32_t>(nodes_.size());
    std::uint32_t i = first;
    for (; i + words::size <= end; i += words::size) {
      auto const rows = emu::from_memory<std::uint64_t, words::size>((p.row(0) + i).get());
      auto const targets = emu::convert<std::uint32_t>(rows >> remote_word::pe_shift);
      auto const entries = emu::convert<std::uint32_t>(rows);
      for (std::uint32_t n = 0; n < node_count; ++n)
        nodes_[n].frame.template add_some<packing>(entries.part(0), (targets == n).bits().bits());
    }
    return i - first;
  }

  template<bool HasValue>
  bool bin_rows(core& self, package const& p, std::uint32_t& next) {
    std::uint32_t const count = p.header.count;
    node* const nodes = nodes_.data();
    for (std::uint32_t i = next; i < count; ++i) {
      std::uint64_t const row = self.load(p.row(0) + i);
      std::uint32_t const target = remote_word::target(row).id;
      QUARRY_ASSERT(target < nodes_.size()); // the endpoint has seen to it
      frame_writer& frame = nodes[target].frame;
      bool fits = !S::sends_each || frame.is_empty();
      if (fits) {
        if constexpr (HasValue)
          fits = frame.add(remote_word::word(row), self.load(p.row(1) + i));
        else
          fits = frame.add(remote_word::word(row));
      }
      if (!fits) [[unlikely]] {
        full_ = target;
        next = i;
        return false;
      }
    }
    return true;
  }

  /// Whoever asks for quiet waits for what was claimed until then: the package of a kernel that has
  /// finished may stand behind that of one which has not. Which of them came to this aggregator is
  /// known when all have been released, by whomever.
  void notice_quiet(core& self) {
    if (desk_.notice_quiet())
      quiet_after_ = packages_.claimed_writes(self);
  }
  [[nodiscard]] bool is_quiet_due(core& self) {
    return desk_.owes_quiet() && packages_.have_been_released(self, quiet_after_);
  }

  /// Is it time to send buffers that are not full? Without a clock, in a deterministic scheduler,
  /// as soon as there is nothing else to do.
  [[nodiscard]] bool has_other_work(core& self, bool is_idle) {
    if (is_quiet_due(self))
      return true;
    if (!has_messages_)
      return false;
    if (S::sends_each || shared_.scheduler.decides())
      return is_idle;
    return clock::now() >= next_look_;
  }

  task<> do_other_work(core& self) {
    bool const is_quiet = is_quiet_due(self);
    bool const all = is_quiet || S::sends_each || shared_.scheduler.decides();
    has_messages_ = false;
    for (node& n : nodes_) {
      if (n.frame.is_empty())
        continue;
      if (all || n.seen_at == n.frame.position()) {
        task<> sent = send(self, n);
        co_await std::move(sent);
      } else {
        n.seen_at = n.frame.position();
        has_messages_ = true;
      }
    }
    next_look_ = clock::now() + shared_.options.flush_after;
    if (is_quiet) {
      task<> told = desk_.answer_quiet(self);
      co_await std::move(told);
    }
  }

  task<> send(core& self, node& n) {
    std::uint64_t const operations = n.frame.message_count();
    auto const target = static_cast<std::uint32_t>(&n - nodes_.data());
    task<> sent = desk_.send_frame(self, target, n.buffer, n.frame.close(), operations);
    co_await std::move(sent);
  }

  /// Sends what the node's buffer holds and opens a fresh one, once one has come back.
  task<> replace(core& self, node& n) {
    if (!n.frame.is_empty()) {
      task<> sent = send(self, n);
      co_await std::move(sent);
    }
    if (n.frame.is_open())
      co_return;
    emu::global<std::uint32_t> const free = co_await buffers_.recycled.peek(self);
    n.buffer = self.load(free);
    buffers_.recycled.release(self);
    n.frame.open(buffers_.buffer(n.buffer));
  }

  shared_state& shared_;
  package_queue& packages_;
  buffer_set& buffers_;
  aggregator_desk desk_;
  std::vector<node> nodes_;
  std::uint32_t full_ = 0;
  bool has_messages_ = false;
  std::uint32_t quiet_after_ = 0; ///< packages that quiet waits for, as claimed_writes() counts
  clock::time_point next_look_{};
};

} // namespace quarry::net::gravel
