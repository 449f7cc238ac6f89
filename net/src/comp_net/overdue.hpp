// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/shmem/node.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::net::comp_net {

/// Looks after the waits of some rings' work-groups, natively: for words of the own heap, and for
/// the service. A wait that lasts is shmem::node::watch()'s.
class overdue_waits {
  using clock = std::chrono::steady_clock;

public:
  overdue_waits(shmem::node& network, std::span<wait_record> waits, std::uint32_t first,
                std::uint32_t count)
      : network_(network), waits_(waits.subspan(first, count)), first_(first), seen_(count) {}

  /// True once in a while: then it is time for look().
  [[nodiscard]] bool is_time() noexcept { return ++calls_ % 8 == 0; }

  /// `blocked(i)`: the operation in which ring `i` waits for the service, a number that no other
  /// one has, or 0; `name_of(i)`: what it is.
  /// True if all pes have been asked since the last time.
  template<class F, class Name>
  [[nodiscard]] bool look(F const& blocked, Name const& name_of) {
    constexpr std::chrono::milliseconds short_wait(5); // of a timeout that is long enough to matter

    auto const now = clock::now();
    std::uint64_t asked = 0;
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
      wait_record const& r = waits_[i];
      std::uint64_t const number = r.number.load(std::memory_order_acquire);
      std::uint64_t const operation = blocked(i);
      bool const awaits_word = number % 2 == 1;
      if (!awaits_word && operation == 0) {
        seen_[i].is_waiting = false;
        continue;
      }
      if (!seen_[i].is_waiting || seen_[i].number != number || seen_[i].operation != operation) {
        seen_[i] = {true, number, operation, now};
        continue;
      }
      auto const waited = now - seen_[i].since;
      if (waited < short_wait)
        continue;
      asked = std::max(
          asked, awaits_word
                     ? network_.watch(text_of(r, first_ + i), source_of(r), waited)
                     : network_.watch(fmt::format("{} of work-group {}", name_of(i), first_ + i),
                                      {}, waited));
    }
    return std::exchange(asked_, std::max(asked, asked_)) < asked;
  }

private:
  struct seen {
    bool is_waiting = false;
    std::uint64_t number = 0;
    std::uint64_t operation = 0;
    clock::time_point since{};
  };
  static std::optional<pe> source_of(wait_record const& r) {
    std::uint32_t const from = r.from.load(std::memory_order_relaxed);
    return from == wait_record::no_pe ? std::nullopt : std::optional(pe{from});
  }
  static std::string text_of(wait_record const& r, std::uint32_t ring) {
    std::string_view const file = r.file.load(std::memory_order_relaxed);
    auto const from = source_of(r);
    std::uint64_t const absent = r.absent.load(std::memory_order_relaxed);
    return fmt::format(
        "{} of work-group {} ({}:{}){}{}", r.what.load(std::memory_order_relaxed), ring,
        file.substr(file.rfind('/') + 1), r.line.load(std::memory_order_relaxed),
        from ? " for " + to_string(*from) : "",
        absent == 0
            ? ""
            : fmt::format(", begun when {} groups of its launch were not resident", absent));
  }

  shmem::node& network_;
  std::span<wait_record const> waits_;
  std::uint32_t first_;
  std::vector<seen> seen_;
  std::uint32_t calls_ = 0;
  std::uint64_t asked_ = 0; ///< how often all pes were
};

} // namespace quarry::net::comp_net
