// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/global.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/queue_orders.hpp>
#include <quarry/emu/scope.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/net/gravel_message.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

namespace quarry::net::gravel {

/// Errors   fault wrong_shape – a lane is active that was not where its message was checked
template<emu::any_wavefront W>
void expect_checked(W& wf, emu::lane_mask checked, std::source_location where) {
  if (wf.active().without(checked).any()) [[unlikely]]
    emu::wrong_shape(wf.slot(), "a message of work-items that were not active where it was made",
                     where);
}

/// Orders of SIMT-direct aggregation.
struct direct_orders {
  /// What a wavefront believes of a buffer: its reservation looks again.
  emu::access reads_tail{emu::order::relaxed, emu::scope::system};
  /// Acquire: the buffer has been read by the network before it is written again.
  emu::access reserve{emu::order::acquire, emu::scope::system};
  /// Release: the messages are there.
  emu::access count_written{emu::order::release, emu::scope::system};
  /// Acquire: pairs with count_written.
  emu::access reads_written{emu::order::acquire, emu::scope::system};
  /// What has been reserved so far: an older value only means another look.
  emu::access aggregator_reads_tail{emu::order::relaxed, emu::scope::system};
  /// No wavefront reserves from now on.
  emu::access seal{emu::order::relaxed, emu::scope::system};
  /// Release: pairs with reserve.
  emu::access open{emu::order::release, emu::scope::system};

  static constexpr emu::named_access<direct_orders> entries[] = {
      {"reads_tail", &direct_orders::reads_tail},
      {"reserve", &direct_orders::reserve},
      {"count_written", &direct_orders::count_written},
      {"reads_written", &direct_orders::reads_written},
      {"aggregator_reads_tail", &direct_orders::aggregator_reads_tail},
      {"seal", &direct_orders::seal},
      {"open", &direct_orders::open},
  };
};

/// The per-node buffers of SIMT-direct aggregation: wavefronts write their messages there
/// themselves, each destination's active work-items with one reservation by one of them.
///
/// A buffer is a frame as the network takes it (frame.hpp); every reservation is a run of it. Who
/// finds too little room seals the buffer, and waits until the aggregator has replaced it.
///
/// Source   thesis §3.2.1, §3.2.2, Figure 3-6; the SIMT group is a wavefront, as in chapter 4
class direct_buffers {
public:
  /// A node's open buffer, in one word: wavefronts change it by compare-and-swap.
  ///
  /// Shape    words and messages up to 2^19, buffers up to 2^25
  struct tail {
    std::uint32_t words = 0;    ///< reserved so far, with the frame's kind
    std::uint32_t messages = 0; ///< in them
    std::uint32_t buffer = 0;
    bool is_sealed = false;

    static constexpr int messages_shift = 19, buffer_shift = 38;
    static constexpr std::uint64_t some = (1 << 19) - 1;
    static constexpr std::uint64_t sealed = std::uint64_t{1} << 63;
    [[nodiscard]] static constexpr tail of(std::uint64_t w) noexcept {
      return {static_cast<std::uint32_t>(w & some),
              static_cast<std::uint32_t>(w >> messages_shift & some),
              static_cast<std::uint32_t>((w & ~sealed) >> buffer_shift), (w & sealed) != 0};
    }
    [[nodiscard]] constexpr std::uint64_t word() const noexcept {
      return words | std::uint64_t{messages} << messages_shift |
             std::uint64_t{buffer} << buffer_shift | (is_sealed ? sealed : 0);
    }
    [[nodiscard]] constexpr bool is_empty() const noexcept { return messages == 0; }
  };

  /// `storage`: `buffer_count` buffers of `words_each`, which outlive this. Every node begins
  /// sealed and empty: the aggregator opens its buffer.
  direct_buffers(emu::allocations& known, emu::global<std::uint32_t> storage,
                 std::uint32_t buffer_count, std::size_t words_each, std::uint32_t pe_count,
                 direct_orders const& orders = {})
      : storage_(storage), words_each_(words_each), orders_(orders),
        tails_(known, pe_count, "per-node tails", tail{.is_sealed = true}.word()),
        written_(known, buffer_count, "per-node written counts") {}

  // A wavefront

  /// Sends each active lane's message: `row` says to which node and word (remote_word); they are
  /// known to be there for the lanes that are `checked`.
  ///
  /// No collective: wavefronts come as they like, with whatever lanes.
  /// Suspends while a node's buffer is being replaced
  /// Errors   fault wrong_shape – a lane that is not checked
  template<emu::any_wavefront W>
  task<> send(W& wf, std::uint32_t tag, emu::lanes<std::uint64_t, W::size> row,
              emu::lanes<std::uint64_t, W::size> value, emu::lane_mask checked,
              std::source_location where) {
    expect_checked(wf, checked, where);
    auto const target = emu::convert<std::uint32_t>(row >> remote_word::pe_shift);
    for (emu::lane_mask rest = wf.active(); rest.any();) {
      // Those that can go together: compatible operations of the group (Figure 3-6, time 1).
      std::uint32_t const node = target[rest.first()];
      emu::lane_mask const same = (target == node).bits() & rest;
      rest = rest.without(same);
      for (emu::lane_mask left = same; left.any();) {
        place const at = reserve(wf, node, tag, static_cast<std::uint32_t>(left.count()));
        if (at.messages == 0) {
          auto const is_open = [](std::uint64_t w) { return !tail::of(w).is_sealed; };
          static_cast<void>(co_await wf.wait_until(tails_[node], is_open, orders_.reads_tail));
          continue;
        }
        emu::lane_mask const now = first_of(left, at.messages);
        write(wf, at, tag, now, row, value);
        left = left.without(now);
      }
    }
  }

