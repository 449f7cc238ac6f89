// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forwarding_port.hpp"

#include <quarry/net/error.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
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
class control {
public:
  /// A poll that has found the connection as it was before ends first.
  void turn(connection c) {
    std::lock_guard const lock(polling_);
    now_.store(c);
  }
  [[nodiscard]] bool is(connection c) const { return now_.load() == c; }
  /// To be held by who polls.
  [[nodiscard]] std::unique_lock<std::mutex> begin_poll() { return std::unique_lock(polling_); }
  /// False for the first so many polls while the connection is slow.
  [[nodiscard]] bool may_poll() { return !is(connection::slow) || polls_left_.fetch_sub(1) <= 0; }

private:
  std::mutex polling_;
  std::atomic<connection> now_{connection::well};
  std::atomic<int> polls_left_{2000};
};

/// A transport whose connection to `peer` goes wrong when the test says so.
class port final : public quarry_test::forwarding_port {
public:
  port(std::unique_ptr<transport_port> real, control& c, pe peer)
      : forwarding_port(std::move(real)), control_(c), peer_(peer) {}

  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override {
    if (control_.is(connection::cut))
      return lost();
    if (control_.is(connection::stopped))
      return true; // nobody will ever know
    return forwarding_port::try_send(target, head, body);
  }
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override {
    auto const polling = control_.begin_poll();
    if (control_.is(connection::cut))
      return lost();
    if (control_.is(connection::stopped) || control_.is(connection::deaf) || !control_.may_poll())
      return std::size_t{0};
    return forwarding_port::poll(deliver);
  }
  void wait(std::chrono::nanoseconds at_most) override {
    if (control_.is(connection::stopped) || control_.is(connection::deaf))
      return sleep(at_most); // though something may lie there, which it does not take
    if (!control_.is(connection::well))
      at_most = std::min<std::chrono::nanoseconds>(at_most, std::chrono::microseconds(50));
    forwarding_port::wait(at_most);
  }
  void interrupt() override {
    {
      std::lock_guard const lock(sleeping_);
      is_interrupted_ = true;
      interrupted_.notify_all();
    }
    forwarding_port::interrupt();
  }

private:
  void sleep(std::chrono::nanoseconds at_most) {
    std::unique_lock lock(sleeping_);
    interrupted_.wait_for(lock, at_most, [this] { return is_interrupted_; });
    is_interrupted_ = false;
  }
  [[nodiscard]] error lost() const {
    return make_error(net_errc::peer_lost, to_string(peer_) + ": the connection was cut");
  }

  control& control_;
  pe peer_;
  std::mutex sleeping_;
  std::condition_variable interrupted_;
  bool is_interrupted_ = false;
};

} // namespace faulty
