// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <emmintrin.h>
#include <string>
#include <thread>

namespace quarry::bench {

/// What travels through a queue: its words are all written by the producer and summed by the
/// consumer. Shape Bytes a multiple of 8
template<std::size_t Bytes>
struct message {
  static constexpr std::size_t word_count = Bytes / sizeof(std::uint64_t);
  std::array<std::uint64_t, word_count> words;

  /// Message `number`: its word w is number + w.
  void fill(std::uint64_t number) noexcept {
    for (std::size_t w = 0; w < word_count; ++w)
      words[w] = number + w;
  }
  [[nodiscard]] std::uint64_t sum() const noexcept {
    std::uint64_t total = 0;
    for (std::uint64_t const word : words)
      total += word;
    return total;
  }
  /// The sum of all words of messages 0 ... count - 1, modulo 2^64.
  [[nodiscard]] static constexpr std::uint64_t sum_of(std::uint64_t count) noexcept {
    std::uint64_t const numbers =
        count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    return word_count * numbers + count * (word_count * (word_count - 1) / 2);
  }
};

/// Places of every queue: 4 MiB of messages. A core's own caches hold less, so what the consumer
/// reads has come to the shared one, which is faster than taking it out of the producer's:
/// measured, nobody does better with 1024 places.
template<std::size_t Bytes>
inline constexpr std::size_t capacity = (std::size_t{4} << 20) / Bytes;

inline constexpr std::uint32_t package_columns = 256; // messages: a work-group's

/// Until a package may have come. Who looks all the time takes lines from who fills them: measured,
/// this makes 8 bytes 1.3 times as fast.
inline void pause_for_a_package() {
  for (int i = 0; i < 200; ++i)
    _mm_pause();
}

/// Waits for the other side: a core each, so it spins, but gives the core away on a busy machine.
class spin {
public:
  void once() {
    if (++count_ % 4096 == 0)
      std::this_thread::yield();
    else
      _mm_pause();
  }

private:
  std::uint32_t count_ = 0;
};

/// A consumer's thread, which takes messages from `queue` and sums their words.
///
/// Queue has bool try_pop(message<Bytes>&), or std::uint64_t take(std::uint64_t& sum), which takes
/// some messages, adds their words and returns how many they were. The thread runs from the
/// constructor to the destructor.
template<class Queue, std::size_t Bytes>
class consumer {
public:
  explicit consumer(Queue& queue) : queue_{queue}, thread_{[this] { run(); }} {}
  ~consumer() {
    stopping_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  consumer(consumer const&) = delete;
  consumer& operator=(consumer const&) = delete;

  /// Returns when `count` messages have been received since the constructor.
  void wait_for(std::uint64_t count) {
    // Acquire: pairs with the release in run(), so that sum() is theirs.
    for (spin wait; received_.load(std::memory_order_acquire) != count;)
      wait.once();
  }
  /// Of what wait_for() waited for.
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

private:
  void run() {
    std::uint64_t received = 0;
    message<Bytes> one{};
    for (spin wait; !stopping_.load(std::memory_order_relaxed);) {
      if (std::uint64_t const count = take(one); count != 0) {
        received += count;
      } else {
        // Told only when the queue is empty: a message itself costs the producer nothing here.
        received_.store(received, std::memory_order_release);
        wait.once();
      }
    }
  }

  std::uint64_t take(message<Bytes>& one) {
    if constexpr (requires { queue_.take(sum_); }) {
      return queue_.take(sum_);
    } else {
      if (!queue_.try_pop(one))
        return 0;
      sum_ += one.sum();
      return 1;
    }
  }

  Queue& queue_;
  std::uint64_t sum_ = 0; // the consumer's, up to what received_ says
  alignas(64) std::atomic<std::uint64_t> received_{0};
  alignas(64) std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// Times one producer, this thread, and one consumer on a Queue of message<Bytes>.
///
/// Queue has bool try_push(message<Bytes> const&), or void send(std::uint64_t first, std::uint64_t
/// count), which sends messages first, first + 1 …; and what consumer asks of it.
template<class Queue, std::size_t Bytes>
void stream_messages(benchmark::State& state) {
  // At each end of a batch the queue runs empty, so it must be several times its capacity.
  constexpr std::uint64_t batch = 1 << 20;
  Queue queue;
  consumer<Queue, Bytes> taker{queue};
  std::uint64_t sent = 0;
  message<Bytes> one{};
  for (auto _ : state) {
    if constexpr (requires { queue.send(sent, batch); }) {
      queue.send(sent, batch);
      sent += batch;
    } else {
      for (std::uint64_t const end = sent + batch; sent != end; ++sent) {
        one.fill(sent);
        for (spin wait; !queue.try_push(one);)
          wait.once();
      }
    }
    taker.wait_for(sent);
  }
  check(state, taker.sum() == message<Bytes>::sum_of(sent), "the sum of the messages is wrong");
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
}

/// Registers `queue/who/<bytes>` for one size.
template<class Queue, std::size_t Bytes>
void add_queue(std::string const& who) {
  benchmark::RegisterBenchmark(("queue/" + who + "/" + std::to_string(Bytes)).c_str(),
                               stream_messages<Queue, Bytes>)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

} // namespace quarry::bench
