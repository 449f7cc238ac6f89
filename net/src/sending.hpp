// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/error.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/transport.hpp>
#include <quarry/result.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <span>

namespace quarry::net {

/// What try_send() comes to before it looks at the peer, in a transport with connections: the
/// caller's mistake, a job that has failed or ends, a message to itself, which is taken unless too
/// many wait. None: it is for the peer.
///
/// `State` has peers, who, broken, is_finishing and to_self.
template<class State>
[[nodiscard]] std::optional<result<bool>> sent_without_peer(State& s, pe target,
                                                            std::span<std::byte const> head,
                                                            std::span<std::byte const> body) {
  std::size_t const bytes = head.size() + body.size();
  if (target.id >= s.peers.size())
    return make_error(net_errc::no_such_pe, fmt::format("{} does not exist; there are {}",
                                                        to_string(target), s.peers.size()));
  if (bytes > max_message_bytes)
    return make_error(net_errc::oversized_message,
                      fmt::format("a message of {} bytes for {}; at most {}", bytes,
                                  to_string(target), max_message_bytes));
  if (s.broken)
    return *s.broken;
  if (s.is_finishing)
    return make_error(net_errc::already_finished,
                      fmt::format("{} sends after it has finished", to_string(s.who.self)));
  if (target != s.who.self)
    return std::nullopt;
  constexpr std::size_t most_to_self = 64;
  if (s.to_self.size() == most_to_self)
    return false;
  auto& message = s.to_self.emplace_back(head.begin(), head.end());
  message.insert(message.end(), body.begin(), body.end());
  return true;
}

} // namespace quarry::net
