// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"

#include <quarry/net/mpi.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
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

struct mpi::state {
  mpi_process& process;
  job who;
  MPI_Comm network;
  std::vector<mpi_peer> peers; ///< element self is never used
  std::deque<std::vector<std::byte>> to_self{};
  word_pool pool{};
  std::optional<error> broken{}; ///< the first error of a peer: said at every call from then on
  pe lost{};                     ///< if broken: who is to blame
  bool is_finishing = false;
  bool has_finished = false;
  std::uint64_t sent_bytes = 0;
  /// When something last came or went: who waits for long looks less often.
  std::chrono::steady_clock::time_point moved_at = std::chrono::steady_clock::now();
  std::mutex interruption{}; ///< guards what follows, of interrupt()
  std::condition_variable has_changed{};
  bool is_interrupted = false;

  [[nodiscard]] bool is_other(std::size_t id) const { return id != who.self.id; }

  /// Whether `code` is MPI_SUCCESS; if not, `culprit` is blamed.
  bool expect(int code, pe culprit, char const* doing);
  void give_up(error why, pe culprit);

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
  result<std::size_t> poll(sink const& deliver);

  [[nodiscard]] bool is_flushed();
  /// Whether poll() or try_send() may have something to do that they had not.
  [[nodiscard]] bool has_news();
  [[nodiscard]] std::string still_here() const;
  /// Sleeps so long, or until it is interrupted. True if it was, before or now.
  [[nodiscard]] bool pause(std::chrono::nanoseconds at_most);
  /// Says to all that this pe is gone, and because of whom.
  void abandon();
};

} // namespace quarry::net
