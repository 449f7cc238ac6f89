// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

#include "../farewell.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace quarry::net {
namespace {

using clock = std::chrono::steady_clock;

constexpr clock::duration yields_for =
    std::chrono::microseconds(100); // of a wait in which nothing comes
constexpr clock::duration longest_pause = std::chrono::milliseconds(40);

constexpr int tag = 2;
constexpr std::size_t most_sends = 8;
constexpr std::size_t most_send_words = 256 * 1024 / sizeof(std::uint64_t);

} // namespace

std::vector<std::uint64_t> word_pool::take(std::size_t count) {
  std::vector<std::uint64_t> words;
  if (!spare_.empty()) {
    words = std::move(spare_.back());
    spare_.pop_back();
  }
  words.resize(count);
  return words;
}

void word_pool::give(std::vector<std::uint64_t>&& words) {
  constexpr std::size_t most = 64;
  if (spare_.size() < most)
    spare_.push_back(std::move(words));
}

bool mpi::state::expect(int code, pe culprit, char const* doing) {
  auto const done = checked(code, doing);
  if (done)
    return true;
  give_up({done.error().code, fmt::format("{} ({})", done.error().what, to_string(culprit))},
          culprit);
  return false;
}

void mpi::state::end_sends(std::size_t id) {
  mpi_peer& p = peers[id];
  while (!p.sends.empty()) {
    int is_over = 0;
    if (!expect(MPI_Test(&p.sends.front().request, &is_over, MPI_STATUS_IGNORE),
                pe{static_cast<std::uint32_t>(id)}, "sending"))
      return;
    if (is_over == 0)
      return;
    p.send_words -= p.sends.front().words.size();
    pool.give(std::move(p.sends.front().words));
    p.sends.pop_front();
  }
}

bool mpi::state::has_room(std::size_t id, std::size_t count) const {
  mpi_peer const& p = peers[id];
  return p.sends.empty() ||
         (p.sends.size() < most_sends && p.send_words + count <= most_send_words);
}

void mpi::state::send(std::size_t id, std::vector<std::uint64_t> w, std::size_t bytes) {
  mpi_peer& p = peers[id];
  p.send_words += w.size();
  mpi_send& one = p.sends.emplace_back(mpi_send{.words = std::move(w)});
  // Synchronous: it is over when it is matched, so that who does not poll is sent nothing more. But
  // who says that it is lost is not there to see it matched.
  bool const is_last = one.words[0] == static_cast<std::uint64_t>(mpi_kind::lost);
  auto const code =
      (is_last ? MPI_Isend : MPI_Issend)(one.words.data(), static_cast<int>(bytes), MPI_BYTE,
                                         static_cast<int>(id), tag, network, &one.request);
  if (!expect(code, pe{static_cast<std::uint32_t>(id)}, "sending")) {
    p.send_words -= one.words.size();
    p.sends.pop_back();
    return;
  }
  sent_bytes += bytes;
  moved_at = clock::now();
}

void mpi::state::accept() {
  constexpr int most = 64; // a poll() has an end
  for (int i = 0; i < most && !broken(); ++i) {
    int has_come = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (!expect(MPI_Improbe(MPI_ANY_SOURCE, tag, network, &has_come, &message, &status), who().self,
                "receiving") ||
        has_come == 0)
      return;
    auto const source = static_cast<std::uint32_t>(status.MPI_SOURCE);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    mpi_receive& one = peers[source].receives.emplace_back();
    one.bytes = static_cast<std::size_t>(bytes);
    one.words = pool.take((one.bytes + 7) / 8);
    if (!expect(MPI_Imrecv(one.words.data(), bytes, MPI_BYTE, &message, &one.request), pe{source},
                "receiving"))
      peers[source].receives.pop_back();
  }
}

bool mpi::state::is_here(std::size_t id) {
  auto& receives = peers[id].receives;
  int is_over = 0;
  return !receives.empty() &&
         expect(MPI_Test(&receives.front().request, &is_over, MPI_STATUS_IGNORE),
                pe{static_cast<std::uint32_t>(id)}, "receiving") &&
         is_over != 0;
}

