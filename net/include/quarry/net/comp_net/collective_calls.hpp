// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lane_call.hpp>
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/heap_wait.hpp>
#include <quarry/net/comp_net/leader.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <utility>

namespace quarry::net::comp_net {

// What a work-group's leader does in each operation of a context. `lead()` runs between two
// barriers of the group; its arguments are those of the group's first work-item.

/// Takes the ring of the work-group's number.
struct open_call {
  using value_type = emu::no_value;
  static constexpr char const* what = "context::init";
  device* net;
  emu::global<context_words> at;
  std::uint32_t ring;

  template<class W>
  task<value_type> lead(W& wf, std::source_location where) const {
    if (net->contexts().is_over())
      stop_late(where);
    auto const left = try_take_ring(wf, net->states(), ring, net->queues().orders(), where);
    if (!left)
      throw emu::kernel_stop{emu::fault::kind::wrong_shape,
                             "the context of work-group " + std::to_string(ring) +
                                 " is in use: a launch that runs, or has ended without "
                                 "destroying it, has it",
                             where};
    context_words const fresh{.indices = {left->write, left->write},
                              .ring = ring,
                              .is_open = 1,
                              .barriers = left->barriers,
                              .reductions = left->reductions};
    wf.store(at, fresh, where);
    net->contexts().has_met(ring, {fresh.barriers, fresh.reductions});
    if (!net->contexts().try_open(ring, *wf.slot().group->launch))
      stop_late(where);
    co_return value_type{};
  }
  [[noreturn]] static void stop_late(std::source_location where) {
    throw emu::kernel_stop{emu::fault::kind::wrong_shape, "context::init after the node's finish()",
                           where};
  }
};

/// Waits for what the context has asked for, and gives the ring back.
struct destroy_call {
  using value_type = emu::no_value;
  static constexpr char const* what = "destroy";

  template<class W>
  task<value_type> lead(W& wf, leader<W>& me, device& net, std::source_location where) const {
    task<> over = me.quiet(what);
    co_await std::move(over);
    context_words& words = me.words();
    words.is_open = 0;
    net.contexts().closed(words.ring);
    give_ring_back(
        wf, net.states(), words.ring,
        {.write = words.indices.write, .barriers = words.barriers, .reductions = words.reductions},
        net.queues().orders(), where);
    co_return value_type{};
  }
};

/// One command, waited for or not.
struct command_call {
  using value_type = std::uint64_t;
  static constexpr char const* what = "ComP-Net operation";
  char const* name; ///< as it is called
  command request;
  /// Its data are up to 8 bytes of device memory, which go into the entry.
  std::byte const* inlines = nullptr;

  template<class W>
  task<value_type> lead(W& wf, leader<W>& me, device&, std::source_location where) const {
    command c = request;
    if (c.bytes != 0 && !c.has(command::is_inline))
      wf.memory_port().check(reinterpret_cast<void const*>(c.local), c.bytes, where);
    if (inlines != nullptr) {
      c.local = me.inline_payload(inlines, c.bytes);
      c.flags |= command::is_inline;
    }
    if (c.has(command::is_blocking)) {
      task<std::uint64_t> over = me.perform(c, name);
      co_return co_await std::move(over);
    }
    task<std::uint32_t> posted = me.post(c);
    static_cast<void>(co_await std::move(posted));
    co_return 0;
  }
};

/// One command whose reply is a value.
template<class T>
struct fetch_call {
  using value_type = T;
  static constexpr char const* what = "ComP-Net operation";
  char const* name; ///< as it is called
  command request;

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    task<std::uint64_t> over = me.perform(request, name);
    std::uint64_t const bits = co_await std::move(over);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    co_return value;
  }
};

template<shmem::atomic_word T>
struct wait_call {
  using value_type = T;
  static constexpr char const* what = "wait_until";
  awaited_words<T> word; ///< one

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    auto wait = me.await_word(word, what);
    auto const got = co_await std::move(wait);
    co_return got.value;
  }
};

/// One after the other.
template<shmem::atomic_word T>
struct wait_all_call {
  using value_type = emu::no_value;
  static constexpr char const* what = "wait_until_all";
  awaited_words<T> words;

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    for (std::uint32_t i = 0; i < words.count; ++i) {
      awaited_words<T> const next{words.at + i, words.how, words.than};
      auto wait = me.await_word(next, what);
      static_cast<void>(co_await std::move(wait));
    }
    co_return value_type{};
  }
};

