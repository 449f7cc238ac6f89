// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forwarding_port.hpp"

#include <quarry/net/error.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace faulty {

using namespace quarry;
using namespace quarry::net;

enum class connection : std::uint8_t {
  well,
  stopped, ///< its pe neither takes nor sends anything more, as a process that was stopped
  deaf,    ///< it takes nothing more: what is sent to it fills the buffers between
  slow,    ///< it takes nothing for many polls, and then everything
  cut,     ///< every call says that the peer is lost
};

/// What a test turns, and the port obeys from then on.
struct control {
  std::atomic<connection> now{connection::well};
  std::atomic<int> polls_left{2000}; ///< while `slow`
};

/// A transport whose connection to `peer` goes wrong when the test says so.
class port final : public quarry_test::forwarding_port {
public:
  port(std::unique_ptr<transport_port> real, control& c, pe peer)
      : forwarding_port(std::move(real)), control_(c), peer_(peer) {}

  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override {
    if (is(connection::cut))
      return lost();
    if (is(connection::stopped))
      return true; // nobody will ever know
    return forwarding_port::try_send(target, head, body);
  }
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override {
    if (is(connection::cut))
      return lost();
    if (is(connection::stopped) || is(connection::deaf))
      return std::size_t{0};
    if (is(connection::slow) && control_.polls_left.fetch_sub(1) > 0)
      return std::size_t{0};
    return forwarding_port::poll(deliver);
  }
  void wait(std::chrono::nanoseconds at_most) override {
    if (is(connection::well))
      return forwarding_port::wait(at_most);
    forwarding_port::wait(
        std::min<std::chrono::nanoseconds>(at_most, std::chrono::microseconds(50)));
  }

private:
  [[nodiscard]] bool is(connection c) const { return control_.now.load() == c; }
  [[nodiscard]] error lost() const {
    return make_error(net_errc::peer_lost, to_string(peer_) + ": the connection was cut");
  }

  control& control_;
  pe peer_;
};

} // namespace faulty
