// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/result.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace quarry::net {

/// Any transport, behind one virtual call a message: what a network interface drives.
///
/// One thread at a time: whoever calls enters with try_enter() first, and leaves.
class transport_port {
public:
  using sink = std::function<void(pe source, std::span<std::byte const> message)>;

  virtual ~transport_port() = default;
  [[nodiscard]] virtual pe self() const = 0;
  [[nodiscard]] virtual std::uint32_t pe_count() const = 0;
  /// How long its pes wait for each other, unless they have been told otherwise: the job's timeout.
  [[nodiscard]] virtual std::chrono::milliseconds timeout() const { return job{}.timeout; }

  /// Takes the message `head` + `body` for `target`; false: no room now, or a pe is lost whose last
  /// messages poll() has not delivered: poll() and try again. The bytes may be reused on return.
  [[nodiscard]] virtual result<bool> try_send(pe target, std::span<std::byte const> head,
                                              std::span<std::byte const> body) = 0;
  /// Makes progress and delivers what has come. Gives how much that was; 0: nothing to do.
  /// `deliver` must not throw, but to end an execution: messages would be lost.
  [[nodiscard]] virtual result<std::size_t> poll(sink const& deliver) = 0;
  /// True if poll() would deliver something; may be false too often where only poll() can tell.
  [[nodiscard]] virtual bool has_input() = 0;
  /// False if try_send() would find no room now. True too often where only try_send() can tell,
  /// and for a pe that does not exist: nobody should wait for its room.
  [[nodiscard]] virtual bool has_room(pe target) = 0;
  /// Blocks until something may have come, at most so long.
  virtual void wait(std::chrono::nanoseconds at_most) = 0;
  /// From any thread, without entering: the wait() that somebody is in, or else the next one,
  /// returns soon. By default it returns when its time is over.
  virtual void interrupt() {}
  /// True if all that was taken has left.
  [[nodiscard]] virtual bool is_flushed() = 0;
  /// Leaves the job in order. What has come and was not delivered is dropped.
  [[nodiscard]] virtual result<void> finish() = 0;
  /// Bytes sent to other pes, headers included.
  [[nodiscard]] virtual std::uint64_t wire_bytes() const = 0;

  [[nodiscard]] bool try_enter() noexcept {
    // Acquire and release: who enters sees what who left did.
    return !is_entered_.exchange(true, std::memory_order_acquire);
  }
  void leave() noexcept { is_entered_.store(false, std::memory_order_release); }

private:
  std::atomic<bool> is_entered_{false};
};

} // namespace quarry::net