  // The aggregator

  [[nodiscard]] std::uint32_t node_count() const noexcept {
    return static_cast<std::uint32_t>(tails_.size());
  }
  template<class A>
  [[nodiscard]] tail look(A& self, std::uint32_t node) {
    return tail::of(self.load(tails_[node], orders_.aggregator_reads_tail));
  }
  /// From now on nobody reserves; what has been reserved.
  template<class A>
  tail seal(A& self, std::uint32_t node) {
    return tail::of(self.fetch_or(tails_[node], tail::sealed, orders_.seal));
  }
  /// Awaits that all that was reserved in a sealed buffer has been written.
  template<class A>
  [[nodiscard]] auto written(A& self, tail const& t) {
    std::uint32_t const all = t.words;
    auto const is_whole = [all](std::uint32_t words) { return words == all; };
    return self.wait_until(written_[t.buffer], is_whole, orders_.reads_written);
  }
  /// What is in a sealed buffer, as this actor sees it, to memory of the host's own: the storage's
  /// is what wavefronts write to, and writing there is not the host's under exploration.
  template<class A>
  void copy_out(A& self, tail const& t, std::span<std::uint32_t> to) {
    for (std::uint32_t i = 0; i < t.words; ++i) {
      std::uint32_t const seen = self.load(word(t.buffer, i));
      to[i] = seen;
    }
  }
  /// The node's next buffer, empty.
  template<class A>
  void open(A& self, std::uint32_t node, std::uint32_t buffer, std::uint32_t kind) {
    self.store(word(buffer, 0), kind);
    self.store(written_[buffer], std::uint32_t{1});
    self.store(tails_[node], tail{.words = 1, .buffer = buffer}.word(), orders_.open);
  }

  /// By a wavefront for all its messages to a node; counted under deterministic schedulers.
  [[nodiscard]] std::uint64_t reservations() const noexcept { return reservations_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return tails_.bytes() + written_.bytes(); }

private:
  /// A run that a wavefront has reserved.
  struct place {
    std::uint32_t buffer;
    std::uint32_t at;
    std::uint32_t messages; ///< none: there is no room
  };

  [[nodiscard]] static constexpr std::uint32_t entry_words(std::uint32_t tag) noexcept {
    return package_tag::what(tag) == command::increment ? 1 : 3;
  }
  [[nodiscard]] static emu::lane_mask first_of(emu::lane_mask lanes, std::uint32_t count) {
    emu::lane_mask result{};
    lanes.for_each([&](int lane) {
      if (count != 0) {
        result.set(lane);
        --count;
      }
    });
    return result;
  }

  /// Room for as many of `count` messages as there is; the buffer is sealed where there is none.
  template<class W>
  place reserve(W& wf, std::uint32_t node, std::uint32_t tag, std::uint32_t count) {
    std::uint32_t const each = entry_words(tag);
    std::uint64_t seen = wf.load(tails_[node], orders_.reads_tail);
    for (;;) {
      tail t = tail::of(seen);
      if (t.is_sealed)
        return {0, 0, 0};
      auto const room = static_cast<std::uint32_t>(words_each_) - t.words;
      std::uint32_t const fit = room < 2 + each ? 0 : std::min(count, (room - 2) / each);
      place const mine{t.buffer, t.words, fit};
      t.is_sealed = fit == 0;
      t.words += fit == 0 ? 0 : 2 + fit * each;
      t.messages += fit;
      if (wf.compare_exchange(tails_[node], seen, t.word(), orders_.reserve)) {
        if constexpr (W::memory_type::may_explore)
          reservations_ += fit != 0 ? 1 : 0;
        return mine;
      }
    }
  }

  template<class W>
  void write(W& wf, place const& at, std::uint32_t tag, emu::lane_mask who,
             emu::lanes<std::uint64_t, W::size> const& row,
             emu::lanes<std::uint64_t, W::size> const& value) {
    auto const those = wf.where(who);
    wf.store(word(at.buffer, at.at), tag);
    wf.store(word(at.buffer, at.at + 1), at.messages);
    auto const first = word(at.buffer, at.at + 2);
    std::uint32_t const each = entry_words(tag);
    if (each == 1) {
      wf.store_packed(first, emu::convert<std::uint32_t>(row));
    } else {
      auto const entry =
          emu::convert<std::int32_t>(wf.prefix_sum(emu::lanes<std::uint32_t, W::size>(each)));
      wf.store(first + entry, emu::convert<std::uint32_t>(row));
      wf.store(first + (entry + 1), emu::convert<std::uint32_t>(value));
      wf.store(first + (entry + 2), emu::convert<std::uint32_t>(value >> 32));
    }
    wf.fetch_add(written_[at.buffer], 2 + at.messages * each, orders_.count_written);
  }

  [[nodiscard]] emu::global<std::uint32_t> word(std::uint32_t buffer, std::uint32_t at) {
    return storage_ + (std::size_t{buffer} * words_each_ + at);
  }

  emu::global<std::uint32_t> storage_;
  std::size_t words_each_;
  direct_orders orders_;
  emu::index_lines<std::uint64_t> tails_;   ///< by node
  emu::index_lines<std::uint32_t> written_; ///< by buffer
  std::uint64_t reservations_ = 0;
};

} // namespace quarry::net::gravel
