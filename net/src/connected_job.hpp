// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace quarry::net {

/// A pe's part in a job in which it is connected with every other one, whatever the connections
/// are: messages to itself, the first error, and how it leaves.
class connected_job {
public:
  using sink = transport_port::sink;

  explicit connected_job(job j);
  virtual ~connected_job();
  connected_job(connected_job const&) = delete;
  connected_job& operator=(connected_job const&) = delete;

  [[nodiscard]] job const& who() const noexcept { return who_; }
  [[nodiscard]] bool is_other(std::size_t id) const noexcept { return id != who_.self.id; }
  /// The first error of a peer: said at every call from then on.
  [[nodiscard]] std::optional<error> const& broken() const noexcept { return broken_; }
  [[nodiscard]] pe culprit() const noexcept { return broken_ ? culprit_ : who_.self; }
  [[nodiscard]] bool has_finished() const noexcept { return has_finished_; }

  void give_up(error why, pe culprit);

  /// What try_send() comes to before it looks at the peer: the caller's mistake, a job that has
  /// failed or ends, a message to itself, which is taken unless too many wait. None: it is for the
  /// peer.
  [[nodiscard]] std::optional<result<bool>>
  sent_without_peer(pe target, std::span<std::byte const> head, std::span<std::byte const> body);
  [[nodiscard]] result<std::size_t> poll(sink const& deliver);
  /// True if there is something to deliver, or to say, that no connection has to be asked for.
  [[nodiscard]] bool has_input() const noexcept { return broken_ || !to_self_.empty(); }
  virtual void wait(std::chrono::nanoseconds at_most) = 0;
  [[nodiscard]] virtual bool is_flushed() = 0;
  /// Says goodbye and waits for the others', within the job's timeout; `name` is the transport's.
  [[nodiscard]] result<void> finish(char const* name);

private:
  /// poll(), of the connections; what goes wrong is given up for.
  virtual std::size_t advance_all(sink const& deliver) = 0;
  virtual void say_goodbye() = 0;
  [[nodiscard]] virtual bool has_left(std::uint32_t id) const = 0;

  job who_;
  std::deque<std::vector<std::byte>> to_self_;
  std::optional<error> broken_;
  pe culprit_{};
  bool is_finishing_ = false;
  bool has_finished_ = false;
};

} // namespace quarry::net
