// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/net/wire.hpp>
#include <quarry/result.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry::net {

/// One established connection: frames out, frames in, without blocking.
class peer_stream {
public:
  peer_stream(boost::asio::ip::tcp::socket socket, pe peer);

  /// Makes the socket ready: no delay, non-blocking.
  [[nodiscard]] result<void> prepare();

  /// Takes a frame; false if an earlier one still waits, or the peer has gone after it has said
  /// something: advance() delivers that first. What the socket has no room for is kept. Errors:
  /// peer_lost.
  [[nodiscard]] result<bool> try_send(wire::frame_kind kind, std::span<std::byte const> head,
                                      std::span<std::byte const> body);
  /// A goodbye, after all that waits. Only once, also if it is called again.
  void say_goodbye();
  /// That this end goes without a goodbye, and because of whom: the last frame. False if it
  /// may not arrive yet, or the rest of the frame before it.
  [[nodiscard]] bool say_lost(pe culprit);
  /// After an error: who is to blame, the peer or whom it has named.
  [[nodiscard]] pe culprit() const noexcept { return culprit_; }
  /// Sends what waits, receives what has come; gives how many messages were delivered, or how many
  /// writes went on.
  [[nodiscard]] result<std::size_t> advance(transport_port::sink const& deliver);

  [[nodiscard]] bool is_flushed() const noexcept {
    return unsent_.size() == unsent_from_ && !is_cut_;
  }
  [[nodiscard]] bool has_left() const noexcept { return has_left_; }
  [[nodiscard]] pe peer() const noexcept { return peer_; }
  [[nodiscard]] int descriptor() { return socket_.native_handle(); }
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }

private:
  /// Moves the parts on by what the socket takes now.
  void write(std::span<boost::asio::const_buffer> parts);
  void flush();
  /// What to say to who sends where nothing can be sent any more.
  result<bool> refused();
  error named(std::span<std::byte const> payload);
  result<std::size_t> deliver_frames(transport_port::sink const& deliver);
  result<void> check(wire::frame_header const& h);
  void keep(std::span<std::byte const> rest);
  void make_room(std::size_t bytes);
  error lost(char const* how) const;

  boost::asio::ip::tcp::socket socket_;
  pe peer_;
  pe culprit_;
  bool has_left_ = false;         ///< it has said goodbye
  bool has_said_goodbye_ = false; ///< this end has
  bool has_said_lost_ = false;    ///< this end has
  bool is_delivering_ = false;    ///< frames that have come may be behind the one in delivery
  bool is_cut_ = false;           ///< nothing can be sent any more
  std::uint32_t sent_frames_ = 0;
  std::uint32_t received_frames_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::vector<std::byte> unsent_; ///< from unsent_from_ on
  std::size_t unsent_from_ = 0;
  std::vector<std::byte> received_; ///< [received_from_, received_to_) is there and not delivered
  std::size_t received_from_ = 0;
  std::size_t received_to_ = 0;
};

} // namespace quarry::net