void mpi::state::take(pe source, mpi_receive const& one, sink const& deliver) {
  if (one.bytes < sizeof(mpi_kind))
    return give_up(make_error(net_errc::bad_frame,
                              fmt::format("{} sent {} bytes; at least {}", to_string(source),
                                          one.bytes, sizeof(mpi_kind))),
                   source);
  switch (static_cast<mpi_kind>(one.words[0])) {
  case mpi_kind::message:
    return deliver(source, std::as_bytes(std::span(one.words)).subspan(8).first(one.bytes - 8));
  case mpi_kind::goodbye:
    peers[source.id].has_left = true;
    return;
  case mpi_kind::lost: {
    pe const culprit{static_cast<std::uint32_t>(one.words.back())};
    return give_up(make_error(net_errc::peer_lost,
                              fmt::format("{} left without finishing", to_string(culprit))),
                   culprit);
  }
  }
  give_up(make_error(net_errc::bad_frame,
                     fmt::format("{} sent a message of kind {}", to_string(source), one.words[0])),
          source);
}

std::size_t mpi::state::advance_all(sink const& deliver) {
  std::size_t got = 0;
  accept();
  for (std::size_t i = 0; i < peers.size() && !broken(); ++i) {
    end_sends(i);
    while (!broken() && is_here(i)) {
      // Out of the list first: who is delivered to may send, and poll.
      mpi_receive one = std::move(peers[i].receives.front());
      peers[i].receives.pop_front();
      take(pe{static_cast<std::uint32_t>(i)}, one, deliver);
      pool.give(std::move(one.words));
      ++got;
    }
  }
  return got;
}

bool mpi::state::is_flushed() {
  bool all = true;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    end_sends(i);
    all &= peers[i].sends.empty();
  }
  return all;
}
bool mpi::state::has_news() {
  int has_come = 0;
  if (!expect(MPI_Iprobe(MPI_ANY_SOURCE, tag, network, &has_come, MPI_STATUS_IGNORE), who().self,
              "receiving"))
    return true;
  for (std::size_t i = 0; i < peers.size() && has_come == 0; ++i) {
    auto const before = peers[i].sends.size();
    end_sends(i);
    has_come |= static_cast<int>(peers[i].sends.size() < before || is_here(i));
  }
  return has_come != 0 || has_input();
}

bool mpi::state::pause(std::chrono::nanoseconds at_most) {
  std::unique_lock lock(interruption);
  has_changed.wait_for(lock, at_most, [this] { return is_interrupted; });
  return std::exchange(is_interrupted, false);
}

void mpi::state::wait(std::chrono::nanoseconds at_most) {
  auto const deadline = clock::now() + at_most;
  for (auto now = clock::now(); !has_news() && now < deadline; now = clock::now()) {
    auto const quiet = now - moved_at;
    if (quiet < yields_for)
      std::this_thread::yield();
    // Others need the core: processes of a job may be more than the machine has. What comes is
    // late by a small part of the time in which nothing came.
    else if (pause(std::min({quiet / 8, longest_pause, deadline - now})))
      return;
  }
}

void mpi::state::say_goodbye() {
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (is_other(i))
      send(i, {static_cast<std::uint64_t>(mpi_kind::goodbye)}, sizeof(mpi_kind));
}

void mpi::state::abandon() {
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (is_other(i) && !peers[i].has_left)
      send(i, {static_cast<std::uint64_t>(mpi_kind::lost), culprit().id}, 16);
  auto const deadline = clock::now() + farewell_patience;
  while (!is_flushed() && clock::now() < deadline)
    std::this_thread::yield();
  for (mpi_peer& p : peers) {
    for (mpi_send& one : p.sends)
      process.keep(std::move(one));
    for (mpi_receive& one : p.receives)
      process.keep({.words = std::move(one.words), .request = one.request});
  }
}

} // namespace quarry::net
