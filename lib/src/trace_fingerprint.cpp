// SPDX-License-Identifier: Apache-2.0
#include <quarry/random_bits.hpp>
#include <quarry/trace_fingerprint.hpp>

namespace quarry {
namespace {

/// Depends on the order in which it is used.
std::uint64_t with(std::uint64_t hash, std::uint64_t next) noexcept {
  return random_bits::at(hash, next);
}

} // namespace

void trace_fingerprint::begin() {
  end_step(); // what it holds goes with the rest
  actor_ = 0;
  last_of_actor_.clear();
  last_of_word_.clear();
  last_of_any_ = published_ = acquired_ = all_ = 0;
}

void trace_fingerprint::begin_step(std::uint32_t actor) {
  end_step();
  is_running_ = true;
  actor_ = actor;
}

void trace_fingerprint::add(effect const& e) {
  is_running_ = true;
  does_.add(e);
}

void trace_fingerprint::add_choice(unsigned n, unsigned taken) noexcept {
  is_running_ = true;
  choices_ = with(choices_, std::uint64_t{n} << 32 | taken);
}

void trace_fingerprint::end_step() {
  if (!is_running_)
    return;
  is_running_ = false;
  if (last_of_actor_.size() <= actor_)
    last_of_actor_.resize(actor_ + 1);
  std::uint64_t hash = with(with(last_of_actor_[actor_], actor_), choices_);
  // Sorted: in which order a step first met them follows from the rest.
  for (std::uint64_t const word : does_.words)
    hash = with(with(hash, word), last_of_word_[word]);
  hash = with(hash, last_of_any_);
  hash = with(hash, does_.acquires ? published_ : 0);
  hash = with(hash, does_.publishes ? acquired_ : 0);
  hash = with(hash, does_.is_any ? all_ : 0);

  last_of_actor_[actor_] = hash;
  for (std::uint64_t const word : does_.words)
    last_of_word_[word] = hash;
  if (does_.is_any)
    last_of_any_ = hash;
  published_ += does_.publishes ? hash : 0;
  acquired_ += does_.acquires ? hash : 0;
  all_ += hash;
  choices_ = 0;
  does_.clear();
}

std::uint64_t trace_fingerprint::value() {
  end_step();
  return all_;
}

} // namespace quarry
