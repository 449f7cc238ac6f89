// SPDX-License-Identifier: Apache-2.0
#include "peer_stream.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/transport.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <utility>

namespace quarry::net {
namespace {

namespace asio = boost::asio;
using failure = boost::system::error_code;

constexpr std::size_t receive_bytes = 256 * 1024;
/// Less than a segment of the loopback interface: what is cut into several takes two to four times
/// as long a byte (shmem_bandwidth).
constexpr std::size_t written_at_once = 48 * 1024;
constexpr std::size_t most_parts = 4; ///< of a frame
constexpr std::array<std::byte, 8> padding{};

bool is_would_block(failure e) {
  return e == asio::error::would_block || e == asio::error::try_again ||
         e == asio::error::interrupted;
}

} // namespace

peer_stream::peer_stream(asio::ip::tcp::socket socket, pe peer)
    : socket_(std::move(socket)), peer_(peer), culprit_(peer) {}

result<void> peer_stream::prepare() {
  failure e;
  socket_.set_option(asio::ip::tcp::no_delay(true), e);
  if (!e)
    socket_.non_blocking(true, e);
  // A program that this pe starts must not keep the connection open after its end.
  if (!e && ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC) != 0)
    e = failure(errno, boost::system::system_category());
  if (e)
    return error{std::error_code(e), fmt::format("loopback: connection to {}", to_string(peer_))};
  received_.resize(receive_bytes);
  return {};
}

error peer_stream::lost(char const* how) const {
  return make_error(net_errc::peer_lost, fmt::format("loopback: {} {}", to_string(peer_), how));
}

void peer_stream::keep(std::span<std::byte const> rest) {
  unsent_.insert(unsent_.end(), rest.begin(), rest.end());
}

result<bool> peer_stream::try_send(wire::frame_kind kind, std::span<std::byte const> head,
                                   std::span<std::byte const> body) {
  if (has_left_)
    return lost("has left the job");
  flush();
  if (is_cut_)
    return refused();
  if (!is_flushed())
    return false;
  std::size_t const length = head.size() + body.size();
  wire::frame_header header{kind, static_cast<std::uint32_t>(length), sent_frames_++, 0};
  header.check = wire::check_of(header);
  std::array<asio::const_buffer, most_parts> parts{
      asio::buffer(&header, sizeof header), asio::buffer(head.data(), head.size()),
      asio::buffer(body.data(), body.size()),
      asio::buffer(padding.data(), wire::padded(length) - length)};
  write(parts);
  if (is_cut_)
    return refused();
  sent_bytes_ += sizeof header + wire::padded(length);
  for (asio::const_buffer const& rest : parts)
    keep({static_cast<std::byte const*>(rest.data()), rest.size()});
  return true;
}

result<bool> peer_stream::refused() {
  failure e;
  if (is_delivering_ || (socket_.available(e) != 0 && !e))
    return false;
  return lost("has closed its connection");
}

void peer_stream::write(std::span<asio::const_buffer> parts) {
  while (asio::buffer_size(parts) != 0) {
    std::array<asio::const_buffer, most_parts> slice;
    std::size_t room = written_at_once;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      slice[i] = asio::buffer(parts[i], room);
      room -= slice[i].size();
    }
    failure e;
    std::size_t written = socket_.write_some(slice, e);
    if (e) {
      is_cut_ = !is_would_block(e);
      return;
    }
    for (asio::const_buffer& part : parts) {
      std::size_t const done = std::min(written, part.size());
      part += done;
      written -= done;
    }
  }
}

void peer_stream::say_goodbye() {
  // Also to a peer that has said its own: it waits for this one, and takes a bare end for a death.
  if (!std::exchange(has_said_goodbye_, true)) {
    wire::frame_header header{wire::frame_kind::goodbye, 0, sent_frames_++, 0};
    header.check = wire::check_of(header);
    keep(std::as_bytes(std::span(&header, 1)));
  }
  flush();
}

bool peer_stream::say_lost(pe culprit) {
  std::uint64_t const who = culprit.id;
  if (has_left_ || has_said_goodbye_ || !socket_.is_open())
    return true; // it needs to know nothing
  if (!has_said_lost_) {
    auto const said = try_send(wire::frame_kind::lost, {}, std::as_bytes(std::span(&who, 1)));
    has_said_lost_ = said && *said;
  }
  flush();
  if (is_cut_)
    return true;
  // A socket that is closed while something lies unread throws away what it has not sent yet.
  failure e;
  for (int reads = 0; reads < 64 && !e; ++reads)
    socket_.read_some(asio::buffer(received_), e);
  if (e && !is_would_block(e))
    return true; // it has gone, too
  int on_its_way = 0;
  ::ioctl(socket_.native_handle(), SIOCOUTQ, &on_its_way);
  return has_said_lost_ && is_flushed() && on_its_way == 0;
}

