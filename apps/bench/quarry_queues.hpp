// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queues.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sync_wait.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace quarry::bench {

/// A host thread's way to emulated memory.
using host_core = emu::basic_core<emu::native_memory>;

/// Single producer, single consumer, both host threads.
template<std::size_t Bytes>
class quarry_spsc {
public:
  bool try_push(message<Bytes> const& m) {
    auto const slot = queue_.try_reserve(producer_);
    if (!slot)
      return false;
    producer_.store(slot, m);
    queue_.publish(producer_);
    return true;
  }
  bool try_pop(message<Bytes>& m) {
    auto const slot = queue_.try_peek(consumer_);
    if (!slot)
      return false;
    m = consumer_.load(slot);
    queue_.release(consumer_);
    return true;
  }

private:
  emu::allocations known_;
  emu::spsc_queue<message<Bytes>> queue_{known_, capacity<Bytes>};
  host_core producer_{{}};
  host_core consumer_{{}};
};

/// Many producers and consumers; here an actor of the native scheduler, on the benchmark's thread,
/// and a host thread.
template<std::size_t Bytes>
class quarry_mpmc {
public:
  void send(std::uint64_t first, std::uint64_t count) { sync_wait(strand_, produce(first, count)); }
  bool try_pop(message<Bytes>& m) {
    if (!claim_)
      claim_ = queue_.claim(consumer_);
    if (!queue_.is_ready(consumer_, *claim_))
      return false;
    m = consumer_.load(queue_.payload(*claim_));
    queue_.release(consumer_, *claim_);
    claim_.reset();
    return true;
  }

private:
  task<> produce(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t number = first; number != first + count; ++number) {
      emu::slot_claim const slot = co_await queue_.reserve(producer_);
      queue_.payload(slot).get()->fill(number);
      queue_.publish(producer_, slot);
    }
  }

  native_scheduler scheduler_{{.threads = 1}};
  strand strand_{scheduler_, "producer"};
  emu::allocations known_;
  emu::mpmc_queue<message<Bytes>> queue_{known_, capacity<Bytes>};
  host_core producer_{{}};
  host_core consumer_{{}};
  std::optional<emu::slot_claim> claim_; // the consumer's
};

/// Every work-item of the grid sends messages `first` + its number, and so on in strides of the
/// grid.
template<std::size_t Bytes>
struct send_messages {
  static constexpr std::uint64_t per_work_item = 64;
  static constexpr int words = message<Bytes>::word_count;
  using queue = emu::work_group_queue<std::uint64_t, words>;

  task<> operator()(emu::any_wavefront auto& wf, std::uint64_t first, queue& to) const {
    for (std::uint64_t sent = 0; sent < per_work_item; ++sent) {
      emu::package_place const at = co_await to.reserve(wf, 0);
      fill(wf, first + sent * wf.group_count().x * package_columns, to, at);
      to.publish(wf, at);
    }
  }

private:
  // A function of its own: the numbers stay in registers here.
  static void fill(emu::any_wavefront auto& wf, std::uint64_t first, queue& to,
                   emu::package_place at) {
    auto const number = emu::convert<std::uint64_t>(wf.global_id().to_lanes()) + first;
    for (int w = 0; w < words; ++w)
      to.write(wf, at, w, number + static_cast<std::uint64_t>(w));
  }
};

/// Gravel's queue: work-groups of 256 on the benchmark's thread, a host thread as the aggregator.
template<std::size_t Bytes>
class quarry_work_group_queue {
  static constexpr int words = message<Bytes>::word_count;
  // As many messages as the other queues hold.
  static constexpr std::uint32_t slots = capacity<Bytes> / package_columns;

public:
  void send(std::uint64_t first, std::uint64_t count) {
    emu::outcome const end = agent_.run({.work_items = count / send_messages<Bytes>::per_work_item,
                                         .work_items_per_group = package_columns},
                                        send_messages<Bytes>{}, first, std::ref(queue_));
    if (auto const& fault = end.get_fault())
      throw std::runtime_error(fault->report);
  }

  /// One package.
  std::uint64_t take(std::uint64_t& sum) {
    if (!claim_)
      claim_ = queue_.claim(consumer_);
    if (!queue_.is_ready(consumer_, *claim_)) {
      pause_for_a_package();
      return 0;
    }
    auto const package = queue_.view(consumer_, *claim_);
    std::uint64_t words_sum = 0; // a local one: `sum` could be one of the words, for all g++ knows
    for (std::uint32_t row = 0; row < words; ++row) {
      auto const first = package.row(row);
      for (std::uint32_t column = 0; column < package.header.count; ++column)
        words_sum += consumer_.load(first + column);
    }
    sum += words_sum;
    queue_.release(consumer_, *claim_);
    claim_.reset();
    return package.header.count;
  }

private:
  native_scheduler scheduler_{{.threads = 1}};
  emu::basic_agent<emu::native_targets> agent_{scheduler_};
  emu::work_group_queue<std::uint64_t, words> queue_{agent_.core().known(), slots, package_columns};
  host_core consumer_{{}};
  std::optional<emu::slot_claim> claim_; // the consumer's
};

} // namespace quarry::bench
