// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/error.hpp>
#include <quarry/net/transport_port.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace quarry_test {

/// A transport that does what the real one does, for those that differ in something.
class forwarding_port : public quarry::net::transport_port {
public:
  using pe = quarry::net::pe;
  explicit forwarding_port(std::unique_ptr<transport_port> real) : real_(std::move(real)) {}

  [[nodiscard]] pe self() const override { return real_->self(); }
  [[nodiscard]] std::uint32_t pe_count() const override { return real_->pe_count(); }
  [[nodiscard]] quarry::result<bool> try_send(pe target, std::span<std::byte const> head,
                                              std::span<std::byte const> body) override {
    return real_->try_send(target, head, body);
  }
  [[nodiscard]] quarry::result<std::size_t> poll(sink const& deliver) override {
    return real_->poll(deliver);
  }
  [[nodiscard]] bool has_input() override { return real_->has_input(); }
  [[nodiscard]] bool has_room(pe target) override { return real_->has_room(target); }
  void wait(std::chrono::nanoseconds at_most) override { real_->wait(at_most); }
  void interrupt() override { real_->interrupt(); }
  [[nodiscard]] bool is_flushed() override { return real_->is_flushed(); }
  [[nodiscard]] quarry::result<void> finish() override { return real_->finish(); }
  [[nodiscard]] std::uint64_t wire_bytes() const override { return real_->wire_bytes(); }

private:
  std::unique_ptr<transport_port> real_;
};

} // namespace quarry_test
