// SPDX-License-Identifier: Apache-2.0
// SIMT-direct's buffers of some nodes, whose aggregator a test plays.
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/net/gravel_direct.hpp>
#include <quarry/task.hpp>
#include <quarry/yield.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gravel_test {

using namespace quarry::emu;
using namespace quarry::net::gravel;
using quarry::task;
using tail = direct_buffers::tail;

inline constexpr std::uint32_t frame_kind = 77; ///< whatever the network calls a frame of messages

struct message {
  std::uint32_t node;
  std::uint32_t word;
  std::uint64_t value; ///< 0 of an increment
  friend auto operator<=>(message const&, message const&) = default;
};

/// A run of a frame.
struct run {
  std::uint32_t node;
  std::uint32_t tag;
  std::vector<message> messages;
};

/// The messages of runs, sorted.
inline std::vector<message> sorted(std::vector<run> const& runs) {
  std::vector<message> all;
  for (run const& r : runs)
    all.insert(all.end(), r.messages.begin(), r.messages.end());
  std::sort(all.begin(), all.end());
  return all;
}

/// Buffers of some nodes, one more than there are nodes, and who replaces them.
class nodes_buffers {
public:
  nodes_buffers(allocations& known, std::uint32_t nodes, std::size_t words,
                direct_orders const& orders = {})
      : words_(words), storage_(known, (nodes + 1) * words, "storage"),
        direct(known, storage_.global(), nodes + 1, words, nodes, orders), spare_(nodes) {}

  template<class A>
  void open_all(A& self) {
    for (std::uint32_t n = 0; n < direct.node_count(); ++n)
      direct.open(self, n, n, frame_kind);
  }
  /// Takes what a node's buffer holds, and opens another one.
  template<class A>
  task<> replace(A& self, std::uint32_t node) {
    tail const t = direct.seal(self, node);
    static_cast<void>(co_await direct.written(self, t));
    std::vector<std::uint32_t> frame(t.words);
    direct.copy_out(self, t, frame);
    read(frame, node, t);
    direct.open(self, node, std::exchange(spare_, t.buffer), frame_kind);
  }
  /// Until so many messages have come: replaces what is full, and now and then what is not.
  template<class A>
  task<> aggregate(A& self, std::uint64_t count) {
    open_all(self);
    while (message_count < count) {
      for (std::uint32_t n = 0; n < direct.node_count(); ++n) {
        tail const t = direct.look(self, n);
        if (!t.is_sealed && t.is_empty())
          continue;
        task<> done = replace(self, n);
        co_await std::move(done);
      }
      co_await quarry::yield();
    }
  }

private:
  void read(std::vector<std::uint32_t> const& frame, std::uint32_t node, tail const& t) {
    std::size_t at = 1;
    std::uint64_t messages = 0;
    while (at < frame.size()) {
      run r{node, frame.at(at), {}};
      std::size_t const each = package_tag::what(r.tag) == command::increment ? 1 : 3;
      std::uint32_t const count = frame.at(at + 1);
      at += 2;
      for (std::uint32_t i = 0; i < count; ++i, at += each)
        r.messages.push_back(
            {node, frame.at(at),
             each == 1 ? 0 : frame.at(at + 1) | std::uint64_t{frame.at(at + 2)} << 32});
      runs.push_back(r);
      messages += count;
    }
    are_whole = are_whole && frame.at(0) == frame_kind && at == frame.size() &&
                frame.size() <= words_ && messages == t.messages;
    message_count += t.messages;
  }

  std::size_t words_;
  buffer<std::uint32_t> storage_;

public:
  direct_buffers direct;
  std::vector<run> runs; ///< in the order of their frames
  std::uint64_t message_count = 0;
  bool are_whole = true; ///< all frames so far: as long, and with as many messages, as was said

private:
  std::uint32_t spare_;
};

} // namespace gravel_test
