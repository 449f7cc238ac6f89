// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quarry::net {

/// One pe's end of a network inside one address space: the only one under deterministic schedulers.
/// Pes may be polled by different threads.
class in_process final : public transport_port {
public:
  static constexpr char const* name = "in-process";

  /// What the ends share.
  class fabric;
  in_process(std::shared_ptr<fabric> shared, pe self);
  /// Without finish() before, the others see this pe as lost.
  ~in_process() override;

  [[nodiscard]] pe self() const override { return self_; }
  [[nodiscard]] std::uint32_t pe_count() const override;
  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override;
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override;
  [[nodiscard]] bool has_input() override;
  [[nodiscard]] bool has_room(pe target) override;
  void wait(std::chrono::nanoseconds at_most) override;
  void interrupt() override;
  [[nodiscard]] bool is_flushed() override { return true; }
  [[nodiscard]] result<void> finish() override;
  [[nodiscard]] std::uint64_t wire_bytes() const override { return sent_bytes_; }

private:
  std::shared_ptr<fabric> fabric_;
  pe self_;
  std::uint64_t sent_bytes_ = 0;
  bool is_delivering_ = false;  ///< in poll(): of what has come, not all may be heard
  bool is_interrupted_ = false; ///< guarded by the fabric's lock
};

/// The ends of a network of `pe_count` pes, element i being pe i's. Each pair has room for
/// `messages_per_pair` messages; a sender waits for more (back-pressure).
///
/// Errors   std::invalid_argument – no pe, or no room
[[nodiscard]] std::vector<std::unique_ptr<in_process>>
make_in_process(std::uint32_t pe_count, std::size_t messages_per_pair = 8);

} // namespace quarry::net
