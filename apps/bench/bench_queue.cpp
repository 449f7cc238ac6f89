// SPDX-License-Identifier: Apache-2.0
// Messages from one thread to another, by size: `queue/who/<bytes>`; an item is a message.
#include "bench.hpp"
#include "quarry_queues.hpp"
#include "queues.hpp"

#include <boost/lockfree/queue.hpp>
#include <tbb/concurrent_queue.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <emmintrin.h>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

template<std::size_t Bytes>
class boost_queue {
public:
  bool try_push(message<Bytes> const& m) { return queue_.bounded_push(m); }
  bool try_pop(message<Bytes>& m) {
    if (queue_.pop(m))
      return true;
    // Each attempt on an empty queue takes the head's line from the producer; measured, this wait
    // makes the queue 1.6 times as fast at 8 bytes.
    for (int i = 0; i < 50; ++i)
      _mm_pause();
    return false;
  }

private:
  boost::lockfree::queue<message<Bytes>> queue_{capacity<Bytes>};
};

template<std::size_t Bytes>
class tbb_queue {
public:
  tbb_queue() { queue_.set_capacity(capacity<Bytes>); }
  // The blocking push waits by itself when the queue is full, and measured better than trying.
  bool try_push(message<Bytes> const& m) {
    queue_.push(m);
    return true;
  }
  bool try_pop(message<Bytes>& m) { return queue_.try_pop(m); }

private:
  tbb::concurrent_bounded_queue<message<Bytes>> queue_;
};

/// What the machine can do: packages as large as a work-group's between two threads, with nothing
/// but a flag each.
template<std::size_t Bytes>
class plain_packages {
  static constexpr std::size_t words = message<Bytes>::word_count * package_columns;
  static constexpr std::size_t slots = capacity<Bytes> / package_columns;

public:
  void send(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t const end = first + count; first != end; first += package_columns) {
      package& p = packages_[sent_++ % slots];
      for (spin wait; p.is_full.load(std::memory_order_acquire);)
        wait.once();
      for (std::size_t row = 0; row < message<Bytes>::word_count; ++row)
        for (std::size_t column = 0; column < package_columns; ++column)
          p.columns[row * package_columns + column] = first + column + row;
      p.is_full.store(true, std::memory_order_release);
    }
  }
  std::uint64_t take(std::uint64_t& sum) {
    package& p = packages_[taken_ % slots];
    if (!p.is_full.load(std::memory_order_acquire)) {
      pause_for_a_package();
      return 0;
    }
    ++taken_;
    std::uint64_t words_sum = 0;
    for (std::uint64_t const word : p.columns)
      words_sum += word;
    sum += words_sum;
    p.is_full.store(false, std::memory_order_release);
    return package_columns;
  }

private:
  struct package {
    alignas(64) std::array<std::uint64_t, words> columns{};
    alignas(64) std::atomic<bool> is_full{false};
  };
  std::vector<package> packages_ = std::vector<package>(slots);
  std::size_t sent_ = 0;
  alignas(64) std::size_t taken_ = 0;
};

template<std::size_t Bytes>
void add_size() {
  add_queue<quarry_work_group_queue<Bytes>, Bytes>("work_group");
  add_queue<plain_packages<Bytes>, Bytes>("plain_packages");
  add_queue<quarry_spsc<Bytes>, Bytes>("spsc");
  add_queue<quarry_mpmc<Bytes>, Bytes>("mpmc");
  add_queue<boost_queue<Bytes>, Bytes>("boost");
  add_queue<tbb_queue<Bytes>, Bytes>("tbb");
}

template<std::size_t... Bytes>
void add_sizes(std::index_sequence<Bytes...>) {
  (add_size<Bytes>(), ...);
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  quarry::bench::add_sizes(std::index_sequence<8, 16, 32, 64, 128, 256, 512, 1024>{});
  return quarry::bench::run(argc, argv);
}
