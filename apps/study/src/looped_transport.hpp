// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/transport_port.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

namespace quarry::study {

/// One node's end of a network that brings everything back to it: what goes to a node comes in as
/// if that node had sent it. So one node sees the traffic of a cluster whose nodes all do the same.
///
/// Source   thesis §3.2.3, Figure 3-8
class looped_transport final : public net::transport_port {
public:
  explicit looped_transport(std::uint32_t pe_count) : pe_count_(pe_count) {}

  [[nodiscard]] net::pe self() const override { return net::pe{0}; }
  [[nodiscard]] std::uint32_t pe_count() const override { return pe_count_; }
  [[nodiscard]] result<bool> try_send(net::pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override {
    if (under_way_.size() >= most_under_way)
      return false;
    message m{target, {}, head.size() + body.size()};
    m.words.resize((m.bytes + 7) / 8);
    auto* const to = reinterpret_cast<std::byte*>(m.words.data());
    if (!head.empty())
      std::memcpy(to, head.data(), head.size());
    if (!body.empty())
      std::memcpy(to + head.size(), body.data(), body.size());
    wire_bytes_ += m.bytes;
    under_way_.push_back(std::move(m));
    return true;
  }
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override {
    std::size_t const count = under_way_.size();
    for (std::size_t i = 0; i < count; ++i) {
      message const m = std::move(under_way_.front());
      under_way_.pop_front();
      deliver(m.from, std::as_bytes(std::span(m.words)).first(m.bytes));
    }
    return count;
  }
  [[nodiscard]] bool has_input() override { return !under_way_.empty(); }
  [[nodiscard]] bool has_room(net::pe) override { return under_way_.size() < most_under_way; }
  void wait(std::chrono::nanoseconds) override {}
  [[nodiscard]] bool is_flushed() override { return true; }
  [[nodiscard]] result<void> finish() override { return {}; }
  [[nodiscard]] std::uint64_t wire_bytes() const override { return wire_bytes_; }

private:
  static constexpr std::size_t most_under_way = 256;
  struct message {
    net::pe from;
    std::vector<std::uint64_t> words; ///< 8-byte aligned
    std::size_t bytes;
  };
  std::uint32_t pe_count_;
  std::deque<message> under_way_;
  std::uint64_t wire_bytes_ = 0;
};

} // namespace quarry::study
