// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/result.hpp>

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace quarry::net {

/// A message that MPI still reads from.
struct mpi_send {
  std::vector<std::uint64_t> words; ///< the kind, then the payload
  MPI_Request request = MPI_REQUEST_NULL;
};

/// `code` as a typed error, unless it is MPI_SUCCESS; `doing` says what MPI was asked for.
[[nodiscard]] result<void> checked(int code, char const* doing);

/// This process's part in the MPI job: started once, left when the process exits.
class mpi_process {
public:
  /// Starts MPI if nobody has; waits until the other processes do so, too.
  [[nodiscard]] static result<mpi_process*> start(std::chrono::milliseconds timeout);

  mpi_process() = default;
  mpi_process(mpi_process const&) = delete;
  mpi_process& operator=(mpi_process const&) = delete;
  /// Waits, within the timeout, until all leave; aborts the job if they do not.
  ~mpi_process();

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

  /// A communicator of the first j.pe_count processes, once all of them are there.
  [[nodiscard]] result<MPI_Comm> meet(job const& j);

  /// Keeps what a network that was given up has left behind: MPI may still read and write there.
  void keep(mpi_send abandoned) { abandoned_.push_back(std::move(abandoned)); }

private:
  result<void> begin();
  result<void> greet(job const& j);

  std::optional<error> broken_;
  bool has_begun_ = false;
  bool is_ours_ = false; ///< MPI_Init was called here, so MPI_Finalize will be
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  MPI_Comm world_ = MPI_COMM_NULL; ///< a duplicate: nobody else's messages are in it
  std::chrono::milliseconds timeout_{10'000};
  std::vector<mpi_send> abandoned_;
};

} // namespace quarry::net
