// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../farewell.hpp"
#include "failure_notice.hpp"
#include "shared_state.hpp"

#include <quarry/net/pe.hpp>
#include <quarry/net/transport_port.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace quarry::net::gravel {

/// Of a node that has failed, and leaves: so that nobody takes it for the cause.
class failure_telling {
public:
  /// The failure is another node's, as it has said.
  void repeats(failure_notice why) { why_ = std::move(why); }
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

  /// Entered. Who has no room now is tried again for a while; under a schedule, where nothing says
  /// how long that is, no one is. True if that is over now.
  bool go_on(transport_port& transport, shared_state& shared) {
    if (!began_)
      begin(transport, shared);
    auto const head = why_->head();
    std::erase_if(untold_, [&](pe to) {
      auto const sent = transport.try_send(to, std::as_bytes(std::span(head)),
                                           std::as_bytes(std::span(why_->text)));
      return !sent || *sent;
    });
    if (!untold_.empty()) // perhaps its last words have to be heard first
      static_cast<void>(transport.poll([](pe, std::span<std::byte const>) {}));
    is_over_ =
        untold_.empty() || shared.scheduler.decides() || clock::now() - *began_ > farewell_patience;
    return is_over_;
  }

private:
  using clock = std::chrono::steady_clock;

  void begin(transport_port const& transport, shared_state& shared) {
    began_ = clock::now();
    pe const self = transport.self();
    if (!why_)
      why_ = failure_notice::of(shared.why(), self.id);
    for (std::uint32_t n = 0; n < transport.pe_count(); ++n)
      if (n != self.id && n != why_->origin) // who is not there any more need not know
        untold_.push_back(pe{n});
  }

  std::optional<failure_notice> why_;
  std::optional<clock::time_point> began_;
  std::vector<pe> untold_; ///< since then
  bool is_over_ = false;
};

} // namespace quarry::net::gravel
