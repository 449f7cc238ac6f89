// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator_desk.hpp"
#include "frame.hpp"
#include "shared_state.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/net/gravel_direct.hpp>
#include <quarry/task.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace quarry::net::gravel {

/// SIMT-direct's part of stage 2: watches the per-node buffers that wavefronts fill, and replaces
/// those that are full, that are old, or all when the host wants quiet (Figure 3-6, time 2).
template<emu::memory_model M>
class direct_aggregator {
  using core = emu::basic_core<M>;
  using clock = std::chrono::steady_clock;

public:
  direct_aggregator(shared_state& shared, direct_buffers& direct, std::uint32_t number)
      : shared_(shared), direct_(direct), buffers_(*shared.buffers[number]), desk_(shared, number),
        seen_(direct.node_count()) {}

  task<> run() {
    actor& me = co_await this_actor();
    core self({&me, &shared_.scheduler, nullptr});
    task<> work = serve(self);
    co_await std::move(work);
    shared_.ended();
  }

private:
  task<> serve(core& self) {
    for (std::uint32_t n = 0; n < direct_.node_count(); ++n) {
      task<> opened = open(self, n);
      co_await std::move(opened);
    }
    while (!shared_.is_stopping()) {
      auto const work = [this, &self] { return shared_.is_stopping() || has_work(self); };
      poll_until wait(work);
      co_await wait;
      task<> done = look_at_all(self);
      co_await std::move(done);
    }
  }

  /// Is it time for buffers that are not full? Without a clock, in a deterministic scheduler, it
  /// always is.
  [[nodiscard]] bool is_time() const {
    return shared_.scheduler.decides() || clock::now() >= next_look_;
  }

  bool has_work(core& self) {
    if (desk_.is_quiet_asked())
      return true;
    bool const old_ones = is_time();
    for (std::uint32_t n = 0; n < direct_.node_count(); ++n) {
      auto const t = direct_.look(self, n);
      if (t.is_sealed || (old_ones && !t.is_empty()))
        return true;
    }
    return false;
  }

  task<> look_at_all(core& self) {
    bool const is_quiet = desk_.notice_quiet();
    bool const old_ones = is_time();
    for (std::uint32_t n = 0; n < direct_.node_count() && !shared_.is_stopping(); ++n) {
      auto const t = direct_.look(self, n);
      bool const is_old =
          !t.is_empty() && old_ones && (shared_.scheduler.decides() || seen_[n] == t.word());
      if (t.is_sealed || is_old || (is_quiet && !t.is_empty())) {
        task<> replaced = replace(self, n);
        co_await std::move(replaced);
      }
      if (old_ones)
        seen_[n] = t.word();
    }
    if (old_ones)
      next_look_ = clock::now() + shared_.options.flush_after;
    if (is_quiet) {
      task<> told = desk_.answer_quiet(self);
      co_await std::move(told);
    }
  }

  /// Sends what a node's buffer holds, once it is all there, and opens a fresh one.
  task<> replace(core& self, std::uint32_t node) {
    auto const t = direct_.seal(self, node);
    static_cast<void>(co_await direct_.written(self, t));
    if (shared_.scheduler.decides()) // the network takes frames from the host's memory
      direct_.copy_out(self, t, buffers_.buffer(t.buffer));
    task<> sent = desk_.send_frame(self, node, t.buffer, t.words, t.messages);
    co_await std::move(sent);
    task<> opened = open(self, node);
    co_await std::move(opened);
  }

  task<> open(core& self, std::uint32_t node) {
    emu::global<std::uint32_t> const free = co_await buffers_.recycled.peek(self);
    std::uint32_t const buffer = self.load(free);
    buffers_.recycled.release(self);
    direct_.open(self, node, buffer, static_cast<std::uint32_t>(frame_kind::data));
  }

  shared_state& shared_;
  direct_buffers& direct_;
  buffer_set& buffers_;
  aggregator_desk desk_;
  std::vector<std::uint64_t> seen_; ///< the tails when the timeout was last looked at
  clock::time_point next_look_{};
};

} // namespace quarry::net::gravel
