// SPDX-License-Identifier: Apache-2.0
#include "connected_job.hpp"
#include "farewell.hpp"
#include "greeting.hpp"
#include "peer_stream.hpp"
#include "socket_watch.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/loopback.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace quarry::net {

static_assert(transport<loopback>);

namespace {
using clock = std::chrono::steady_clock;
} // namespace

struct loopback::state final : connected_job {
  using connected_job::connected_job;

  boost::asio::io_context io;
  std::vector<peer_stream> peers; ///< element self is never used
  socket_watch sockets;

  std::size_t advance_all(sink const& deliver) override {
    std::size_t got = 0;
    auto const those = sockets.readable();
    if (!those.empty()) // a copy: who is delivered to may poll
      for (std::uint32_t const p : std::vector(those.begin(), those.end()))
        got += advance(peers[p], deliver);
    for (peer_stream& p : peers)
      if (!p.is_flushed())
        got += advance(p, deliver);
    return got;
  }

  std::size_t advance(peer_stream& p, sink const& deliver) {
    if (broken())
      return 0;
    bool const had_left = p.has_left();
    auto const moved = p.advance(deliver);
    if (!moved) {
      give_up(moved.error(), p.culprit()); // who sends while something is delivered may have
      return culprit() == p.peer() ? 0 : hear_out(culprit(), deliver);
    }
    if (p.has_left() && !had_left)
      sockets.forget(p.peer().id);
    return *moved;
  }
  /// What one of whose loss another one tells has said before it went: perhaps why.
  std::size_t hear_out(pe gone, sink const& deliver) {
    std::size_t got = 0;
    for (int reads = 0; reads < 64 && gone.id < peers.size() && is_other(gone.id); ++reads) {
      auto const moved = peers[gone.id].advance(deliver);
      if (!moved || *moved == 0)
        break;
      got += *moved;
    }
    return got;
  }

  void wait(std::chrono::nanoseconds at_most) override {
    if (has_input())
      return;
    for (peer_stream const& p : peers)
      if (is_other(p.peer().id) && !p.has_left())
        sockets.want_room(p.peer().id, !p.is_flushed());
    sockets.wait(at_most); // an error shows at the next poll(); here it only ends the wait
  }

  void say_goodbye() override {
    for (peer_stream& p : peers)
      if (is_other(p.peer().id))
        p.say_goodbye();
  }

  /// Says to all that this pe goes, and because of whom: otherwise they would blame it. To who is
  /// in the middle of a frame the rest of that goes before, for which there may be no room yet.
  void abandon() {
    auto const deadline = clock::now() + farewell_patience;
    for (;;) {
      bool all_know = true;
      for (peer_stream& p : peers)
        if (is_other(p.peer().id) && !(broken() && p.peer() == culprit()))
          all_know = p.say_lost(culprit()) && all_know;
      if (all_know || clock::now() > deadline)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  [[nodiscard]] bool is_flushed() override {
    return std::all_of(peers.begin(), peers.end(),
                       [](peer_stream const& p) { return p.is_flushed(); });
  }
  [[nodiscard]] bool has_left(std::uint32_t id) const override { return peers[id].has_left(); }
};

loopback::loopback(std::unique_ptr<state> s) : state_(std::move(s)) {}
loopback::~loopback() {
  if (!state_->has_finished())
    state_->abandon();
}

result<std::unique_ptr<loopback>> loopback::open(job const& j) {
  auto s = std::make_unique<state>(j);
  auto sockets = meet(s->io, j);
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
  return state_->who().self;
}
std::uint32_t loopback::pe_count() const {
  return state_->who().pe_count;
}
std::chrono::milliseconds loopback::timeout() const {
  return state_->who().timeout;
}

result<bool> loopback::try_send(pe target, std::span<std::byte const> head,
                                std::span<std::byte const> body) {
  if (auto const done = state_->sent_without_peer(target, head, body))
    return *done;
  peer_stream& to = state_->peers[target.id];
  auto const sent = to.try_send(wire::frame_kind::message, head, body);
  if (!sent && !to.has_left()) // who has left in order has broken nothing
    state_->give_up(sent.error(), target);
  return sent;
}

result<std::size_t> loopback::poll(sink const& deliver) {
  return state_->poll(deliver);
}

void loopback::wait(std::chrono::nanoseconds at_most) {
  state_->wait(at_most);
}

void loopback::interrupt() {
  state_->sockets.interrupt();
}

bool loopback::has_input() {
  return state_->has_input();
}

bool loopback::is_flushed() {
  return state_->is_flushed();
}

result<void> loopback::finish() {
  return state_->finish(name);
}

std::uint64_t loopback::wire_bytes() const {
  std::uint64_t bytes = 0;
  for (peer_stream const& p : state_->peers)
    bytes += p.sent_bytes();
  return bytes;
}

} // namespace quarry::net
