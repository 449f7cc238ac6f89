// SPDX-License-Identifier: Apache-2.0
#include "awake_time.hpp"
#include "farewell.hpp"
#include "greeting.hpp"
#include "named_pes.hpp"
#include "peer_stream.hpp"
#include "sending.hpp"
#include "socket_watch.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/loopback.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

namespace quarry::net {

static_assert(transport<loopback>);

namespace {
using clock = std::chrono::steady_clock;
} // namespace

struct loopback::state {
  boost::asio::io_context io;
  job who;
  std::vector<peer_stream> peers; ///< element self is never used
  std::deque<std::vector<std::byte>> to_self;
  std::optional<error> broken; ///< the first error of a peer: said at every call from then on
  pe lost{};                   ///< if broken: who is to blame
  bool is_finishing = false;
  bool has_finished = false;
  socket_watch sockets;

  result<std::size_t> poll(sink const& deliver) {
    std::size_t got = 0;
    // What is sent to oneself meanwhile comes next time: a message that sends the next is no hang.
    for (std::size_t const there = to_self.size(); got < there; ++got) {
      std::vector<std::byte> const message = std::move(to_self.front());
      to_self.pop_front();
      deliver(who.self, message);
    }
    for (std::uint32_t const p : sockets.readable())
      got += advance(peers[p], deliver);
    for (peer_stream& p : peers)
      if (!p.is_flushed())
        got += advance(p, deliver);
    if (broken)
      return *broken;
    return got;
  }

  std::size_t advance(peer_stream& p, sink const& deliver) {
    if (broken)
      return 0;
    bool const had_left = p.has_left();
    auto const moved = p.advance(deliver);
    if (!moved) {
      if (!broken) { // by who sends while something is delivered
        broken = moved.error();
        lost = p.culprit();
      }
      return lost == p.peer() ? 0 : hear_out(lost, deliver);
    }
    if (p.has_left() && !had_left)
      sockets.forget(p.peer().id);
    return *moved;
  }
  /// What one of whose loss another one tells has said before it went: perhaps why.
  std::size_t hear_out(pe gone, sink const& deliver) {
    std::size_t got = 0;
    for (int reads = 0; reads < 64 && gone.id < peers.size() && gone != who.self; ++reads) {
      auto const moved = peers[gone.id].advance(deliver);
      if (!moved || *moved == 0)
        break;
      got += *moved;
    }
    return got;
  }

  /// Says to all that this pe goes, and because of whom: otherwise they would blame it. To who is
  /// in the middle of a frame the rest of that goes before, for which there may be no room yet.
  void abandon() {
    auto const deadline = clock::now() + farewell_patience;
    for (;;) {
      bool all_know = true;
      for (peer_stream& p : peers)
        if (p.peer() != who.self && !(broken && p.peer() == lost))
          all_know = p.say_lost(broken ? lost : who.self) && all_know;
      if (all_know || clock::now() > deadline)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  [[nodiscard]] bool is_flushed() const {
    return std::all_of(peers.begin(), peers.end(),
                       [](peer_stream const& p) { return p.is_flushed(); });
  }
  [[nodiscard]] bool have_all_left() const {
    for (std::size_t i = 0; i < peers.size(); ++i)
      if (i != who.self.id && !peers[i].has_left())
        return false;
    return true;
  }
  [[nodiscard]] std::string still_here() const {
    return named_pes(static_cast<std::uint32_t>(peers.size()),
                     [this](std::uint32_t i) { return i != who.self.id && !peers[i].has_left(); });
  }
};

loopback::loopback(std::unique_ptr<state> s) : state_(std::move(s)) {}
loopback::~loopback() {
  if (!state_->has_finished)
    state_->abandon();
}

result<std::unique_ptr<loopback>> loopback::open(job const& j) {
  auto s = std::make_unique<state>();
  s->who = j;
  auto sockets = meet(s->io, s->who);
  if (!sockets)
    return sockets.error();
  for (std::uint32_t i = 0; i < j.pe_count; ++i) {
    auto& p = s->peers.emplace_back(std::move((*sockets)[i]), pe{i});
    if (i != j.self.id)
      if (auto const ready = p.prepare(); !ready)
        return ready.error();
  }
  std::vector<int> descriptors;
  for (peer_stream& p : s->peers)
    descriptors.push_back(p.peer() == j.self ? -1 : p.descriptor());
  if (auto const watched = s->sockets.open(descriptors); !watched)
    return watched.error();
  return std::unique_ptr<loopback>(new loopback(std::move(s)));
}

pe loopback::self() const {
  return state_->who.self;
}
std::uint32_t loopback::pe_count() const {
  return state_->who.pe_count;
}
std::chrono::milliseconds loopback::timeout() const {
  return state_->who.timeout;
}

result<bool> loopback::try_send(pe target, std::span<std::byte const> head,
                                std::span<std::byte const> body) {
  state& s = *state_;
  if (auto const done = sent_without_peer(s, target, head, body))
    return *done;
  peer_stream& to = s.peers[target.id];
  auto const sent = to.try_send(wire::frame_kind::message, head, body);
  if (!sent && !to.has_left()) { // who has left in order has broken nothing
    s.broken = sent.error();
    s.lost = target;
  }
  return sent;
}

result<std::size_t> loopback::poll(sink const& deliver) {
  if (state_->broken)
    return *state_->broken;
  return state_->poll(deliver);
}

void loopback::wait(std::chrono::nanoseconds at_most) {
  state& s = *state_;
  if (has_input())
    return;
  for (peer_stream const& p : s.peers)
    if (p.peer() != s.who.self && !p.has_left())
      s.sockets.want_room(p.peer().id, !p.is_flushed());
  s.sockets.wait(at_most); // an error shows at the next poll(); here it only ends the wait
}

void loopback::interrupt() {
  state_->sockets.interrupt();
}

bool loopback::has_input() {
  return state_->broken || !state_->to_self.empty();
}

bool loopback::is_flushed() {
  return state_->is_flushed();
}

result<void> loopback::finish() {
  state& s = *state_;
  if (s.broken)
    return *s.broken;
  if (s.has_finished)
    return {};
  awake_time wait_for_all(s.who.timeout);
  s.is_finishing = true;
  for (peer_stream& p : s.peers)
    if (p.peer() != s.who.self)
      p.say_goodbye();
  while (!s.is_flushed() || !s.have_all_left()) {
    auto const got = s.poll([](pe, std::span<std::byte const>) {});
    if (!got)
      return got.error();
    if (wait_for_all.is_over())
      return make_error(net_errc::timeout,
                        fmt::format("loopback: {} did not say goodbye within {} ms", s.still_here(),
                                    s.who.timeout.count()));
    if (*got == 0)
      wait(std::chrono::milliseconds(1));
  }
  s.has_finished = true;
  return {};
}

std::uint64_t loopback::wire_bytes() const {
  std::uint64_t bytes = 0;
  for (peer_stream const& p : state_->peers)
    bytes += p.sent_bytes();
  return bytes;
}

} // namespace quarry::net
