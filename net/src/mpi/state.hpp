// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../connected_job.hpp"
#include "process.hpp"

#include <quarry/net/mpi.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace quarry::net {

/// The first word of what goes over MPI; `lost` carries in a second word who it was.
enum class mpi_kind : std::uint64_t { message = 1, goodbye, lost };

/// A message that MPI still writes to.
struct mpi_receive {
  std::vector<std::uint64_t> words;
  std::size_t bytes = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// What is under way between this pe and another.
struct mpi_peer {
  std::deque<mpi_send> sends;
  std::size_t send_words = 0; ///< of `sends`
  std::deque<mpi_receive> receives;
  bool has_left = false;
};

/// Memory of messages, used again.
class word_pool {
public:
  [[nodiscard]] std::vector<std::uint64_t> take(std::size_t count);
  void give(std::vector<std::uint64_t>&& words);

private:
  std::vector<std::vector<std::uint64_t>> spare_;
};

struct mpi::state final : connected_job {
  state(mpi_process& p, job const& j, MPI_Comm n)
      : connected_job(j), process(p), network(n), peers(j.pe_count) {}

  mpi_process& process;
  MPI_Comm network;
  std::vector<mpi_peer> peers; ///< element self is never used
  word_pool pool{};
  std::uint64_t sent_bytes = 0;
  /// When something last came or went: who waits for long looks less often.
  std::chrono::steady_clock::time_point moved_at = std::chrono::steady_clock::now();
  std::mutex interruption{}; ///< guards what follows, of interrupt()
  std::condition_variable has_changed{};
  bool is_interrupted = false;

  /// Whether `code` is MPI_SUCCESS; if not, `culprit` is blamed.
  bool expect(int code, pe culprit, char const* doing);

  /// Takes back the sends to `id` that are over.
  void end_sends(std::size_t id);
  [[nodiscard]] bool has_room(std::size_t id, std::size_t count) const;
  /// Hands `words` to MPI, whether or not there is room.
  void send(std::size_t id, std::vector<std::uint64_t> words, std::size_t bytes);

  /// Begins to receive what has come.
  void accept();
  /// True if the first message from `id` is here whole.
  bool is_here(std::size_t id);
  void take(pe source, mpi_receive const& one, sink const& deliver);
  std::size_t advance_all(sink const& deliver) override;

  [[nodiscard]] bool is_flushed() override;
  /// Whether poll() or try_send() may have something to do that they had not.
  [[nodiscard]] bool has_news();
  void wait(std::chrono::nanoseconds at_most) override;
  /// Sleeps so long, or until it is interrupted. True if it was, before or now.
  [[nodiscard]] bool pause(std::chrono::nanoseconds at_most);
  void say_goodbye() override;
  [[nodiscard]] bool has_left(std::uint32_t id) const override { return peers[id].has_left; }
  /// Says to all that this pe is gone, and because of whom.
  void abandon();
};

} // namespace quarry::net
