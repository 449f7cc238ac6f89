// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::net {

mpi::mpi(std::unique_ptr<state> s) : state_(std::move(s)) {}

mpi::~mpi() {
  int is_over = 0;
  if (MPI_Finalized(&is_over) != MPI_SUCCESS || is_over != 0)
    return;
  // Without finish() the communicator stays: to free it might wait for the others.
  if (state_->has_finished())
    MPI_Comm_free(&state_->network);
  else
    state_->abandon();
}

bool mpi::is_available() noexcept {
  return true;
}

result<job> mpi::find_job(std::chrono::milliseconds timeout) {
  auto const process = mpi_process::start(timeout);
  if (!process)
    return process.error();
  job j;
  j.self = pe{(*process)->rank()};
  j.pe_count = (*process)->size();
  j.timeout = timeout;
  return j;
}

result<std::unique_ptr<mpi>> mpi::open(job const& j) {
  auto const process = mpi_process::start(j.timeout);
  if (!process)
    return process.error();
  mpi_process& here = **process;
  if (j.pe_count == 0 || j.pe_count > here.size() || j.self.id >= j.pe_count ||
      j.self.id != here.rank())
    return make_error(
        net_errc::no_such_pe,
        fmt::format("mpi: {} of {} cannot be opened by process {} of an MPI job of {}",
                    to_string(j.self), j.pe_count, here.rank(), here.size()));
  auto const network = here.meet(j);
  if (!network)
    return network.error();
  auto s = std::make_unique<state>(here, j, *network);
  return std::unique_ptr<mpi>(new mpi(std::move(s)));
}

pe mpi::self() const {
  return state_->who().self;
}
std::uint32_t mpi::pe_count() const {
  return state_->who().pe_count;
}
std::chrono::milliseconds mpi::timeout() const {
  return state_->who().timeout;
}

result<bool> mpi::try_send(pe target, std::span<std::byte const> head,
                           std::span<std::byte const> body) {
  state& s = *state_;
  if (auto const done = s.sent_without_peer(target, head, body))
    return *done;
  if (s.peers[target.id].has_left && !s.broken())
    return make_error(net_errc::peer_lost,
                      fmt::format("mpi: {} has left the job", to_string(target)));
  std::size_t const bytes = head.size() + body.size();
  std::size_t const count = 1 + (bytes + 7) / 8;
  s.end_sends(target.id);
  if (!s.broken() && !s.has_room(target.id, count))
    return false;
  if (!s.broken()) {
    std::vector<std::uint64_t> w = s.pool.take(count);
    w[0] = static_cast<std::uint64_t>(mpi_kind::message);
    auto const to = std::as_writable_bytes(std::span(w)).subspan(sizeof(mpi_kind));
    std::copy(body.begin(), body.end(), std::copy(head.begin(), head.end(), to.begin()));
    s.send(target.id, std::move(w), sizeof(mpi_kind) + bytes);
  }
  if (s.broken())
    return *s.broken();
  return true;
}

result<std::size_t> mpi::poll(sink const& deliver) {
  auto const got = state_->poll(deliver);
  if (got && *got != 0)
    state_->moved_at = std::chrono::steady_clock::now();
  return got;
}

bool mpi::has_input() {
  return state_->has_input();
}

bool mpi::has_room(pe target) {
  if (target.id >= state_->peers.size() || target == state_->who().self ||
      state_->peers[target.id].has_left)
    return true; // try_send() has more to say
  state_->end_sends(target.id);
  return state_->has_room(target.id, 1);
}

void mpi::wait(std::chrono::nanoseconds at_most) {
  state_->wait(at_most);
}

void mpi::interrupt() {
  std::lock_guard const lock(state_->interruption);
  state_->is_interrupted = true;
  state_->has_changed.notify_all();
}

bool mpi::is_flushed() {
  return state_->is_flushed();
}

result<void> mpi::finish() {
  return state_->finish(name);
}

std::uint64_t mpi::wire_bytes() const {
  return state_->sent_bytes;
}

} // namespace quarry::net
