// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../told_failure.hpp"

#include <quarry/net/shmem/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// What goes between nodes: a header of one cache line, in the machine's order, and for some kinds a
// body.

namespace quarry::net::shmem {

enum class message_kind : std::uint8_t {
  hello = 1,  ///< length: heap bytes; value: the region; second: the teams; id: the version
  put,        ///< body to offset; length: its call site
  put_signal, ///< the same, and then: what, second: the signal's offset, value
  get,        ///< length bytes from offset, for id; value: its call site
  get_reply,  ///< body: them
  atomic,     ///< what, width, offset, value: operand, second: comparand; id: 0, or for the answer;
              ///< length: its call site
  atomic_reply, ///< value, for id
  ack_request,  ///< answer when all that came before, of this context, is applied
  ack,          ///< number: of the request
  ping,         ///< answer at once
  pong,         ///< value: operations that this pe has begun, about; second: 1 after its last
  failure,      ///< body: a sentence; value: its code; id: whose it was first
};

/// Of what a program asks for; of the rest "message".
[[nodiscard]] constexpr char const* to_string(message_kind k) noexcept {
  switch (k) {
  case message_kind::put:
    return "put";
  case message_kind::put_signal:
    return "put_signal";
  case message_kind::get:
    return "get";
  case message_kind::atomic:
    return "atomic";
  default:
    return "message";
  }
}

inline constexpr std::uint64_t protocol_version = 1;

struct message {
  message_kind kind{};
  std::uint8_t what = 0;  ///< atomic_op or signal_op
  std::uint8_t width = 0; ///< of an atomic's word
  std::uint8_t unused = 0;
  std::uint32_t context = 0;
  std::uint64_t number = 0; ///< counts the context's operations for this target
  std::uint64_t epoch = 0;  ///< counts the context's fences
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t value = 0;
  std::uint64_t second = 0;
  std::uint64_t id = 0;
};
static_assert(sizeof(message) == 64);

/// Which call_site() has begun the operation; 0: nobody says.
[[nodiscard]] inline std::uint64_t& site_number(message& m) noexcept {
  return m.kind == message_kind::get ? m.value : m.length; // which have no other use there
}
[[nodiscard]] inline std::uint64_t site_number(message const& m) noexcept {
  return m.kind == message_kind::get ? m.value : m.length;
}

/// A longer operation is several messages: they fit into a transport's buffers, and are applied
/// while the next ones are on their way.
inline constexpr std::size_t most_body_bytes = 64 * 1024;

// What is wrong, or null

[[nodiscard]] inline bool is_outside(std::uint64_t offset, std::uint64_t bytes,
                                     std::uint64_t heap_bytes) noexcept {
  return offset > heap_bytes || bytes > heap_bytes - offset;
}

[[nodiscard]] inline char const* signal_defect(message const& m,
                                               std::uint64_t heap_bytes) noexcept {
  if (!exists(static_cast<signal_op>(m.what)))
    return "a signal that is neither set nor added to";
  if (m.second % 8 != 0)
    return "a misaligned signal";
  return is_outside(m.second, 8, heap_bytes) ? "a signal outside the heap" : nullptr;
}

[[nodiscard]] inline char const* atomic_defect(message const& m,
                                               std::uint64_t heap_bytes) noexcept {
  if (m.what >= atomic_op_count || (m.width != 4 && m.width != 8))
    return "an atomic that does not exist";
  return m.offset % m.width != 0 || is_outside(m.offset, m.width, heap_bytes)
             ? "an atomic outside the heap, or misaligned"
             : nullptr;
}

/// Of a message: nobody acts on it before it is known to be harmless.
[[nodiscard]] inline char const* defect(message const& m, std::size_t body,
                                        std::uint64_t heap_bytes) noexcept {
  char const* const with_body = body == 0 ? nullptr : "a message with a body too many";
  char const* found = nullptr;
  switch (m.kind) {
  case message_kind::put_signal:
    found = signal_defect(m, heap_bytes);
    [[fallthrough]];
  case message_kind::put:
    if (found == nullptr && is_outside(m.offset, body, heap_bytes))
      found = "a put outside the heap";
    return found;
  case message_kind::get:
    if (m.length > most_body_bytes || is_outside(m.offset, m.length, heap_bytes))
      return "a get outside the heap";
    return with_body;
  case message_kind::atomic:
    found = atomic_defect(m, heap_bytes);
    return found == nullptr ? with_body : found;
  case message_kind::hello:
  case message_kind::atomic_reply:
  case message_kind::ack_request:
  case message_kind::ack:
  case message_kind::ping:
  case message_kind::pong:
    return with_body;
  case message_kind::get_reply:
    return nullptr; // the length is compared with what was asked for
  case message_kind::failure:
    if (!is_net_errc(m.value))
      return "a failure of no known kind";
    return body > 4096 ? "a failure with too long a text" : nullptr;
  }
  return "a message of no known kind";
}

} // namespace quarry::net::shmem