/// Gives the index: of several any one, so that none is for ever passed over. Not in turns: who
/// goes to and fro between two arrays would get the same ones.
template<shmem::atomic_word T>
struct wait_any_call {
  using value_type = std::uint32_t;
  static constexpr char const* what = "wait_until_any";
  awaited_words<T> words;

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    awaited_words<T> from_any = words;
    from_any.first =
        static_cast<std::uint32_t>(random_bits::mixed(++me.words().choices) % words.count);
    auto wait = me.await_word(from_any, what);
    auto const got = co_await std::move(wait);
    co_return got.index;
  }
};

template<shmem::atomic_word T>
struct test_call {
  using value_type = bool;
  static constexpr char const* what = "test";
  awaited_words<T> word; ///< one

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    task<T> look = me.see_word(word.at, what);
    T const seen = co_await std::move(look);
    co_return shmem::holds(seen, word.how, word.than);
  }
};

struct signal_fetch_call {
  using value_type = std::uint64_t;
  static constexpr char const* what = "signal_fetch";
  emu::global<std::uint64_t const> signal;

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    task<value_type> look = me.see_word(signal, what);
    co_return co_await std::move(look);
  }
};

/// Every entry has been read, and everything that was asked for is done.
struct quiet_call {
  using value_type = emu::no_value;
  static constexpr char const* what = "quiet";

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device&, std::source_location) const {
    task<> over = me.quiet(what);
    co_await std::move(over);
    co_return value_type{};
  }
};

/// What the signal of a reduction's chunk says. The numbers of chunks and barriers tell whether
/// the sender is in the same collective; the rest, whether it reduces the same.
struct chunk_signal {
  static constexpr unsigned number_bit = 24;
  static constexpr unsigned barrier_bit = 23; ///< of the sender's barriers, whether they are odd
  static constexpr std::uint64_t place = ~std::uint64_t{0} << barrier_bit;
  [[nodiscard]] static constexpr std::uint64_t of(std::uint64_t number, std::uint64_t barriers,
                                                  std::uint64_t what) noexcept {
    return number << number_bit | (barriers & 1) << barrier_bit |
           (what & ((std::uint64_t{1} << barrier_bit) - 1));
  }
};

/// The work-groups of one number on all pes meet: a dissemination barrier. Arrivals are added, so
/// that it needs no order between those of one barrier and of the next (NVSHMEM PR#36).
///
/// Who reduces instead is found by its chunk's signal: it is for the next chunk, and its sender has
/// not been in this barrier. (One that has been in it may be reducing by now.)
struct barrier_call {
  using value_type = emu::no_value;
  static constexpr char const* what = "barrier_all";

  template<class W>
  task<value_type> lead(W&, leader<W>& me, device& net, std::source_location where) const {
    task<> over = me.quiet(what);
    co_await std::move(over);
    context_words& words = me.words();
    std::uint64_t const number = ++words.barriers;
    net.contexts().has_met(words.ring, {words.barriers, words.reductions});
    std::uint32_t round = 0;
    for (std::uint32_t distance = 1; distance < net.pe_count(); distance *= 2, ++round) {
      std::uint64_t* const word = net.meetings().barrier_word(words.ring, round);
      command const arrive{.target = net.offset_of(word, sizeof *word, what, where),
                           .operand = 1,
                           .pe = pe_number((net.self().id + distance) % net.pe_count()),
                           .site = net.site_number(where),
                           .what = operation::atomic,
                           .kind = static_cast<std::uint8_t>(shmem::atomic_op::add),
                           .width = sizeof *word};
      task<std::uint32_t> posted = me.post(arrive);
      static_cast<void>(co_await std::move(posted));
      pe const from{(net.self().id + net.pe_count() - distance) % net.pe_count()};
      emu::global<std::uint64_t const> const mine(word);
      awaited_words<std::uint64_t> const all_here{mine, shmem::comparison::greater_equal, number};
      auto arrived =
          me.await_word(all_here, what, from, reduces_instead(net, words, from), "reduce");
      static_cast<void>(co_await std::move(arrived));
    }
    co_return value_type{};
  }

private:
  [[nodiscard]] static contradiction reduces_instead(device const& net, context_words const& words,
                                                     pe from) {
    std::uint64_t const next = words.reductions + 1;
    return {emu::global<std::uint64_t const>(net.meetings().signal(words.ring, next % 2, from.id)),
            chunk_signal::place, chunk_signal::of(next, words.barriers - 1, 0)};
  }
};

/// Everybody's elements combined, one by one, in the order of the pes, a chunk at a time. Every pe
/// puts its chunk to every other one, into one of two banks: who puts the chunk after the next one
/// has had everybody's next one, which they put after they had read this one.
template<shmem::reducible T>
struct reduce_call {
  using value_type = emu::no_value;
  static constexpr char const* what = "reduce";
  static constexpr char const* other_reduction =
      "reduce with another operation, type or number of elements, or after other barriers";
  T* dest;
  T const* source;
  std::size_t count;
  shmem::reduction how;

