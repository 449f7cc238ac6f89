// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/net/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace quarry::net {

/// MPI between the processes that mpirun has started: a pe each, numbered as in MPI_COMM_WORLD.
///
/// Each network has a communicator of its own, so nothing of it mixes with what else the program
/// does with MPI. Sends are synchronous in MPI's sense: who does not poll is soon sent nothing
/// more. A pe that leaves without finish() is lost to the others; of a process that dies mpirun
/// ends the whole job. A build without MPI has this class as well, and open() says so.
///
/// MPI is started at the first need, with MPI_THREAD_SERIALIZED, and left when the process exits;
/// if the others do not come to leave within the timeout, the job is aborted.
///
/// Shape    at most 8 messages or 256 KiB on their way to a peer
/// Errors   of open() and find_job(): bad_environment – not started by mpirun, or no MPI in this
///          build; timeout, naming the missing pes; peer_lost – what MPI itself reports
class mpi final : public transport_port {
public:
  static constexpr char const* name = "mpi";

  /// Whether this build has it.
  [[nodiscard]] static bool is_available() noexcept;
  /// Whether mpirun (or srun) has started this process, whatever this build has.
  [[nodiscard]] static bool is_launched() noexcept;

  /// Which process this is of how many, with `timeout`; no token and no endpoints. Starts MPI,
  /// which waits for the other processes to do so.
  [[nodiscard]] static result<job> find_job(std::chrono::milliseconds timeout);

  /// Connects the first j.pe_count processes of the MPI job, within its timeout; each of them calls
  /// this. j.self is this process.
  ///
  /// Errors   no_such_pe – this process is another pe, or not one of them; there are not so many
  [[nodiscard]] static result<std::unique_ptr<mpi>> open(job const& j);
  /// Without finish() before, the others see this pe as lost.
  ~mpi() override;

  [[nodiscard]] pe self() const override;
  [[nodiscard]] std::uint32_t pe_count() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override;
  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override;
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override;
  /// Of what peers sent only poll() can tell: true for messages to oneself and for a known error.
  [[nodiscard]] bool has_input() override;
  [[nodiscard]] bool has_room(pe target) override;
  /// Polls, less and less often: MPI has no wait with an end.
  void wait(std::chrono::nanoseconds at_most) override;
  void interrupt() override;
  [[nodiscard]] bool is_flushed() override;
  /// Says goodbye and waits for the others', within the job's timeout. Messages that still come are
  /// dropped: who finishes has seen to it that none is under way, with a barrier.
  [[nodiscard]] result<void> finish() override;
  [[nodiscard]] std::uint64_t wire_bytes() const override;

private:
  struct state;
  explicit mpi(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

} // namespace quarry::net
