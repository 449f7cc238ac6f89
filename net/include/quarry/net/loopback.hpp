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

/// TCP between processes of one machine: every pair of pes has a connection on 127.0.0.1.
///
/// A connection begins with a greeting that carries the job's token, the version and the pe; who
/// does not know the token is sent away, is said so once on standard error, and holds nobody up.
/// Frames are length-checked and numbered; a peer that sends anything else loses its connection,
/// and the job ends with that error. Data is received without blocking; wait() blocks.
///
/// Shape    max_message_bytes a message; about 256 KiB of buffers a peer
/// Errors   of open(): forbidden_address, port_in_use, timeout (naming the missing pes), a
/// std::errc
class loopback final : public transport_port {
public:
  static constexpr char const* name = "loopback";

  /// Connects to all pes of the job, within its timeout. Takes j.listen_fd, and closes it also when
  /// it fails, unless that is no listening socket at all.
  [[nodiscard]] static result<std::unique_ptr<loopback>> open(job const& j);
  /// Without finish() before, the others see this pe as lost.
  ~loopback() override;

  [[nodiscard]] pe self() const override;
  [[nodiscard]] std::uint32_t pe_count() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override;
  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override;
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override;
  /// Of what peers sent only poll() can tell: true for messages to oneself and for a known error.
  [[nodiscard]] bool has_input() override;
  [[nodiscard]] bool has_room(pe) override { return true; } // only try_send() can tell
  void wait(std::chrono::nanoseconds at_most) override;
  void interrupt() override;
  [[nodiscard]] bool is_flushed() override;
  /// Says goodbye and waits for the others', within the job's timeout. Messages that still come are
  /// dropped: who finishes has seen to it that none is under way, with a barrier.
  [[nodiscard]] result<void> finish() override;
  [[nodiscard]] std::uint64_t wire_bytes() const override;

private:
  struct state;
  explicit loopback(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

} // namespace quarry::net
