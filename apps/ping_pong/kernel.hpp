// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu.hpp>
#include <quarry/net/comp_net/context.hpp>

#include <cstdint>
#include <programs/group_elements.hpp>

namespace quarry::ping_pong {

/// What a message is made of. Each work-group has one of its own in each direction.
struct message_shape {
  std::uint32_t rounds;
  std::uint32_t words; ///< of 8 bytes, in a message
};

/// Who plays with `self`: neighbours in pairs; the last one of an odd number with itself.
[[nodiscard]] constexpr net::pe partner_of(net::pe self, std::uint32_t count) noexcept {
  net::pe const other{self.id ^ 1U};
  return other.id < count ? other : self;
}

/// What the words of a message are made from: no two messages have the same.
[[nodiscard]] constexpr std::uint64_t
first_word(message_shape s, std::uint32_t from, std::uint32_t group, std::uint32_t round) noexcept {
  std::uint64_t const message =
      (std::uint64_t{from} << 32 | group) * (std::uint64_t{s.rounds} + 1) + round;
  return message * s.words;
}
/// Word `i` of a message. `Word` is std::uint64_t, or lanes of it.
template<class Word>
[[nodiscard]] constexpr Word word_of(std::uint64_t first, Word i) noexcept {
  Word const x = (i + first) * std::uint64_t{0x9e3779b97f4a7c15};
  return x ^ (x >> 29);
}
/// The messages that came, as one number.
[[nodiscard]] constexpr std::uint64_t with_message(std::uint64_t check,
                                                   std::uint64_t sum) noexcept {
  return check * 31 + sum;
}

/// Where a node's messages are, a message a work-group.
struct mailboxes {
  message_shape shape;
  emu::global<std::uint64_t> inbox;   ///< symmetric: the partner puts here, or gets from here
  emu::global<std::uint64_t> outbox;  ///< device memory
  emu::global<std::uint64_t> signals; ///< symmetric, one a work-group: rounds that have come
  emu::global<std::uint64_t> checks;  ///< device memory, one a work-group

  [[nodiscard]] std::uint64_t place(std::uint64_t group) const noexcept {
    return group * shape.words;
  }
};

// What a work-group computes, wherever the messages go from there.

template<class W>
void fill(W& wf, message_shape s, emu::global<std::uint64_t> out, std::uint64_t first) {
  command::for_group_elements(wf, s.words, [&](std::uint32_t at) {
    auto const i = emu::convert<std::uint64_t>(wf.local_id().to_lanes()) + std::uint64_t{at};
    wf.store(out + at + wf.local_id(), word_of(first, i));
  });
}
template<class W>
[[nodiscard]] typename W::template lanes<std::uint64_t> sum(W& wf, message_shape s,
                                                            emu::global<std::uint64_t const> in) {
  typename W::template lanes<std::uint64_t> all(0);
  command::for_group_elements(wf, s.words, [&](std::uint32_t at) {
    auto const is_inside = wf.local_id().to_lanes() < static_cast<std::int32_t>(s.words - at);
    all += select(is_inside, wf.load(in + at + wf.local_id()), decltype(all)(0));
  });
  return all;
}

/// Ping, and pong at the other end: each work-group puts a message and waits for the answer.
///
/// Source   ComP-Net §4.1, Figure 5b; differs: many rounds, and what comes is looked at
struct ping_pong_wave {
  task<> operator()(emu::any_wavefront auto& wf, mailboxes m, net::comp_net::device& net) const {
    auto made = net::comp_net::context::init(wf, net);
    net::comp_net::context ctx = co_await std::move(made);
    net::pe const partner = partner_of(net.self(), net.pe_count());
    bool const begins = net.self() <= partner;
    auto const group = static_cast<std::uint32_t>(wf.linear_group_id());
    auto const in = m.inbox + m.place(group);
    auto const out = m.outbox + m.place(group);
    std::uint64_t check = 0;
    for (std::uint32_t round = 1; round <= m.shape.rounds; ++round) {
      for (bool const is_answer : {false, true}) {
        if (is_answer != begins) {
          fill(wf, m.shape, out, first_word(m.shape, net.self().id, group, round));
          auto sent = ctx.put_signal(wf, in, out, m.shape.words, m.signals + group, round,
                                     net::shmem::signal_op::set, partner);
          co_await std::move(sent);
        }
        if (is_answer == begins) {
          auto came =
              ctx.wait_until(wf, m.signals + group, net::shmem::comparison::greater_equal, round);
          co_await std::move(came);
          check = with_message(check, co_await wf.group_reduce(sum(wf, m.shape, in), emu::plus{}));
        }
      }
    }
    if (wf.index_in_group() == 0)
      wf.store(m.checks + group, check);
    auto ended = ctx.destroy(wf);
    co_await std::move(ended);
  }
};

/// Each work-group gets the partner's message, again and again.
///
/// Source   ComP-Net §5.2, Figure 8a; with many work-groups, Figure 8b
struct get_wave {
  task<> operator()(emu::any_wavefront auto& wf, mailboxes m, net::comp_net::device& net) const {
    auto made = net::comp_net::context::init(wf, net);
    net::comp_net::context ctx = co_await std::move(made);
    net::pe const partner = partner_of(net.self(), net.pe_count());
    std::uint64_t const group = wf.linear_group_id();
    auto const out = m.outbox + m.place(group);
    std::uint64_t check = 0;
    for (std::uint32_t round = 1; round <= m.shape.rounds; ++round) {
      auto got = ctx.get(wf, out, m.inbox + m.place(group), m.shape.words, partner);
      co_await std::move(got);
      check = with_message(check, co_await wf.group_reduce(sum(wf, m.shape, out), emu::plus{}));
    }
    if (wf.index_in_group() == 0)
      wf.store(m.checks + group, check);
    auto ended = ctx.destroy(wf);
    co_await std::move(ended);
  }
};

// Between kernels the host communicates.

/// Every work-group writes its message.
struct fill_wave {
  void operator()(emu::any_wavefront auto& wf, mailboxes m, std::uint32_t self,
                  std::uint32_t round) const {
    auto const group = static_cast<std::uint32_t>(wf.linear_group_id());
    fill(wf, m.shape, m.outbox + m.place(group), first_word(m.shape, self, group, round));
  }
};
/// Every work-group looks at what has come to `from`.
struct check_wave {
  task<> operator()(emu::any_wavefront auto& wf, mailboxes m,
                    emu::global<std::uint64_t const> from) const {
    std::uint64_t const group = wf.linear_group_id();
    std::uint64_t const came =
        co_await wf.group_reduce(sum(wf, m.shape, from + m.place(group)), emu::plus{});
    if (wf.index_in_group() == 0)
      wf.store(m.checks + group, with_message(wf.load(m.checks + group), came));
  }
};

} // namespace quarry::ping_pong
