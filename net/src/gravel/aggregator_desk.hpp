// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shared_state.hpp"

#include <quarry/task.hpp>

#include <atomic>
#include <cstdint>

namespace quarry::net::gravel {

/// What an aggregator of any style says to the network interface: frames, and, behind all of them,
/// that it has sent what the host's quiet() waits for.
class aggregator_desk {
public:
  aggregator_desk(shared_state& shared, std::uint32_t number) : shared_(shared), number_(number) {}

  template<class Core>
  task<> hand_over(Core& self, outgoing what) {
    emu::slot_claim const c = co_await shared_.to_network.reserve(self);
    self.store(shared_.to_network.payload(c), what);
    shared_.to_network.publish(self, c);
  }
  /// Of one of its own buffers.
  template<class Core>
  task<> send_frame(Core& self, std::uint32_t target, std::uint32_t buffer, std::uint64_t words,
                    std::uint64_t operations) {
    return hand_over(self, {outgoing::kind::frame, target, number_, buffer, words, operations});
  }

  /// The host wants a quiet() that has not been noticed.
  [[nodiscard]] bool is_quiet_asked() const noexcept {
    return noticed_ != shared_.quiet_requested.load(std::memory_order_acquire);
  }
  /// False: it does not. Comes after all that the host had done, so not in the predicate of a wait,
  /// where that would order whoever runs.
  bool notice_quiet() {
    std::uint64_t const wanted = shared_.quiet_requested.load(std::memory_order_acquire);
    if (wanted == noticed_)
      return false;
    shared_.quiet_begins.take();
    noticed_ = wanted;
    return true;
  }
  /// What was noticed has not been answered.
  [[nodiscard]] bool owes_quiet() const noexcept { return noticed_ != answered_; }
  template<class Core>
  task<> answer_quiet(Core& self) {
    answered_ = noticed_;
    return hand_over(self, {outgoing::kind::quiet_marker, 0, number_, 0, noticed_, 0});
  }

private:
  shared_state& shared_;
  std::uint32_t number_; ///< the aggregator's
  std::uint64_t noticed_ = 0;
  std::uint64_t answered_ = 0;
};

} // namespace quarry::net::gravel
