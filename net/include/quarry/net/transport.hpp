// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace quarry::net {

/// The longest message that a transport takes.
inline constexpr std::size_t max_message_bytes = 1024 * 1024;

/// Messages between processing elements. Models: in_process, loopback, mpi.
///
/// Never blocks but in wait() and finish(): who drives it polls. Messages of one (source, target)
/// pair arrive in their order, once and whole; payloads are delivered 8-byte aligned. Sends to
/// oneself are legal. Errors are kept: once a peer is lost, and what it has sent before is
/// delivered, every later call says so.
///
/// Errors   peer_lost, bad_frame, oversized_frame – of a peer, at every call from then on
///          oversized_message, no_such_pe, already_finished – of the caller, and only of this call;
///          peer_lost, too, of who sends to a pe of whose finish() it has heard
template<class T>
concept transport =
    std::derived_from<T, transport_port> &&
    requires(T& t, pe target, std::span<std::byte const> bytes, transport_port::sink const& deliver,
             std::chrono::nanoseconds at_most) {
      { t.self() } -> std::same_as<pe>;
      { t.pe_count() } -> std::same_as<std::uint32_t>;
      { t.try_send(target, bytes, bytes) } -> std::same_as<result<bool>>;
      { t.poll(deliver) } -> std::same_as<result<std::size_t>>;
      { t.is_flushed() } -> std::same_as<bool>;
      { t.finish() } -> std::same_as<result<void>>;
      t.wait(at_most);
      { T::name } -> std::convertible_to<char const*>;
    };

} // namespace quarry::net
