// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/spin_watch.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace quarry::emu {
namespace {

constexpr std::uint32_t patience = 32;
constexpr std::uint32_t long_patience = 4096;
constexpr std::uint32_t longest_nap = 1024;
constexpr int explored_patience = 64;

/// Atomically: another strand may write it.
template<class T>
std::uint64_t bits_at(void const* at) noexcept {
  return std::atomic_ref(*static_cast<T*>(const_cast<void*>(at))).load(std::memory_order_relaxed);
}

std::uint64_t bits_of_word(void const* at, std::uint32_t size) noexcept {
  switch (size) {
  case 1:
    return bits_at<std::uint8_t>(at);
  case 2:
    return bits_at<std::uint16_t>(at);
  case 4:
    return bits_at<std::uint32_t>(at);
  default:
    return bits_at<std::uint64_t>(at);
  }
}

} // namespace

spin_watch::advice spin_watch::sees(word const& seen) {
  if (memory_ == nullptr)
    memory_ = std::make_unique<memory>();
  memory& m = *memory_;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (m.words[i].at == seen.at && m.words[i].size == seen.size) {
      if (m.words[i].bits == seen.bits)
        return sees_again(i);
      return was_false_alarm();
    }
  if (count_ == most_words)
    return was_false_alarm();
  m.words[count_++] = seen;
  repeats_ = m.rounds = 0;
  return advice::go_on;
}

spin_watch::advice spin_watch::sees_again(std::uint32_t i) noexcept {
  memory& m = *memory_;
  if (repeats_++ == 0)
    m.seen_again = 0;
  m.seen_again |= 1U << i;
  ++m.rounds;
  if (repeats_ > patience)
    return advice::wait;
  return m.rounds > long_patience ? advice::give_way : advice::go_on;
}

spin_watch::advice spin_watch::was_false_alarm() noexcept {
  count_ = 0;
  nap_ = std::min(2 * nap_, longest_nap);
  return advice::go_on;
}

// Relaxed: whoever spins looks again, in its own order.
bool spin_watch::has_ended(void* watch) noexcept {
  auto const& self = *static_cast<spin_watch const*>(watch);
  memory const& m = *self.memory_;
  for (std::uint32_t i = 0; i < self.count_; ++i) {
    auto const& [at, bits, size] = m.words[i];
    if ((m.seen_again & 1U << i) != 0 && bits_of_word(at, size) != bits)
      return true;
  }
  return false;
}

spin_watch::advice explored_spin::sees(void const* at, std::uint64_t bits,
                                       std::uint64_t operation) noexcept {
  if (at_ != at || bits_ != bits) {
    *this = {};
    at_ = at;
    bits_ = bits;
  } else if (operation != operation_ + 1) {
    has_worked_ = true;
  }
  operation_ = operation;
  if (++looks_ <= explored_patience)
    return spin_watch::advice::go_on;
  looks_ = 0;
  return std::exchange(has_worked_, false) ? spin_watch::advice::give_way
                                           : spin_watch::advice::wait;
}

} // namespace quarry::emu