void peer_stream::flush() {
  if (is_flushed())
    return;
  asio::const_buffer rest =
      asio::buffer(unsent_.data() + unsent_from_, unsent_.size() - unsent_from_);
  if (!is_cut_)
    write({&rest, 1});
  // It did not wait for our goodbye, which says nothing new; but anything before that is lost.
  if (is_cut_ && has_left_ && has_said_goodbye_ && rest.size() <= sizeof(wire::frame_header)) {
    is_cut_ = false;
    rest = {};
  }
  unsent_from_ = unsent_.size() - rest.size();
  if (rest.size() != 0)
    return;
  unsent_.clear();
  unsent_from_ = 0;
}

/// Space for `bytes` after what is there; moves it to the front if need be. Keeps the alignment:
/// what is not delivered begins at a multiple of 8.
void peer_stream::make_room(std::size_t bytes) {
  if (received_from_ == received_to_)
    received_from_ = received_to_ = 0;
  if (received_.size() - received_to_ >= bytes)
    return;
  std::memmove(received_.data(), received_.data() + received_from_, received_to_ - received_from_);
  received_to_ -= std::exchange(received_from_, 0);
  if (received_.size() - received_to_ < bytes)
    received_.resize(received_to_ + bytes);
}

result<void> peer_stream::check(wire::frame_header const& h) {
  std::string wrong;
  auto code = net_errc::bad_frame;
  if (h.check != wire::check_of(h) || h.kind < wire::frame_kind::message ||
      h.kind > wire::frame_kind::lost) {
    wrong = "sent something that is no frame";
  } else if (h.sequence != received_frames_) {
    wrong = fmt::format("sent frame {} where {} was due", h.sequence, received_frames_);
  } else if (h.length > max_message_bytes) {
    code = net_errc::oversized_frame;
    wrong = fmt::format("sent a frame of {} bytes; at most {}", h.length, max_message_bytes);
  } else if (has_left_ || (h.kind == wire::frame_kind::goodbye && h.length != 0)) {
    wrong = "sent more than a goodbye at its end";
  } else if (h.kind == wire::frame_kind::lost && h.length != sizeof(std::uint64_t)) {
    wrong = fmt::format("named who is lost in {} bytes", h.length);
  } else {
    return {};
  }
  failure ignored;
  socket_.close(ignored);
  error e = make_error(
      code, fmt::format("loopback: {} {}; its connection is closed", to_string(peer_), wrong));
  fmt::print(stderr, "{}\n", e.what);
  return e;
}

/// The peer has gone, and said because of whom.
error peer_stream::named(std::span<std::byte const> payload) {
  std::uint64_t who = 0;
  std::memcpy(&who, payload.data(), sizeof who);
  culprit_ = pe{static_cast<std::uint32_t>(who)};
  if (culprit_ == peer_)
    return lost("has left without a goodbye");
  return make_error(net_errc::peer_lost,
                    fmt::format("loopback: {} has died or left without a goodbye, says {}",
                                to_string(culprit_), to_string(peer_)));
}

result<std::size_t> peer_stream::deliver_frames(transport_port::sink const& deliver) {
  std::size_t delivered = 0;
  while (received_to_ - received_from_ >= sizeof(wire::frame_header)) {
    wire::frame_header h;
    std::memcpy(&h, received_.data() + received_from_, sizeof h);
    if (auto const ok = check(h); !ok)
      return ok.error();
    std::size_t const whole = sizeof h + wire::padded(h.length);
    if (received_to_ - received_from_ < whole) {
      make_room(whole - (received_to_ - received_from_));
      break;
    }
    ++received_frames_;
    std::span const payload(received_.data() + received_from_ + sizeof h, h.length);
    received_from_ += whole;
    if (h.kind == wire::frame_kind::goodbye) {
      has_left_ = true;
      continue;
    }
    if (h.kind == wire::frame_kind::lost)
      return named(payload);
    is_delivering_ = true;
    deliver(peer_, payload);
    is_delivering_ = false;
    ++delivered;
  }
  return delivered;
}

result<std::size_t> peer_stream::advance(transport_port::sink const& deliver) {
  std::size_t progress = 0;
  if (!is_flushed()) {
    std::size_t const before = unsent_.size() - unsent_from_;
    flush();
    progress += unsent_.size() - unsent_from_ != before ? 1 : 0;
  }
  // A peer to which nothing can be sent any more: what it has said before that comes first.
  auto const nothing_came = [&]() -> result<std::size_t> {
    if (is_cut_)
      return lost("has closed its connection");
    return progress;
  };
  if (has_left_)
    return nothing_came();
  make_room(receive_bytes / 4);
  failure e;
  std::size_t const n = socket_.read_some(
      asio::buffer(received_.data() + received_to_, received_.size() - received_to_), e);
  if (e && is_would_block(e))
    return nothing_came();
  if (e)
    return lost(received_from_ == received_to_ ? "has died or left without a goodbye"
                                               : "has died in the middle of a frame");
  received_to_ += n;
  auto const delivered = deliver_frames(deliver);
  if (!delivered)
    return delivered.error();
  return progress + std::max<std::size_t>(*delivered, 1);
}

} // namespace quarry::net
