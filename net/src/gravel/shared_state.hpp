// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame.hpp"

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/emu/mpmc_queue.hpp>
#include <quarry/emu/spsc_queue.hpp>
#include <quarry/net/error.hpp>
#include <quarry/net/gravel.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/report.hpp>
#include <quarry/result.hpp>
#include <quarry/scheduler.hpp>

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

namespace quarry::net::gravel {

/// What an aggregator hands to the network interface.
struct outgoing {
  enum class kind : std::uint32_t { frame, quiet_marker };
  kind what;
  std::uint32_t target;     ///< frame: the node
  std::uint32_t aggregator; ///< whose buffer it is
  std::uint32_t buffer;     ///< its number
  std::uint64_t number;     ///< frame: words; marker: the quiet() that it answers
  std::uint64_t operations; ///< in the frame
};

/// A control message that waits for room.
struct control {
  std::uint32_t target;
  frame_kind kind;
  std::uint64_t number;
  std::vector<std::byte> bytes;
};

/// One aggregator's per-node buffers, and the queue in which they come back (thesis A.1.3).
struct buffer_set {
  buffer_set(emu::allocations& known, std::uint32_t count, std::size_t words_each)
      : words(words_each), storage(known, count * words_each, "per-node buffers"),
        recycled(known, count + 1) {}
  [[nodiscard]] std::span<std::uint32_t> buffer(std::uint32_t i) {
    return storage.host().subspan(i * words, words);
  }
  std::size_t words;
  emu::buffer<std::uint32_t> storage;
  emu::spsc_queue<std::uint32_t> recycled;
};

/// The words that there are, and of whom this node is one.
struct heap_shape {
  pe self;
  std::uint32_t nodes;
  std::uint64_t words_each;
};

/// What an error says, without whose it is.
[[nodiscard]] inline std::string_view without_prefix(std::string_view what) noexcept {
  constexpr std::string_view ours = "gravel: ";
  return what.starts_with(ours) ? what.substr(ours.size()) : what;
}

/// What host threads, aggregators and the network interface of one node share.
struct shared_state final : job_state {
  executor& scheduler;
  gravel_node::options options;
  emu::mpmc_queue<outgoing> to_network;
  heap_shape shape;
  std::chrono::milliseconds timeout;                ///< of every wait for another node
  std::vector<std::unique_ptr<buffer_set>> buffers; ///< one an aggregator

  // Requests of the host are numbers that grow; what is done is a number that follows. Release and
  // acquire: who sees a number sees what was done before it.
  std::atomic<std::uint64_t> quiet_requested{0};
  std::atomic<std::uint64_t> quiet_done{0};
  std::atomic<std::uint64_t> gather_requested{0};
  std::atomic<std::uint64_t> gather_done{0};
  /// What the numbers order, for `explore`.
  emu::handover quiet_begins, quiet_ends, gather_begins, gather_ends;
  /// finish(): what kernels still send is dropped, and this is no failure that others hear of.
  std::atomic<bool> leaves{false};
  std::atomic<bool> has_left{false}; ///< nobody waits for anything of this node any more
  std::atomic<bool> stops{false};
  std::atomic<std::uint32_t> running{0};  ///< actors that have not ended
  std::atomic<std::uint64_t> packages{0}; ///< that aggregators have taken

  std::vector<std::byte> gather_mine;             ///< the host's, until gather_requested
  std::vector<std::vector<std::byte>> gather_all; ///< the interface's, until gather_done

  shared_state(emu::agent_core& agent, gravel_node::options const& o, std::uint32_t queue_slots,
               heap_shape s, std::chrono::milliseconds longest)
      : scheduler(agent.scheduler()), options(o), to_network(agent.known(), queue_slots), shape(s),
        timeout(longest) {}

  /// Keeps the first error and lets everybody who waits look. False if there was one before.
  bool fail(error e) {
    bool is_first = false;
    {
      std::lock_guard const lock(mutex_);
      is_first = !first_error_;
      if (is_first)
        first_error_ = std::move(e);
    }
    failed_.store(true, std::memory_order_release);
    scheduler.notify();
    return is_first;
  }
  /// The first error, once there is one.
  [[nodiscard]] error why() {
    std::lock_guard const lock(mutex_);
    return *first_error_;
  }
  /// Why an operation of the host, with that name, has failed.
  [[nodiscard]] error failed(char const* operation) {
    error e = why();
    e.what = fmt::format("gravel: {}: {}", operation, without_prefix(e.what));
    return e;
  }
  [[noreturn]] void stop(command what, std::source_location where) override {
    throw emu::kernel_stop{emu::fault::kind::exception,
                           fmt::format("{} was given up: {}", to_string(what), why().what), where};
  }
  [[noreturn]] void refuse(command what, named_word to, std::source_location where) override {
    fail(make_error(
        net_errc::outside_heap,
        fmt::format("gravel: {} in a kernel of {} at {} names {}word {} of node {}; there are {} "
                    "nodes, and {} words of 8 bytes in the heap of each",
                    to_string(what), to_string(shape.self), quarry::to_string(where),
                    to.byte == 0 ? "" : fmt::format("byte {} of ", to.byte),
                    static_cast<std::int64_t>(to.word), static_cast<std::int64_t>(to.node),
                    shape.nodes, shape.words_each)));
    stop(what, where);
  }
  [[nodiscard]] bool is_leaving() const noexcept { return leaves.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_stopping() const noexcept { return stops.load(std::memory_order_acquire); }
  /// An actor's last act.
  void ended() {
    running.fetch_sub(1, std::memory_order_release);
    scheduler.notify();
  }

private:
  std::mutex mutex_;
  std::optional<error> first_error_;
};

} // namespace quarry::net::gravel