  template<class W>
  task<value_type> lead(W& wf, leader<W>& me, device& net, std::source_location where) const {
    if (std::size_t const bytes = shmem::bytes_of(count, sizeof(T)); bytes != 0) {
      wf.memory_port().check(source, bytes, where);
      wf.memory_port().check(dest, bytes, where);
    }
    std::size_t const most = net.meetings().chunk_bytes() / sizeof(T);
    for (std::size_t done = 0; done < count; done += most) {
      std::size_t const n = std::min(most, count - done);
      task<> sent = send(me, net, source + done, n, where);
      co_await std::move(sent);
      task<> combined = combine(wf, me, net, done, n, where);
      co_await std::move(combined);
    }
    co_return value_type{};
  }

private:
  [[nodiscard]] std::uint64_t signal_of(context_words const& words) const noexcept {
    std::uint64_t const kind = (std::floating_point<T> ? 16U : 0U) |
                               (std::signed_integral<T> ? 8U : 0U) |
                               static_cast<unsigned>(std::countr_zero(sizeof(T)));
    // Fifteen bits of the count's hash: lengths that differ by a round number differ there.
    std::uint64_t const length = count * std::uint64_t{0x9e3779b97f4a7c15} >> 49;
    return chunk_signal::of(words.reductions, words.barriers,
                            length << 8 | static_cast<std::uint64_t>(how) << 5 | kind);
  }

  template<class W>
  task<> send(leader<W>& me, device& net, T const* from, std::size_t n,
              std::source_location where) const {
    context_words& words = me.words();
    std::uint64_t const number = ++words.reductions;
    net.contexts().has_met(words.ring, {words.barriers, words.reductions});
    std::byte* const to = net.meetings().chunk(words.ring, number % 2, net.self().id);
    std::uint64_t* const signal = net.meetings().signal(words.ring, number % 2, net.self().id);
    for (std::uint32_t i = 1; i < net.pe_count(); ++i) {
      command const put{.target = net.offset_of(to, n * sizeof(T), what, where),
                        .local = reinterpret_cast<std::uintptr_t>(from),
                        .bytes = n * sizeof(T),
                        .operand = signal_of(words),
                        .extra = net.offset_of(signal, sizeof *signal, what, where),
                        .pe = pe_number((net.self().id + i) % net.pe_count()),
                        .site = net.site_number(where),
                        .what = operation::put_signal,
                        .kind = static_cast<std::uint8_t>(shmem::signal_op::set)};
      task<std::uint32_t> posted = me.post(put);
      static_cast<void>(co_await std::move(posted));
    }
    task<> read = me.read_out(what); // `source` may be `dest`
    co_await std::move(read);
  }

  template<class W>
  task<> combine(W& wf, leader<W>& me, device& net, std::size_t done, std::size_t n,
                 std::source_location where) const {
    context_words& words = me.words();
    std::uint64_t const number = words.reductions;
    for (std::uint32_t p = 0; p < net.pe_count(); ++p) {
      if (p == net.self().id)
        continue;
      emu::global<std::uint64_t const> const signal(
          net.meetings().signal(words.ring, number % 2, p));
      awaited_words<std::uint64_t> const chunk{signal, shmem::comparison::greater_equal,
                                               chunk_signal::of(number, 0, 0)};
      auto there = me.await_word(chunk, what, pe{p});
      auto const seen = co_await std::move(there);
      std::uint64_t const came = seen.value;
      if (came >> chunk_signal::number_bit == number && came != signal_of(words)) [[unlikely]]
        net.stop_differing({words.ring, what, pe{p}, other_reduction}, where);
    }
    // A plain function: g++ would store the loop's variables to the frame at every step.
    combine_all(wf, net, words, done, n, where);
  }

  template<class W>
  void combine_all(W& wf, device& net, context_words const& words, std::size_t done, std::size_t n,
                   std::source_location where) const {
    for (std::size_t i = 0; i < n; ++i) {
      T total{};
      for (std::uint32_t p = 0; p < net.pe_count(); ++p) {
        auto const* const from =
            p == net.self().id ? source + done
                               : reinterpret_cast<T const*>(
                                     net.meetings().chunk(words.ring, words.reductions % 2, p));
        T const value = wf.load(emu::global<T const>(from + i), where);
        total = p == 0 ? value : shmem::combined(how, total, value);
      }
      wf.store(emu::global<T>(dest + done + i), total, where);
    }
  }
};

} // namespace quarry::net::comp_net
