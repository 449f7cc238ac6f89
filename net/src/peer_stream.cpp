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
#include <utility>

namespace quarry::net {
namespace {

namespace asio = boost::asio;
using failure = boost::system::error_code;

constexpr std::size_t receive_bytes = 256 * 1024;
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
  if (!is_flushed()) {
    if (auto const f = flush(); !f)
      return f.error();
    if (!is_flushed())
      return false;
  }
  std::size_t const length = head.size() + body.size();
  wire::frame_header header{kind, static_cast<std::uint32_t>(length), sent_frames_++, 0};
  header.check = wire::check_of(header);
  std::array<asio::const_buffer, 4> const parts{
      asio::buffer(&header, sizeof header), asio::buffer(head.data(), head.size()),
      asio::buffer(body.data(), body.size()),
      asio::buffer(padding.data(), wire::padded(length) - length)};
  failure e;
  std::size_t written = socket_.write_some(parts, e);
  if (e && !is_would_block(e))
    return lost("has closed its connection");
  if (e)
    written = 0;
  sent_bytes_ += sizeof header + wire::padded(length);
  for (asio::const_buffer const& part : parts) {
    std::size_t const done = std::min(written, part.size());
    written -= done;
    if (done != part.size())
      keep({static_cast<std::byte const*>(part.data()) + done, part.size() - done});
  }
  return true;
}

result<void> peer_stream::say_goodbye() {
  // Also to a peer that has said its own: it waits for this one, and takes a bare end for a death.
  if (std::exchange(has_said_goodbye_, true))
    return flush();
  wire::frame_header header{wire::frame_kind::goodbye, 0, sent_frames_++, 0};
  header.check = wire::check_of(header);
  keep(std::as_bytes(std::span(&header, 1)));
  return flush();
}

bool peer_stream::say_lost(pe culprit) {
  std::uint64_t const who = culprit.id;
  if (has_left_ || has_said_goodbye_ || !socket_.is_open())
    return true; // it needs to know nothing
  if (!has_said_lost_) {
    auto const said = try_send(wire::frame_kind::lost, {}, std::as_bytes(std::span(&who, 1)));
    has_said_lost_ = !said || *said;
  }
  auto const sent = flush();
  return has_said_lost_ && (!sent || is_flushed());
}

error peer_stream::reason(error otherwise) {
  constexpr int most_reads = 64; // of what came before
  for (int i = 0; i < most_reads; ++i) {
    auto const moved = advance([](pe, std::span<std::byte const>) {});
    if (!moved)
      return culprit_ == peer_ ? otherwise : moved.error();
    if (*moved == 0)
      break;
  }
  return otherwise;
}

result<void> peer_stream::flush() {
  while (!is_flushed()) {
    failure e;
    std::size_t const n = socket_.write_some(
        asio::buffer(unsent_.data() + unsent_from_, unsent_.size() - unsent_from_), e);
    if (e && is_would_block(e))
      return {};
    // It did not wait for our goodbye, which says nothing new; but anything before that is lost.
    if (e && has_left_ && has_said_goodbye_ &&
        unsent_.size() - unsent_from_ <= sizeof(wire::frame_header))
      break;
    if (e)
      return lost("has closed its connection");
    unsent_from_ += n;
  }
  unsent_.clear();
  unsent_from_ = 0;
  return {};
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
    deliver(peer_, payload);
    ++delivered;
  }
  return delivered;
}

result<std::size_t> peer_stream::advance(transport_port::sink const& deliver) {
  std::size_t progress = 0;
  if (!is_flushed()) {
    std::size_t const before = unsent_.size() - unsent_from_;
    if (auto const f = flush(); !f)
      return f.error();
    progress += unsent_.size() - unsent_from_ != before ? 1 : 0;
  }
  if (has_left_)
    return progress;
  make_room(receive_bytes / 4);
  failure e;
  std::size_t const n = socket_.read_some(
      asio::buffer(received_.data() + received_to_, received_.size() - received_to_), e);
  if (e && is_would_block(e))
    return progress;
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
