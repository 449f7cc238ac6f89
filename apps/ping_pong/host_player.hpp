// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/result.hpp>

#include <cstdint>
#include <span>

namespace quarry::ping_pong {

enum class pattern_kind { put, get };

/// The host's part where kernels do not communicate: it exchanges the messages of all work-groups,
/// which are written and looked at by kernels, or, without a GPU, here.
///
/// `Node` is command::comp_net_node, or one whose execution is explored.
template<class Node>
class host_player {
public:
  /// `groups` messages each way, with kernels of work-groups of that size.
  host_player(Node& node, mailboxes const& m, std::uint32_t groups, std::uint32_t group_size)
      : node_(node), m_(m), groups_(groups), group_size_(group_size),
        partner_(partner_of(net::pe{node.id}, node.count)) {}

  result<void> play(pattern_kind pattern) {
    return node_.threads.run([this, pattern](std::uint32_t thread) -> result<void> {
      for (std::uint32_t round = 1; round <= m_.shape.rounds; ++round)
        if (auto const done = pattern == pattern_kind::put ? exchange(round, thread) : get(thread);
            !done)
          return done;
      return {};
    });
  }

private:
  /// The groups of one of the node's threads, until one fails; with a GPU there is one thread.
  template<class F>
  result<void> for_groups(std::uint32_t thread, F const& f) const {
    for (std::uint32_t g = thread; g < groups_; g += node_.threads.count())
      if (result<void> const done = f(g); !done)
        return done;
    return {};
  }

  result<void> exchange(std::uint32_t round, std::uint32_t thread) {
    bool const begins = net::pe{node_.id} <= partner_;
    for (bool const is_answer : {false, true}) {
      if (is_answer != begins)
        if (auto const sent = send(round, thread); !sent)
          return sent;
      if (is_answer == begins)
        if (auto const came = receive(round, thread); !came)
          return came;
    }
    return {};
  }
  result<void> send(std::uint32_t round, std::uint32_t thread) {
    if (node_.uses_gpu())
      launch(fill_wave{}, m_, node_.id, round);
    return for_groups(thread, [&](std::uint32_t g) {
      auto const out = m_.outbox + m_.place(g);
      if (!node_.uses_gpu())
        write(out, first_word(m_.shape, node_.id, g, round), thread);
      return node_.host().default_context().put_signal(
          (m_.inbox + m_.place(g)).get(), std::span<std::uint64_t const>(out.get(), m_.shape.words),
          (m_.signals + g).get(), round, net::shmem::signal_op::set, partner_);
    });
  }
  result<void> receive(std::uint32_t round, std::uint32_t thread) {
    auto const came = for_groups(thread, [&](std::uint32_t g) {
      return node_.host().wait_until((m_.signals + g).get(), net::shmem::comparison::greater_equal,
                                     round);
    });
    if (came)
      check(m_.inbox, thread);
    return came;
  }
  result<void> get(std::uint32_t thread) {
    auto const got = for_groups(thread, [&](std::uint32_t g) {
      return node_.host().default_context().get(
          std::span((m_.outbox + m_.place(g)).get(), m_.shape.words),
          (m_.inbox + m_.place(g)).get(), partner_);
    });
    if (got)
      check(m_.outbox, thread);
    return got;
  }

  void write(emu::global<std::uint64_t> out, std::uint64_t first, std::uint32_t thread) {
    auto const& self = node_.memory(thread);
    for (std::uint64_t i = 0; i < m_.shape.words; ++i)
      self.store(out + i, word_of(first, i));
  }
  void check(emu::global<std::uint64_t> from, std::uint32_t thread) {
    if (node_.uses_gpu())
      return launch(check_wave{}, m_, emu::global<std::uint64_t const>(from));
    auto const& self = node_.memory(thread);
    static_cast<void>(for_groups(thread, [&](std::uint32_t g) -> result<void> {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < m_.shape.words; ++i)
        sum += self.load(from + m_.place(g) + i);
      self.store(m_.checks + g, with_message(self.load(m_.checks + g), sum));
      return {};
    }));
  }
  template<class Kernel, class... Args>
  void launch(Kernel kernel, Args... args) {
    node_.gpu.run({.work_groups = groups_, .work_items_per_group = group_size_}, kernel, args...)
        .or_throw();
  }

  Node& node_;
  mailboxes m_;
  std::uint32_t groups_;
  std::uint32_t group_size_;
  net::pe partner_;
};

} // namespace quarry::ping_pong
