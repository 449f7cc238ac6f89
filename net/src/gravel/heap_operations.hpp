// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame.hpp"
#include "running_handler.hpp"

#include <quarry/actor.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/net/error.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/result.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace quarry::net::gravel {

using message_handler = std::function<void(std::uint64_t&, std::uint64_t)>;

/// What arrived messages do to a node's heap. One actor does it all: operations are atomic with
/// respect to each other (thesis §5.4).
template<emu::memory_model M>
class heap_operations {
  using core = emu::basic_core<M>;
  static constexpr emu::access far{emu::order::relaxed, emu::scope::system};

public:
  heap_operations(std::span<std::uint64_t> heap, std::vector<message_handler> const& handlers,
                  pe owner)
      : heap_(heap), handlers_(handlers), owner_(owner) {}

  /// The runs of a data frame, all or none: what is wrong with one is found before any is done.
  /// Gives how many messages they were.
  ///
  /// Errors   bad_frame, outside_heap; failed_handler – after some were done
  [[nodiscard]] result<std::uint64_t> apply(core& self, pe from,
                                            std::span<std::uint32_t const> runs) {
    for (auto rest = runs; !rest.empty();)
      if (auto wrong = what_is_wrong(from, take_run(rest)))
        return *std::move(wrong);
    std::uint64_t count = 0;
    for (auto rest = runs; !rest.empty();) {
      auto const r = take_run(rest);
      if (auto failed = run(self, from, *r))
        return *std::move(failed);
      count += r->count;
    }
    return count;
  }

private:
  [[nodiscard]] std::optional<error> what_is_wrong(pe from,
                                                   std::optional<message_run> const& r) const {
    if (!r)
      return bad_frame(from, "a run that is cut off or of no known command");
    if (!are_inside(*r))
      return make_error(
          net_errc::outside_heap,
          fmt::format("gravel: {} from {} names word {} of {}, whose heap has {} words",
                      to_string(r->what), to_string(from), first_outside(*r), to_string(owner_),
                      heap_.size()));
    if (r->what == command::active_message && r->handler >= handlers_.size())
      return make_error(
          net_errc::mismatched_job,
          fmt::format("gravel: an active message of {} for handler {}; {} has added {} of them",
                      to_string(from), r->handler, to_string(owner_), handlers_.size()));
    return std::nullopt;
  }
  /// All words are in the heap.
  [[nodiscard]] bool are_inside(message_run const& r) const noexcept {
    std::uint32_t highest = 0;
    if (r.what == command::increment) // contiguous: the compiler makes vectors of it
      for (std::uint32_t const w : r.entries)
        highest = std::max(highest, w);
    else
      for (std::uint32_t i = 0; i < r.count; ++i)
        highest = std::max(highest, r.word(i));
    return highest < heap_.size();
  }
  /// The first word of a run that is not; there is one.
  [[nodiscard]] std::uint32_t first_outside(message_run const& r) const noexcept {
    std::uint32_t i = 0;
    while (r.word(i) < heap_.size())
      ++i;
    return r.word(i);
  }

  /// All messages of a run whose words are in the heap, and whose handler exists.
  std::optional<error> run(core& self, pe from, message_run const& r) {
    switch (r.what) {
    case command::increment:
      for_each_prefetched(
          r.count, [&](std::uint32_t i) { return r.entries[i]; },
          [&](std::uint32_t i) { add_to(self, r.entries[i], 1); });
      break;
    case command::add:
      for_each_prefetched(
          r.count, [&](std::uint32_t i) { return r.word(i); },
          [&](std::uint32_t i) { add_to(self, r.word(i), r.value(i)); });
      break;
    case command::put:
      for (std::uint32_t i = 0; i < r.count; ++i)
        self.store(word(r.word(i)), r.value(i), far);
      break;
    case command::active_message:
      return call_handler(self, from, r);
    }
    return std::nullopt;
  }
  /// What it throws must not leave through whoever drives the network.
  std::optional<error> call_handler(core& self, pe from, message_run const& r) {
    auto const failed = [&](char const* what) {
      return make_error(net_errc::failed_handler,
                        fmt::format("gravel: handler {} of {} threw on a message of {}: {}",
                                    r.handler, to_string(owner_), to_string(from), what));
    };
    try {
      for (std::uint32_t i = 0; i < r.count; ++i)
        call(self, handlers_[r.handler], r.word(i), r.value(i));
      return std::nullopt;
    } catch (abandoned const&) { // an explored execution has been given up
      throw;
    } catch (emu::kernel_stop const&) { // it has found what is wrong
      throw;
    } catch (std::exception const& e) {
      return failed(e.what());
    } catch (...) {
      return failed("something that is no std::exception");
    }
  }

  /// Where caches stand before the heap, its word has what they say while the handler runs.
  void call(core& self, message_handler const& handler, std::uint32_t w, std::uint64_t value) {
    if constexpr (M::may_explore) {
      std::uint64_t const outside = std::exchange(heap_[w], self.load(word(w), far));
      invoke(handler, heap_[w], value);
      self.store(word(w), std::exchange(heap_[w], outside), far);
    } else {
      invoke(handler, heap_[w], value);
    }
  }
  static void invoke(message_handler const& handler, std::uint64_t& word, std::uint64_t value) {
    running_handler const now;
    handler(word, value);
  }

  [[nodiscard]] emu::global<std::uint64_t> word(std::uint32_t i) const noexcept {
    return emu::global<std::uint64_t>(heap_.data() + i);
  }

  // Atomic for the GPU's eyes, but no read-modify-writes: all operations are serialised here
  // (§5.4).
  void add_to(core& self, std::uint32_t w, std::uint64_t n) {
    std::uint64_t const old = self.load(word(w), far);
    self.store(word(w), old + n, far);
  }

  /// Calls apply_one(i) for each message; heap words are far apart, so they are fetched early.
  template<class Word, class Apply>
  void for_each_prefetched(std::uint32_t count, Word const& word_of, Apply const& apply_one) {
    constexpr std::uint32_t ahead = 256;
    // To the second-level cache only: many more fetches may be under way there than loads, or
    // fetches to the first level. Measured, that makes the loop twice as fast.
    auto const fetch = [&](std::uint32_t i) {
      __builtin_prefetch(heap_.data() + word_of(i), 0, 2);
    };
    std::uint32_t const at_once = std::min(ahead, count);
    for (std::uint32_t i = 0; i < at_once; ++i)
      fetch(i);
    for (std::uint32_t i = 0; i < count - at_once; ++i) {
      fetch(i + ahead);
      apply_one(i);
    }
    for (std::uint32_t i = count - at_once; i < count; ++i)
      apply_one(i);
  }

  std::span<std::uint64_t> heap_;
  std::vector<message_handler> const& handlers_;
  pe owner_; ///< of the heap
};

} // namespace quarry::net::gravel
